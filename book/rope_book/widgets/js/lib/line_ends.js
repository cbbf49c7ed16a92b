// Writes lines' names at their right ends, ordered by height without overlap, each joined to its line.
import { clamp, last } from "./numbers.js";
import { textWidth } from "./words.js";

/** @import { Pen } from "./pen.js" */
/** @typedef {{name: string, end: Pair, stroke: string, words: string, weight?: number}} Ending */

const [PITCH, REACH] = [15, 14]; // pixels between names, and between the end of a line and its name

/** The width of the right margin that the given names need. @type {(names: string[]) => number} */
export const roomForNames = (names) => REACH + 4 + Math.max(0, ...names.map((name) => textWidth(name, 12, true)));

/** Move heights as little as possible so that they are at least PITCH apart and between two edges. Returns them in ascending order. @type {(ys: number[], low: number, high: number) => number[]} */
export function spread(ys, low, high) {
  const down = /** @type {number[]} */ ([]);
  for (const y of ys) down.push(Math.max(y, low, (down.length ? last(down) : -Infinity) + PITCH));
  return down.map((y, i) => Math.min(y, high - PITCH * (down.length - 1 - i)));
}

// Write the names of `lines` to the right of a box, between its top and its bottom. `words` is a name's colour,
// which must be dark enough for text.
/** @type {(pen: Pen, box: Box, lines: Ending[]) => void} */
export function nameEnds(pen, box, lines) {
  const ordered = [...lines].sort((one, other) => one.end[1] - other.end[1]);
  const [top, foot] = [box.y + 6, box.y + box.h];
  const ys = spread(
    ordered.map(({ end }) => clamp(end[1], top, foot)),
    top,
    foot,
  );
  for (const [i, { name, end, stroke, words, weight = 600 }] of ordered.entries()) {
    const left = box.x + box.w + REACH;
    pen.line(end[0], end[1], left - 2, ys[i], { stroke, width: 1 });
    pen.text(left + 1, ys[i] + 4, name, { size: 12, weight, fill: words });
  }
}
