// The picture of a figure: drawn from the state at the width that it has, with handles over it; and as a file of its own.
import { LIGHT } from "./colour.js";
import { html, SVG, svg, write } from "./dom.js";
import { makeHandles } from "./handles.js";
import { clamp } from "./numbers.js";
import { Pen } from "./pen.js";

const [NARROWEST, WIDEST, UNSEEN] = [240, 760, 640]; // pixels; the last where nothing is laid out

/**
 * {element, paint(state), measure() → whether the width has changed, still(words) → the picture as a file}
 * @param {Figure} figure
 * @param {View} view
 * @param {Moved} moved
 * @param {AbortSignal} signal
 */
export function makePicture({ title, height, draw }, view, moved, signal) {
  const group = svg("g");
  const canvas = svg("svg", { role: "img", "aria-label": title }, group);
  const handles = makeHandles(canvas, moved, signal);
  canvas.append(handles.element);
  const element = html("div", { class: "rl-picture" }, canvas);
  const pen = new Pen(group);
  let width = 0;

  function measure() {
    const now = element.clientWidth ? Math.round(clamp(element.clientWidth, NARROWEST, WIDEST)) : width;
    const changed = now !== width;
    width = now;
    return changed;
  }
  /** @type {(state: State) => void} */
  function paint(state) {
    const across = width || UNSEEN;
    const size = { width: across, height: height(across, state, view) };
    write(canvas, { viewBox: `0 0 ${size.width} ${size.height}`, ...size });
    pen.begin();
    const dragged = draw(pen, state, { ...size, ...view });
    pen.end();
    handles.place(dragged || {});
  }
  return { element, paint, measure, still: (/** @type {string} */ words) => still(canvas, title, words) };
}

/**
 * The picture as a file of its own: light colours, white ground, its words inside.
 * @param {SVGSVGElement} canvas
 * @param {string} title
 * @param {string} words
 */
function still(canvas, title, words) {
  const copy = /** @type {SVGSVGElement} */ (canvas.cloneNode(true));
  for (const handle of copy.querySelectorAll(".rl-handle")) handle.remove();
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("font-family", "system-ui, 'DejaVu Sans', sans-serif");
  copy.prepend(svg("desc", {}, words), svg("rect", { width: "100%", height: "100%", fill: LIGHT.paper }));
  copy.setAttribute("aria-label", title);
  return new XMLSerializer().serializeToString(copy).replace(/var\(--rl-([a-z-]+)\)/g, (_, name) => LIGHT[name]);
}
