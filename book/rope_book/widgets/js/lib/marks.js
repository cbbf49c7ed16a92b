// Defines marks with the same meaning in all figures: seen in training, never seen, and a pair's speed.
import { ink, onShade, shade } from "./colour.js";
import { diamond } from "./shapes.js";

export const SEEN = { fill: ink.position, opacity: 0.28 };
export const UNSEEN = { fill: ink.other, opacity: 0.8 };
export const BEYOND = { fill: ink.other, opacity: 0.14 }; // positions or lengths beyond those in training

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
