// What can be dragged in a picture: circles that lie over it. Keyboards use the native controls.
import { svg, write } from "./dom.js";

const RADIUS = 20;

/**
 * {element, place(wanted)} over a picture. wanted: {trait: {x, y, at: (px, py) → value}}; `moved({trait: value})` is called when
 * a hand drags.
 * @param {SVGSVGElement} picture
 * @param {Moved} moved
 * @param {AbortSignal} signal
 */
export function makeHandles(picture, moved, signal) {
  const element = svg("g");
  /** @type {Record<string, {circle: SVGCircleElement, at: Handle["at"]}>} */
  const handles = {};
  /** @type {{name: string, pointer: number} | undefined} */
  let held; // what is dragged

  /** @type {(name: string, at: Handle["at"]) => {circle: SVGCircleElement, at: Handle["at"]}} */
  function make(name, at) {
    const circle = svg("circle", { class: "rl-handle", r: RADIUS });
    circle.addEventListener("pointerdown", (event) => grab(event, name), { signal });
    element.append(circle);
    return { circle, at };
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
    const box = picture.getBoundingClientRect();
    const scale = box.width / picture.viewBox.baseVal.width;
    const [x, y] = [(event.clientX - box.left) / scale, (event.clientY - box.top) / scale];
    moved({ [held.name]: handles[held.name].at(x, y) });
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
    for (const name in wanted) {
      handles[name] ??= make(name, wanted[name].at);
      handles[name].at = wanted[name].at;
      write(handles[name].circle, { cx: wanted[name].x, cy: wanted[name].y });
    }
    for (const name in handles) {
      if (wanted[name]) continue;
      handles[name].circle.remove();
      delete handles[name];
    }
  }
  return { element, place };
}
