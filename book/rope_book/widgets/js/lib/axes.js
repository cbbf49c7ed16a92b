// Draws the axes of a chart.
import { ink, note } from "./colour.js";
import { clamp, ticks } from "./numbers.js";

/** @typedef {{xLabel?: string, yLabel?: string, xTicks?: number[], yTicks?: number[], xLog?: boolean,
 *   xFormat?: (value: number) => unknown, yFormat?: (value: number) => unknown}} Options */

const THIN = { stroke: ink.muted, width: 1 };

// Draw axes in a box for the intervals `xs` and `ys`. Returns the scales X and Y, `at`, which maps a horizontal pixel
// position to a value in `xs`, and two functions that draw a line through the whole box: `level` at a value of `ys`, and
// `upright` at one of `xs`.
/** @param {Pen} pen @param {Box} box @param {Pair} xs @param {Pair} ys @param {Options} [options] */
export function axes(pen, box, xs, ys, options = {}) {
  const { xLabel, yLabel, xLog, xFormat = String, yFormat = String } = options;
  /** @type {(value: number) => number} */
  const place = xLog ? Math.log : (v) => v;
  const [x0, x1] = xs.map(place);
  const X = (/** @type {number} */ value) => box.x + (box.w * (place(value) - x0)) / (x1 - x0);
  const Y = (/** @type {number} */ value) => box.y + box.h - (box.h * (value - ys[0])) / (ys[1] - ys[0]);
  const xTicks = options.xTicks ?? ticks(xs[0], xs[1], Math.max(2, box.w / 80));
  const yTicks = options.yTicks ?? ticks(ys[0], ys[1], Math.max(2, box.h / 45));
  const [right, bottom] = [box.x + box.w, box.y + box.h];
  /** @type {((t: number) => Segment)[]} */
  const [gridLine, tickMark] = [(t) => [box.x, Y(t), right, Y(t)], (t) => [X(t), bottom, X(t), bottom + 4]];
  pen.lines(yTicks.map(gridLine), { stroke: ink.grid, width: 1 });
  pen.lines([...xTicks.map(tickMark), [box.x, bottom, right, bottom]], THIN);
  /** @type {(x: number, y: number, text: unknown, anchor: string) => void} */
  const words = (x, y, text, anchor) => pen.text(x, y, String(text).replace("-", "−"), { ...note, anchor });
  pen.part(() => {
    for (const t of xTicks) words(X(t), bottom + 17, xFormat(t), "middle");
    for (const t of yTicks) words(box.x - 6, Y(t) + 4, yFormat(t), "end");
  });
  if (xLabel) pen.text(box.x + box.w / 2, bottom + 34, xLabel, { anchor: "middle" });
  if (yLabel) pen.text(box.x, box.y - 9, yLabel);
  const at = (/** @type {number} */ px) => {
    const share = clamp((px - box.x) / box.w, 0, 1);
    return xLog ? xs[0] * (xs[1] / xs[0]) ** share : xs[0] + (xs[1] - xs[0]) * share;
  };
  /** @type {(value: number, style?: Style) => void} */
  const level = (value, style = THIN) => pen.line(box.x, Y(value), right, Y(value), style);
  /** @type {(value: number, style?: Style) => void} */
  const upright = (value, style = THIN) => pen.line(X(value), box.y, X(value), bottom, style);
  return { X, Y, at, level, upright };
}
