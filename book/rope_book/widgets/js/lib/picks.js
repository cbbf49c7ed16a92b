// Frames the click targets in the picture while a question asks for a click. Clicks answer the question and keep
// their usual effect. Keyboard and screen-reader users can choose a name beside the question.
import { svg, write } from "./dom.js";
import { makeLayer, spotOf } from "./overlay.js";

const LEAST = 28; // minimum size of a click target in pixels, even around a smaller box
const STILL = 6; // movement in pixels beyond which a click counts as a drag

/**
 * Whether a point is inside a box, allowing for the minimum target size.
 * @type {(spot: Pair, box: Box) => boolean}
 */
const isIn = ([px, py], { x, y, w, h }) =>
  Math.abs(px - x - w / 2) <= Math.max(w, LEAST) / 2 && Math.abs(py - y - h / 2) <= Math.max(h, LEAST) / 2;

/** The distance from a point to the centre of a box. @type {(spot: Pair, box: Box) => number} */
const away = ([px, py], { x, y, w, h }) => Math.hypot(px - x - w / 2, py - y - h / 2);

// {element, place(marks), ask(wanted)} over a picture. In `ask`, {id, names, take} starts a question's request and
// {id} ends it. `ask` returns whether the picture contains all requested targets.
export function makePicks(/** @type {SVGSVGElement} */ picture, /** @type {AbortSignal} */ signal) {
  const element = svg("g", { class: "rl-picks" });
  let marks = /** @type {Record<string, Box>} */ ({});
  /** @type {Wanted | undefined} */
  let asked;
  let pressed = [0, 0];

  const open = () => (asked?.names ?? []).filter((name) => marks[name]);
  function pick(/** @type {MouseEvent} */ event) {
    if (Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > STILL) return;
    const spot = spotOf(picture, event);
    const hit = open().filter((name) => isIn(spot, marks[name]));
    hit.sort((a, b) => away(spot, marks[a]) - away(spot, marks[b]));
    if (hit.length) asked?.take?.(hit[0]);
  }
  picture.addEventListener("pointerdown", (event) => (pressed = [event.clientX, event.clientY]), { signal });
  picture.addEventListener("click", pick, { signal });

  const make = (/** @type {string} */ name) => svg("rect", { class: "rl-pick", rx: 4, "data-place": name });
  const layer = makeLayer(element, make, (frame, /** @type {Box} */ { x, y, w, h }) =>
    write(frame, { x, y, width: w, height: h }),
  );
  function show() {
    layer(Object.fromEntries(open().map((name) => [name, marks[name]])));
    picture.classList.toggle("rl-asked", open().length > 0);
  }
  function place(/** @type {Record<string, Box>} */ wanted) {
    marks = wanted;
    show();
  }
  function ask(/** @type {Wanted} */ wanted) {
    if (wanted.names || asked?.id === wanted.id) asked = wanted.names ? wanted : undefined;
    show();
    return open().length === (asked?.names ?? []).length;
  }
  return { element, place, ask };
}
