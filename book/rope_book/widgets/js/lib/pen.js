// Provides the pen that draws figures.
import { bitmap } from "./bitmap.js";
import { ink, lineInk } from "./colour.js";
import { arcPoints, arrowShape } from "./geometry.js";
import { Slots } from "./slots.js";

const px = (/** @type {number} */ value) => Math.round(value * 100) / 100; // round to 1/100 pixel
const points = (/** @type {Pair[]} */ list) => list.map(([x, y]) => `${px(x)},${px(y)}`).join(" ");
const trace = (/** @type {Pair[]} */ list) => `M${points(list)}`;
/** @type {(style?: Style) => Attributes} */
const stroked = ({ stroke = ink.text, width = 1.5, dash, opacity } = {}) => ({
  stroke: lineInk[stroke] ?? stroke,
  "stroke-width": width,
  "stroke-dasharray": dash,
  opacity,
  fill: "none",
});
/** @type {(style: Style) => Attributes} */
const filled = ({ fill = "none", opacity, ...style }) =>
  fill !== "none" && style.stroke
    ? { ...stroked(style), fill, "fill-opacity": opacity } // keeps the edge opaque
    : { ...(style.stroke && stroked(style)), fill, opacity };

// Draws into an SVG group, between begin() and end(). A style is {stroke, width, dash, opacity, fill}. Each plural
// method draws many shapes in one style as a single element; the shapes should not overlap.
export class Pen extends Slots {
  /** @type {(x1: number, y1: number, x2: number, y2: number, style?: Style) => void} */
  line(x1, y1, x2, y2, style) {
    this.put("line", { x1: px(x1), y1: px(y1), x2: px(x2), y2: px(y2), ...stroked(style) });
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
    this.put("circle", { cx: px(x), cy: px(y), r: px(r), ...filled(style) });
  }

  /** @type {(x: number, y: number, w: number, h: number, style?: Style & {radius?: number}) => void} */
  rect(x, y, w, h, { radius, ...style } = {}) {
    const size = { width: px(Math.max(w, 0)), height: px(Math.max(h, 0)) };
    this.put("rect", { x: px(x), y: px(y), ...size, rx: radius, ...filled(style) });
  }

  /** Draw lines [[x1, y1, x2, y2], …]. @type {(list: Segment[], style?: Style) => void} */
  lines(list, style) {
    const d = list.map(([x1, y1, x2, y2]) => `M${px(x1)},${px(y1)} ${px(x2)},${px(y2)}`);
    this.put("path", { d: d.join(""), ...stroked(style) });
  }

  /** Draw curves [[[x, y], …], …]. @type {(list: Pair[][], style?: Style) => void} */
  curves(list, style) {
    this.put("path", { d: list.map(trace).join(""), "stroke-linejoin": "round", ...stroked(style) });
  }

  /** Draw areas [[[x, y], …], …]. @type {(list: Pair[][], style?: Style) => void} */
  areas(list, { fill = ink.grid, opacity } = {}) {
    this.put("path", { d: list.map((corners) => `${trace(corners)}Z`).join(""), fill, opacity });
  }

  /** Draw circles [[x, y, r], …]. @type {(list: [number, number, number][], style?: Style) => void} */
  circles(list, style = {}) {
    /** @type {(r: number, way: 1 | -1) => string} */
    const half = (r, way) => `a${px(r)} ${px(r)} 0 0 0 ${px(2 * way * r)} 0`;
    const d = list.map(([x, y, r]) => `${trace([[x - r, y]])}${half(r, 1)}${half(r, -1)}Z`);
    this.put("path", { d: d.join(""), ...filled(style) });
  }

  /** Draw rectangles [[x, y, w, h], …]. @type {(list: Segment[], style?: Style) => void} */
  rects(list, style = {}) {
    const d = list.map(([x, y, w, h]) => {
      const [left, top, right, bottom] = [x, y, x + w, y + h].map(px);
      return `M${left},${top} ${right},${top} ${right},${bottom} ${left},${bottom}Z`;
    });
    this.put("path", { d: d.join(""), ...filled(style) });
  }

  // Write text at (x, y). `anchor` is start, middle or end, and `turn` is in degrees. Coloured text needs the inks
  // named …Words.
  /** @type {(x: number, y: number, words: unknown, style?: TextStyle) => void} */
  text(x, y, words, { fill = ink.text, size = 13, anchor = "start", weight, turn, opacity } = {}) {
    const place = { x: px(x), y: px(y) };
    const transform = turn ? `rotate(${turn} ${place.x} ${place.y})` : undefined;
    const style = { fill, "font-size": size, "text-anchor": anchor, "font-weight": weight, transform, opacity };
    this.put("text", { ...place, ...style }, String(words));
  }

  // Draw an arrow from (x1, y1) to (x2, y2) with a filled head.
  /** @type {(x1: number, y1: number, x2: number, y2: number, style?: Style & {head?: number}) => void} */
  arrow(x1, y1, x2, y2, { stroke = ink.text, width = 2.5, dash, opacity, head = 9 } = {}) {
    const { neck, tip, outline } = arrowShape(x1, y1, x2, y2, width, head);
    if (dash) this.line(x1, y1, ...neck, { stroke, width, dash, opacity });
    this.area(dash ? tip : outline, { fill: stroke, opacity });
  }

  // Draw a circular arc around (cx, cy) from angle a to angle b (radians, counter-clockwise, y up), which may span
  // more than a full turn.
  /** @type {(cx: number, cy: number, r: number, a: number, b: number, style?: Style) => void} */
  arc(cx, cy, r, a, b, style) {
    this.curve(arcPoints(cx, cy, r, a, b), style);
  }

  // Draw a heatmap from an image URL, or from the arguments of bitmap().
  /** @type {(x: number, y: number, w: number, h: number, ...field: [string] | Parameters<typeof bitmap>) => void} */
  raster(x, y, w, h, ...field) {
    const href = field.length === 1 ? field[0] : bitmap(...field);
    const box = { x: px(x), y: px(y), width: px(w), height: px(h) };
    this.put("image", { ...box, preserveAspectRatio: "none", style: "image-rendering:pixelated", href });
  }
}
