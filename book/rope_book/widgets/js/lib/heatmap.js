// Draws the parts of a heatmap: its colour scale, and frames around its cells.
import { ink, note, noteEnd, noteMiddle } from "./colour.js";

/** @import { Pen } from "./pen.js" */

/** Draw a horizontal colour scale with words at its left end, its middle and its right end. @type {(pen: Pen, place: {x: number, y: number, w: number}, words: unknown[], colours?: Matrix, steps?: number) => void} */
export function colourScale(pen, { x, y, w }, [low, middle, high], colours, steps = 128) {
  pen.raster(x, y, w, 12, 1, steps, (_, column) => column / (steps - 1), colours);
  pen.text(x, y + 27, low, note);
  pen.text(x + w / 2, y + 27, middle, noteMiddle);
  pen.text(x + w, y + 27, high, noteEnd);
}

/** Draw a frame that is visible against any colour. @type {(pen: Pen, x: number, y: number, w: number, h: number, style: {stroke: string, width: number}) => void} */
export function frame(pen, x, y, w, h, style) {
  pen.rect(x, y, w, h, { stroke: ink.paper, width: 2 * style.width });
  pen.rect(x, y, w, h, style);
}
