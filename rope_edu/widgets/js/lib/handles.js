// What can be dragged in a picture: circles that lie over it, each with a ring in the colour of its thing. Keyboards use the
// native controls.
import { ink } from "./colour.js";
import { svg, write } from "./dom.js";

const [RADIUS, RING] = [20, 11]; // pixels: where a hand may take it, at least, and what is seen of it
/** @type {Record<string, string>} */
const INKS = { q: ink.q, k: ink.k, query: ink.q }; // of things that are no positions

/** @typedef {{grip: SVGGElement, circle: SVGCircleElement, ring: SVGRectElement, trait: string, several?: boolean, at: Handle["at"]}} Grip */

/** @type {(grip: Grip, wanted: Handle) => void} */
function put({ circle, ring: seen, trait }, { x, y, ink: colour = INKS[trait] ?? ink.position, box, ring }) {
  const r = ring ?? RING;
  const [width, height] = box ?? [2 * r, 2 * r];
  const place = { x: x - width / 2, y: y - height / 2, width, height, rx: box ? 5 : r };
  write(circle, { cx: x, cy: y, r: Math.max(RADIUS, r) });
  write(seen, { class: box || ring ? "rl-ring rl-fitted" : "rl-ring", ...place, stroke: colour, fill: colour });
}

/** Where in a picture something happened. @type {(picture: SVGSVGElement, event: MouseEvent) => Pair} */
export function spotOf(picture, event) {
  const [box, view] = [picture.getBoundingClientRect(), picture.viewBox.baseVal];
  const scale = Math.min(box.width / view.width, box.height / view.height);
  const left = box.left + (box.width - scale * view.width) / 2; // a held picture is in the middle of its strip
  return [(event.clientX - left) / scale, (event.clientY - box.top) / scale + view.y];
}

// {element, place(wanted)} over a picture. wanted: {trait: {x, y, at: (px, py) → value, ink, box, ring, trait}}; `moved({trait:
// value})` is called when a hand drags. A ring is round, as large as `ring` says, unless its thing is a box of [width, height];
// several things that move one trait have names of their own. With `several`, at gives traits and their values.
/** @param {SVGSVGElement} picture @param {Moved} moved @param {AbortSignal} signal */
export function makeHandles(picture, moved, signal) {
  const element = svg("g");
  /** @type {Record<string, Grip>} */
  const handles = {};
  /** @type {{name: string, pointer: number} | undefined} */
  let held; // what is dragged

  /** @type {(name: string, at: Handle["at"]) => Grip} */
  function make(name, at) {
    const ring = svg("rect", { class: "rl-ring" });
    const circle = svg("circle", { class: "rl-handle" });
    const grip = svg("g", { class: "rl-grip" }, ring, circle);
    circle.addEventListener("pointerdown", (event) => grab(event, name), { signal });
    return { grip, circle, ring, at, trait: name };
  }
  /** @type {(event: PointerEvent, name: string) => void} */
  function grab(event, name) {
    if (held || event.button !== 0) return; // a second finger, another button
    held = { name, pointer: event.pointerId };
    handles[name].circle.setPointerCapture(event.pointerId);
    event.preventDefault();
  }
  /** @type {(event: PointerEvent) => void} */
  function drag(event) {
    if (!held || event.pointerId !== held.pointer || !handles[held.name]) return;
    const [x, y] = spotOf(picture, event);
    const { trait, several, at } = handles[held.name];
    moved(several ? /** @type {State} */ (at(x, y)) : { [trait]: at(x, y) });
  }
  element.addEventListener("pointermove", drag, { signal });
  /** @type {(event: PointerEvent) => void} */
  function drop(event) {
    if (event.pointerId === held?.pointer) held = undefined;
  }
  for (const type of /** @type {const} */ (["pointerup", "pointercancel", "lostpointercapture"])) {
    element.addEventListener(type, drop, { signal });
  }

  /** @type {(wanted: Record<string, Handle>) => void} */
  function place(wanted) {
    /** @type {SVGGElement | null} */
    let next = null; // the order stays, whatever comes and goes: of two that overlap, a hand takes the later one
    for (const name of Object.keys(wanted).reverse()) {
      const { at, several, trait = name } = wanted[name];
      const grip = handles[name] ?? make(name, at);
      if (!handles[name]) element.insertBefore(grip.grip, next);
      next = grip.grip;
      handles[name] = Object.assign(grip, { at, several, trait });
      put(grip, wanted[name]);
    }
    for (const name in handles) {
      if (wanted[name]) continue;
      handles[name].grip.remove();
      delete handles[name];
    }
  }
  return { element, place };
}
