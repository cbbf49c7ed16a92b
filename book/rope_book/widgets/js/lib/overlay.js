// Manages named elements on top of a picture.

/** A mouse event's position in a picture. @type {(picture: SVGSVGElement, event: MouseEvent) => Pair} */
export function spotOf(picture, event) {
  const [box, view] = [picture.getBoundingClientRect(), picture.viewBox.baseVal];
  const scale = Math.min(box.width / view.width, box.height / view.height);
  const left = box.left + (box.width - scale * view.width) / 2; // held pictures are centred in a strip
  return [(event.clientX - left) / scale, (event.clientY - box.top) / scale + view.y];
}

// A function that takes the wanted elements by name, adds new elements, updates existing ones, and removes all
// others. Elements are ordered by name, so the stacking order never changes.
/** @template {SVGElement} Kind @template Wanted @param {SVGGElement} group @param {(name: string) => Kind} make
 * @param {(element: Kind, wanted: Wanted, name: string) => void} put */
export function makeLayer(group, make, put) {
  const elements = /** @type {Record<string, Kind>} */ ({});
  return (/** @type {Record<string, Wanted>} */ wanted) => {
    /** @type {Kind | null} */
    let next = null;
    for (const name of Object.keys(wanted).reverse()) {
      if (!elements[name]) {
        elements[name] = make(name);
        group.insertBefore(elements[name], next);
      }
      next = elements[name];
      put(next, wanted[name], name);
    }
    for (const name in elements) {
      if (wanted[name]) continue;
      elements[name].remove();
      delete elements[name];
    }
  };
}
