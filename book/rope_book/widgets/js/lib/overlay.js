// Elements that lie over a picture: by name, where they are asked for.

/** Where in a picture something happened. @type {(picture: SVGSVGElement, event: MouseEvent) => Pair} */
export function spotOf(picture, event) {
  const [box, view] = [picture.getBoundingClientRect(), picture.viewBox.baseVal];
  const scale = Math.min(box.width / view.width, box.height / view.height);
  const left = box.left + (box.width - scale * view.width) / 2; // a held picture is in the middle of its strip
  return [(event.clientX - left) / scale, (event.clientY - box.top) / scale + view.y];
}

// A function that takes what is wanted by name: it makes what is new, puts each in its place, and removes the rest. Their order
// stays, whatever comes and goes: of two that overlap, a hand takes the later one.
/** @template {SVGElement} Kind @template Wanted @param {SVGGElement} group @param {(name: string) => Kind} make
 * @param {(element: Kind, wanted: Wanted, name: string) => void} put */
export function makeLayer(group, make, put) {
  const made = /** @type {Record<string, Kind>} */ ({});
  return (/** @type {Record<string, Wanted>} */ wanted) => {
    /** @type {Kind | null} */
    let next = null;
    for (const name of Object.keys(wanted).reverse()) {
      if (!made[name]) {
        made[name] = make(name);
        group.insertBefore(made[name], next);
      }
      next = made[name];
      put(next, wanted[name], name);
    }
    for (const name in made) {
      if (wanted[name]) continue;
      made[name].remove();
      delete made[name];
    }
  };
}
