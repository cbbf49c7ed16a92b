// Draws a model's accuracy at trained and new positions, and a head's attention.
import { axes } from "./axes.js";
import { bitmap } from "./bitmap.js";
import { ink } from "./colour.js";
import { SEEN } from "./marks.js";
import { grouped, range } from "./numbers.js";
import { phrase } from "./phrase.js";
import { textWidth } from "./words.js";

/** @import { Entry } from "./legend.js" */
/** @import { Pen } from "./pen.js" */
/** @typedef {{bars: number[], size: number, trained: number, total: number, level: number,
 *   asTrained: (bar: number) => boolean}} Places */

const EDGE = { stroke: ink.text, width: 1 };
export const LEVEL = { stroke: ink.text, width: 1.5, dash: "5 3" };
const TRAINED = { stroke: ink.text, width: 2 };
const HEAD = 18; // pixels above the bars, in which the trained places show and have their name
const NEARLY = 0.1; // relative tolerance within which a bar counts as good as in training
export const WITHIN = 100 * NEARLY;
/** Legend entries for bars that are `good` and worse, and for the edge of the trained places. @type {(trained: number, good: string) => Entry[]} */
export const entriesOfPlaces = (trained, good) => [
  { words: good, box: { ...EDGE, fill: ink.position } },
  { words: phrase`worse`, box: { ...EDGE, fill: ink.other } },
  { words: phrase`trained to ${grouped(trained)}`, style: TRAINED },
];

/** Whether an accuracy is at least nearly as good as the trained one. @type {(bar: number, level: number) => boolean} */
export const isRightEnough = (bar, level) => bar >= (1 - NEARLY) * level;
/** @type {(bar: number, level: number) => boolean} */
export const isLowEnough = (bar, level) => bar <= (1 + NEARLY) * level;

/**
 * Draw bars, each the mean over `size` positions, a line at `level`, and the first `trained` positions on a ground of
 * their own. A bar that is not `asTrained` has the warning colour, at a trained position too; NaN bars are omitted.
 * Returns the scales from axes.js.
 * @param {Pen} pen
 * @param {Box} box
 * @param {Places} places
 * @param {number} top of the vertical axis
 * @param {Parameters<typeof axes>[4]} options of the axes
 */
export function drawPlaceBars(pen, box, { bars, size, trained, total, level, asTrained }, top, options) {
  const high = (top * box.h) / (box.h - HEAD);
  const scales = axes(pen, box, [0, total], [0, high], {
    xTicks: range(0, total, total / 4).map(Math.round),
    xFormat: grouped,
    ...options,
  });
  const { X, Y } = scales;
  const [edge, bottom] = [X(trained), box.y + box.h];
  pen.rect(box.x, box.y, edge - box.x, box.h, SEEN);
  const part = (/** @type {boolean} */ isRight) =>
    bars.flatMap((bar, i) => {
      if (!(bar >= 0) || asTrained(bar) !== isRight) return [];
      const [left, right] = [X(i * size) + 1, X(Math.min(total, (i + 1) * size)) - 1];
      return [/** @type {Segment} */ ([left, Y(bar), Math.max(1, right - left), bottom - Y(bar)])];
    });
  pen.rects(part(true), { fill: ink.position, stroke: ink.text, width: 0.7 });
  pen.rects(part(false), { fill: ink.other, stroke: ink.text, width: 0.7 });
  pen.line(edge, box.y, edge, bottom, { stroke: ink.paper, width: 5 }); // separates it from the bars' edges
  pen.line(edge, box.y, edge, bottom, TRAINED);
  pen.line(box.x, Y(level), box.x + box.w, Y(level), LEVEL);
  nameTrained(pen, box, edge);
  return scales;
}

/** Write "trained" above the bars: on its ground, or to the right of it if that is narrow. @type {(pen: Pen, box: Box, edge: number) => void} */
function nameTrained(pen, { x, y }, edge) {
  const words = phrase`trained`;
  const fits = textWidth(words, 12) + 8 <= edge - x;
  if (fits) pen.text(edge - 6, y + 13, words, { size: 12, anchor: "end" });
  else pen.text(edge + 5, y + 13, `← ${words}`, { size: 12 });
}

/** @type {WeakMap<object, {rows: number, href: string}>} */
const pictures = new WeakMap();

/**
 * An image of attention weights, cached by the number of rows computed so far.
 * @type {(weights: ArrayLike<number>, side: number, rows?: number) => string}
 */
export function attentionPicture(weights, side, rows = side) {
  const known = pictures.get(weights);
  if (known?.rows === rows) return known.href;
  const href = bitmap(side, side, (row, column) => weights[row * side + column]);
  pictures.set(weights, { rows, href });
  return href;
}
