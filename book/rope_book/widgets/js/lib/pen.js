// The pen with which a figure draws.
import { bitmap } from "./bitmap.js";
import { ink } from "./colour.js";
import { arcPoints, arrowShape } from "./geometry.js";
import { Slots } from "./slots.js";

const near = (/** @type {number} */ value) => Math.round(value * 100) / 100;
const points = (/** @type {Pair[]} */ list) => list.map(([x, y]) => `${near(x)},${near(y)}`).join(" ");
const trace = (/** @type {Pair[]} */ list) => `M${points(list)}`;
/** @type {(style?: Style) => Attributes} */
const stroked = ({ stroke = ink.text, width = 1.5, dash, opacity } = {}) => ({
  stroke,
  "stroke-width": width,
  "stroke-dasharray": dash,
  opacity,
  fill: "none",
});
/** @type {(style: Style) => Attributes} */
const filled = ({ fill = "none", opacity, ...style }) => ({ ...(style.stroke && stroked(style)), fill, opacity });

// Draws into an SVG group, between begin() and end(). A style is {stroke, width, dash, opacity, fill}. The methods in the
// plural draw many shapes of one style as one element (they should not overlap).
export class Pen extends Slots {
  /** @type {(x1: number, y1: number, x2: number, y2: number, style?: Style) => void} */
  line(x1, y1, x2, y2, style) {
    this.put("line", { x1: near(x1), y1: near(y1), x2: near(x2), y2: near(y2), ...stroked(style) });
  }

  /** @type {(list: Pair[], style?: Style) => void} */
  curve(list, style) {
    this.put("polyline", { points: points(list), "stroke-linejoin": "round", ...stroked(style) });
  }

  /** @type {(list: Pair[], style?: Style) => void} */
  area(list, { fill = ink.grid, opacity } = {}) {
    this.put("polygon", { points: points(list), fill, opacity });
  }

  /** @type {(x: number, y: number, r: number, style?: Style) => void} */
  circle(x, y, r, style = {}) {
    this.put("circle", { cx: near(x), cy: near(y), r: near(r), ...filled(style) });
  }

  /** @type {(x: number, y: number, w: number, h: number, style?: Style & {radius?: number}) => void} */
  rect(x, y, w, h, { radius, ...style } = {}) {
    const size = { width: near(Math.max(w, 0)), height: near(Math.max(h, 0)) };
    this.put("rect", { x: near(x), y: near(y), ...size, rx: radius, ...filled(style) });
  }

  /** Lines [[x1, y1, x2, y2], …]. @type {(list: Segment[], style?: Style) => void} */
  lines(list, style) {
    const d = list.map(([x1, y1, x2, y2]) => `M${near(x1)},${near(y1)} ${near(x2)},${near(y2)}`);
    this.put("path", { d: d.join(""), ...stroked(style) });
  }

  /** Curves [[[x, y], …], …]. @type {(list: Pair[][], style?: Style) => void} */
  curves(list, style) {
    this.put("path", { d: list.map(trace).join(""), "stroke-linejoin": "round", ...stroked(style) });
  }

  /** Areas [[[x, y], …], …]. @type {(list: Pair[][], style?: Style) => void} */
  areas(list, { fill = ink.grid, opacity } = {}) {
    this.put("path", { d: list.map((corners) => `${trace(corners)}Z`).join(""), fill, opacity });
  }

  /** Circles [[x, y, r], …]. @type {(list: [number, number, number][], style?: Style) => void} */
  circles(list, style = {}) {
    /** @type {(r: number, way: 1 | -1) => string} */
    const half = (r, way) => `a${near(r)} ${near(r)} 0 0 0 ${near(2 * way * r)} 0`;
    const d = list.map(([x, y, r]) => `${trace([[x - r, y]])}${half(r, 1)}${half(r, -1)}Z`);
    this.put("path", { d: d.join(""), ...filled(style) });
  }

  /** Rectangles [[x, y, w, h], …]. @type {(list: Segment[], style?: Style) => void} */
  rects(list, style = {}) {
    const d = list.map(([x, y, w, h]) => {
      const [left, top, right, bottom] = [x, y, x + w, y + h].map(near);
      return `M${left},${top} ${right},${top} ${right},${bottom} ${left},${bottom}Z`;
    });
    this.put("path", { d: d.join(""), ...filled(style) });
  }

  // Words at (x, y). anchor: start, middle, end; turn: degrees. Coloured words carry their colour's text value.
  /** @type {(x: number, y: number, words: unknown, style?: TextStyle) => void} */
  text(x, y, words, { fill = ink.text, size = 13, anchor = "start", weight, turn, opacity } = {}) {
    const place = { x: near(x), y: near(y) };
    const transform = turn ? `rotate(${turn} ${place.x} ${place.y})` : undefined;
    const style = { fill, "font-size": size, "text-anchor": anchor, "font-weight": weight, transform, opacity };
    this.put("text", { ...place, ...style }, String(words));
  }

  // An arrow from (x1, y1) to (x2, y2) with a filled head.
  /** @type {(x1: number, y1: number, x2: number, y2: number, style?: Style & {head?: number}) => void} */
  arrow(x1, y1, x2, y2, { stroke = ink.text, width = 2.5, dash, opacity, head = 9 } = {}) {
    const { neck, tip, outline } = arrowShape(x1, y1, x2, y2, width, head);
    if (dash) this.line(x1, y1, ...neck, { stroke, width, dash, opacity });
    this.area(dash ? tip : outline, { fill: stroke, opacity });
  }

  // A circular arc about (cx, cy) from angle a to angle b (radians, counter-clockwise, y up); may pass full turns.
  /** @type {(cx: number, cy: number, r: number, a: number, b: number, style?: Style) => void} */
  arc(cx, cy, r, a, b, style) {
    this.curve(arcPoints(cx, cy, r, a, b), style);
  }

  // A field, painted with a colour map: the arguments of bitmap(), or what it has returned.
  /** @type {(x: number, y: number, w: number, h: number, ...field: [string] | Parameters<typeof bitmap>) => void} */
  raster(x, y, w, h, ...field) {
    const href = field.length === 1 ? field[0] : bitmap(...field);
    const box = { x: near(x), y: near(y), width: near(w), height: near(h) };
    this.put("image", { ...box, preserveAspectRatio: "none", style: "image-rendering:pixelated", href });
  }
}
