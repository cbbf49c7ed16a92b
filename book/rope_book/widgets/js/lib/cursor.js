// Draws the cursor that users move along a chart.
import { ink } from "./colour.js";
import { centred } from "./labels.js";

const BOLD = { anchor: "middle", fill: ink.positionWords, weight: 600 };

/** The line from an axis to the selected place. */
export const CURSOR = { stroke: ink.position, width: 1.5, dash: "4 3" };

/** Write the name of a place above x, within the picture's width. @type {(pen: Pen, x: number, y: number, words: string, width: number) => void} */
export const nameOver = (pen, x, y, words, width) =>
  pen.text(centred(x, words, 2, width - 2, { bold: true }), y, words, BOLD);

// Draw a vertical line at x, with a label above the box that stays within the picture's width.
/** @type {(pen: Pen, box: Box, x: number, words: string, width: number, rise?: number) => void} */
export function cursor(pen, box, x, words, width, rise = 28) {
  pen.line(x, box.y, x, box.y + box.h, CURSOR);
  nameOver(pen, x, box.y - rise, words, width);
}
