// Draws a legend of a picture's marks, wrapped to the picture's width.
import { inLines } from "./labels.js";

// A label with a swatch: a styled line, a box, or a drawing by `sign`, which receives the entry's left edge and
// middle.
/** @typedef {{words: string, style?: Style, box?: Style, sign?: (pen: Pen, x: number, y: number) => void}} Entry */

const PITCH = 20; // pixels from line to line

// {height, draw(pen, top, left)}: `top` is the middle of the first line. Within an entry, the swatch starts at 2 px and
// ends 6 px before the label. The label starts at `text` px, with its baseline `drop` px below the middle.
/** @param {Entry[]} entries @param {number} width @param {{sample?: number, text?: number, drop?: number}} [room] */
export function legendOf(entries, width, { sample = 30, text = sample - 2, drop = 4 } = {}) {
  const placed = inLines(entries, width, { sample });
  const end = text - 6;
  function draw(/** @type {Pen} */ pen, /** @type {number} */ top, left = 0) {
    for (const { words, style, box, sign, x: along, line } of placed) {
      const [x, y] = [left + along, top + PITCH * line];
      if (style) pen.line(x + 2, y, x + end, y, style);
      if (box) pen.rect(x + 2, y - 6, end - 2, 12, box);
      sign?.(pen, x, y);
      pen.text(x + text, y + drop, words);
    }
  }
  return { height: PITCH * ((placed.at(-1)?.line ?? 0) + 1), draw };
}
