// Draws the cursor that a reader moves along a chart.
import { ink } from "./colour.js";
import { centred } from "./labels.js";

const BOLD = { anchor: "middle", fill: ink.positionWords, weight: 600 };

// A vertical line at x in a chart, and its label above the box, kept within the picture's width.
/** @type {(pen: Pen, box: Box, x: number, words: string, width: number, rise?: number) => void} */
export function cursor(pen, box, x, words, width, rise = 28) {
  pen.line(x, box.y, x, box.y + box.h, { stroke: ink.position, width: 1.5, dash: "4 3" });
  pen.text(centred(x, words, 2, width - 2, { bold: true }), box.y - rise, words, BOLD);
}
