// Draws a figure's state at the current width with handles on top, and exports the drawing as a standalone file.
import { LIGHT } from "./colour.js";
import { html, SVG, svg, write } from "./dom.js";
import { makeHandles } from "./handles.js";
import { clamp } from "./numbers.js";
import { Pen } from "./pen.js";
import { makePicks } from "./picks.js";
import { makeTaps } from "./taps.js";

const [NARROWEST, WIDEST, UNSEEN] = [240, 760, 640]; // widths in pixels; the last is the default before layout

const LEAST = 11 / 12; // minimum scale of a held picture, which shrinks 12-pixel text to 11 pixels
const HALF = 0.5; // maximum fraction of the window height for a held picture
const EDGES = 2; // height of the borders, in pixels

// The part of a held picture that fits in `room` pixels of height: the leading panel, cut off at the bottom if
// necessary to keep the text legible.
/** @param {{width: number, height: number}} size @param {Pair | undefined} panel @param {{across: number, room: number}} place */
export function heldBox({ width, height }, [top, bottom] = [0, height], { across, room }) {
  const most = room / Math.min(LEAST, across / width);
  return { x: 0, y: top, w: width, h: Math.min(bottom - top, most) };
}

// {element, paint(state), measure(), still(words), hold(room), ask(wanted)}: measure returns whether the width has
// changed, still returns the picture as a file, hold shows only the leading panel within `room` pixels (0 for the
// whole picture), and ask is described in picks.js.
/** @param {Figure} figure @param {View} view @param {{dragged: Moved, dropped: () => void, leapt: Moved}} hand
 * @param {AbortSignal} signal */
export function makePicture({ title, height, draw, panel }, view, { dragged, dropped, leapt }, signal) {
  const group = svg("g");
  const canvas = svg("svg", { role: "img", "aria-label": title }, group);
  const handles = makeHandles(canvas, { dragged, dropped }, signal);
  const taps = makeTaps(leapt, signal);
  const picks = makePicks(canvas, signal);
  canvas.append(taps.element, handles.element, picks.element); // drag handles are above click targets
  const element = html("div", { class: "rl-picture" }, canvas);
  const pen = new Pen(group);
  let width = 0;
  let room = 0; // maximum height of a held picture, or 0 while the picture is not held
  let breadth = 0; // the window's width, which would force a layout if each draw asked for it

  function measure() {
    const now = element.clientWidth ? Math.round(clamp(element.clientWidth, NARROWEST, WIDEST)) : width;
    const changed = now !== width;
    width = now;
    return changed;
  }
  /** @type {(state: State, way?: Way) => void} */
  function paint(state, way) {
    const across = width || UNSEEN;
    const size = { width: across, height: height(across, state, view) };
    const seen = room ? heldBox(size, panel?.(across, state, view), { across: breadth, room }) : undefined;
    const box = seen ? [seen.x, seen.y, seen.w, seen.h].map(Math.round) : [0, 0, size.width, size.height];
    write(canvas, { viewBox: box.join(" "), width: size.width, height: box[3] });
    pen.begin();
    const { taps: clicked = {}, marks = {}, ...dragged } = draw(pen, state, { ...size, ...view, way }) || {};
    pen.end();
    handles.place(dragged);
    taps.place(clicked);
    picks.place(marks);
  }
  function hold(/** @type {number} */ space) {
    room = space ? Math.min(space, HALF * innerHeight) - EDGES : 0;
    if (room) breadth = document.documentElement.clientWidth;
  }
  const asFile = (/** @type {string} */ words) => still(canvas, title, words);
  return { element, paint, measure, hold, ask: picks.ask, still: asFile };
}

// Export the picture as a standalone file with light colours, a white background and the readout.
/** @type {(canvas: SVGSVGElement, title: string, words: string) => string} */
function still(canvas, title, words) {
  const copy = /** @type {SVGSVGElement} */ (canvas.cloneNode(true));
  for (const layer of copy.querySelectorAll(".rl-grip, .rl-taps, .rl-picks")) layer.remove();
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("font-family", "system-ui, 'DejaVu Sans', sans-serif");
  copy.prepend(svg("desc", {}, words), svg("rect", { width: "100%", height: "100%", fill: LIGHT.paper }));
  copy.setAttribute("aria-label", title);
  return new XMLSerializer().serializeToString(copy).replace(/var\(--rl-([a-z-]+)\)/g, (_, name) => LIGHT[name]);
}
