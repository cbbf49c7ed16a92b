// A legend: each mark of a picture with its name, in lines that fit the picture's width.
import { inLines } from "./labels.js";

// Words and their sign: a line of a style, a box, or a drawing by `sign` from the left edge of its place, at mid height.
/** @typedef {{words: string, style?: Style, box?: Style, sign?: (pen: Pen, x: number, y: number) => void}} Entry */

const PITCH = 20; // pixels from line to line

// {height, draw(pen, top)}: `top` is the middle of the first line. A sign begins 2 pixels from the left of its place and ends 6 before
// the words, which are `text` from the left, with their baseline `drop` below the middle.
/** @param {Entry[]} entries @param {number} width @param {{sample?: number, text?: number, drop?: number}} [room] */
export function legendOf(entries, width, { sample = 30, text = sample - 2, drop = 4 } = {}) {
  const placed = inLines(entries, width, { sample });
  const end = text - 6;
  function draw(/** @type {Pen} */ pen, /** @type {number} */ top) {
    for (const { words, style, box, sign, x, line } of placed) {
      const y = top + PITCH * line;
      if (style) pen.line(x + 2, y, x + end, y, style);
      if (box) pen.rect(x + 2, y - 6, end - 2, 12, box);
      sign?.(pen, x, y);
      pen.text(x + text, y + drop, words);
    }
  }
  return { height: PITCH * ((placed.at(-1)?.line ?? 0) + 1), draw };
}
