// Places drag handles over a picture, each a circle with a ring in the colour of its quantity. Keyboard users can
// use the native controls instead.
import { ink, lineInk } from "./colour.js";
import { svg, write } from "./dom.js";
import { makeLayer, spotOf } from "./overlay.js";

const [RADIUS, RING] = [20, 11]; // minimum radius of the draggable area, and default radius of the ring, in pixels
/** @type {Record<string, string>} */
const INKS = { q: ink.q, k: ink.k, query: ink.q }; // positions have the default colour

// Position a handle. Its ring is a circle of radius `ring`, or a rectangle of size `box`.
/** @type {(grip: SVGGElement, wanted: Handle, name: string) => void} */
function put({ children: [seen, circle] }, { x, y, box, ring, trait, ink: chosen }, name) {
  const colour = chosen ?? INKS[trait ?? name] ?? ink.position;
  const r = ring ?? RING;
  const [width, height] = box ?? [2 * r, 2 * r];
  const place = { x: x - width / 2, y: y - height / 2, width, height, rx: box ? 5 : r };
  write(circle, { cx: x, cy: y, r: Math.max(RADIUS, r) });
  write(seen, {
    class: box || ring ? "rl-ring rl-fitted" : "rl-ring",
    ...place,
    stroke: lineInk[colour] ?? colour,
    fill: colour,
  });
}

// {element, place(wanted)}: `dragged(changes)` is called during a drag, and `dropped()` at the end.
/** @param {SVGSVGElement} picture @param {{dragged: Moved, dropped: () => void}} hand @param {AbortSignal} signal */
export function makeHandles(picture, { dragged, dropped }, signal) {
  const element = svg("g");
  let handles = /** @type {Record<string, Handle>} */ ({});
  /** @type {{name: string, pointer: number} | undefined} */
  let held; // the handle being dragged

  function make(/** @type {string} */ name) {
    const circle = svg("circle", { class: "rl-handle" });
    circle.addEventListener("pointerdown", (event) => grab(event, name, circle), { signal });
    return svg("g", { class: "rl-grip" }, svg("rect"), circle);
  }
  /** @type {(event: PointerEvent, name: string, circle: Element) => void} */
  function grab(event, name, circle) {
    if (held || event.button !== 0) return; // ignore a second finger and other buttons
    held = { name, pointer: event.pointerId };
    circle.setPointerCapture(event.pointerId);
    event.preventDefault();
  }
  function drag(/** @type {PointerEvent} */ event) {
    if (!held || event.pointerId !== held.pointer || !handles[held.name]) return;
    const { several, at, trait = held.name } = handles[held.name];
    const value = at(...spotOf(picture, event));
    dragged(several ? /** @type {State} */ (value) : { [trait]: value });
  }
  function drop(/** @type {PointerEvent} */ event) {
    if (event.pointerId !== held?.pointer) return;
    held = undefined;
    dropped();
  }
  element.addEventListener("pointermove", drag, { signal });
  for (const type of /** @type {const} */ (["pointerup", "pointercancel", "lostpointercapture"])) {
    element.addEventListener(type, drop, { signal });
  }
  const layer = makeLayer(element, make, put);
  function place(/** @type {Record<string, Handle>} */ wanted) {
    handles = wanted;
    layer(wanted);
  }
  return { element, place };
}
