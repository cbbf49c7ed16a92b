// Applies a small attention layer to words represented by unit vectors in the plane; mirrors
// book/rope_book/widgets/maths/order.py.
import { ORDER } from "../data/order.js";
import { attention, matVec } from "./dot_product.js";

// A unit vector derived from a word's letters, so that equal words have equal vectors.
export function wordDirection(/** @type {string} */ word) {
  let mixed = ORDER.seed;
  for (const letter of word.toLowerCase()) mixed = Math.imul(mixed ^ Number(letter.codePointAt(0)), 0x01000193);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39);
  const angle = (2 * Math.PI * ((mixed ^ (mixed >>> 15)) >>> 0)) / 2 ** 32;
  return [Math.cos(angle), Math.sin(angle)];
}

/** Apply the same layer to the words `layers` times. Returns the last weights, the outputs and the mean output. */
export function readWords(/** @type {string[]} */ words, /** @type {boolean} */ causal, /** @type {number} */ layers) {
  /** @type {Matrix} */
  let outputs = words.map(wordDirection);
  let weights = /** @type {Matrix} */ ([]);
  for (let layer = 0; layer < layers; layer++) {
    const times = (/** @type {Matrix} */ matrix) => outputs.map((row) => matVec(matrix, row));
    ({ weights, outputs } = attention(times(ORDER.query), times(ORDER.key), times(ORDER.value), causal));
  }
  const mean = [0, 1].map((c) => outputs.reduce((sum, row) => sum + row[c], 0) / outputs.length);
  return { weights, outputs, mean };
}
