// Defines marks with the same meaning in all figures: seen in training, never seen, and a pair's speed.
import { ink, onShade, shade } from "./colour.js";
import { phrase } from "./phrase.js";
import { diamond } from "./shapes.js";
import { textWidth } from "./words.js";

export const SEEN = { fill: ink.position, opacity: 0.28 };
export const UNSEEN = { fill: ink.other, opacity: 0.8 };
export const BEYOND = { fill: ink.other, opacity: 0.14 }; // positions or lengths beyond those in training

/** Name the field beyond training at its upper right corner, if it is wide enough. @type {(pen: Pen, field: {x: number, y: number, w: number}, opacity?: number) => void} */
export function nameBeyond(pen, { x, y, w }, opacity) {
  const words = [phrase`beyond training`, phrase`beyond`].find((name) => textWidth(name, 12) + 6 <= w) ?? "";
  pen.text(x + w - 3, y + 16, words, { size: 12, anchor: "end", fill: ink.otherWords, opacity });
}

/** Draw points that were never seen in training as dark-edged diamonds. @type {(pen: Pen, points: Pair[], r: number) => void} */
export function unseenPoints(pen, points, r) {
  const shapes = (/** @type {number} */ size) => points.map((point) => diamond(point, size));
  pen.areas(shapes(r + 1.8), { fill: ink.text });
  pen.areas(shapes(r), { fill: ink.other });
}

/** Map a pair's speed to a position in the colour map, from fast (share 0, light) to slow (1, dark). */
const tintOf = (/** @type {number} */ share) => 0.95 - 0.85 * share;

/** The colour of a pair's speed. */
export const speedShade = (/** @type {number} */ share) => shade(tintOf(share));
export const onSpeed = (/** @type {number} */ share) => onShade(tintOf(share));
