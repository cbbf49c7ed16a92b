// Generates random numbers that agree across engines and with book/rope_book/widgets/maths/draws.py. Each number is
// a hash of the index n and the keys of the stream.

const STEP = 0x9e3779b9; // 2³² divided by the golden ratio

/** Hash x so that each input bit affects about half of the 32 output bits. @type {(x: number) => number} */
export function mixed(x) {
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

/** The initial state of the stream that the integer keys identify. @type {(keys: Vector) => number} */
export const streamOf = (keys) => keys.reduce((state, key) => mixed((state ^ key) + STEP), 0);

/** The n-th number in a stream, in [0, 1). @type {(stream: number, n: number) => number} */
export const uniformAt = (stream, n) => mixed((stream + Math.imul(n + 1, STEP)) | 0) / 4294967296;

/** The n-th integer in a stream, from 0 to `most` − 1. @type {(stream: number, n: number, most: number) => number}
 */
export const wholeAt = (stream, n, most) => Math.floor(uniformAt(stream, n) * most);

// The n-th approximately normal number in a stream, with mean 0 and standard deviation 1: the sum of twelve uniform
// numbers, minus 6 (Irwin–Hall).
export function normalAt(/** @type {number} */ stream, /** @type {number} */ n) {
  let sum = -6;
  for (let i = 12 * n; i < 12 * n + 12; i++) sum += uniformAt(stream, i);
  return sum;
}
