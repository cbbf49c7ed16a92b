// Provides example biases for schemes that learn their biases; mirrors
// book/rope_book/widgets/maths/example_bias.py.
import { range } from "../lib/numbers.js";
import { alibiSlopes, shawIndex, t5Bucket } from "./relative.js";

/** @typedef {{numBuckets: number, maxDistance: number, clip: number}} BiasTable */

const SLOPES = alibiSlopes(8);

/** Whether a scheme hides later keys from each query. @type {(scheme: string) => scheme is "alibi" | "t5_causal"} */
export const isCausal = (scheme) => scheme === "alibi" || scheme === "t5_causal";

/** ALiBi's slope for a head, counting from 1. @type {(head: number) => number} */
export const slopeOf = (head) => SLOPES[head - 1];

/** The factor by which a bias multiplies a weight before normalisation. @type {(bias: number) => number} */
export const factorOf = (bias) => Math.exp(bias);

// The index of a scheme's table entry for a relative position: T5's bucket or Shaw's row.
/** @type {(scheme: string, relative: number, table: BiasTable) => number} */
export function tableEntry(scheme, relative, { numBuckets, maxDistance, clip }) {
  if (scheme === "shaw") return shawIndex(relative, clip);
  return t5Bucket(relative, scheme === "t5_bidirectional", numBuckets, maxDistance);
}

// An invented learned value, −2 · 2^(−(head − 1)/2) · ln(1 + distance), halved for keys to the right.
export function exampleValue(/** @type {number} */ head, /** @type {number} */ relative) {
  const steepness = 2 * 2 ** (-(head - 1) / 2);
  return -steepness * Math.log1p(Math.abs(relative)) * (relative > 0 ? 0.5 : 1);
}

// The bias at each relative position, starting at −(length − 1). Positions that share a table entry all get the
// example value for their smallest distance.
/** @type {(scheme: string, head: number, length: number, table: BiasTable) => any[]} */
export function biasCurve(scheme, head, length, table) {
  const far = length - 1;
  if (scheme === "alibi") return range(-far, 0).map((relative) => slopeOf(head) * relative);
  const values = new Map();
  for (const distance of range(0, far)) {
    for (const relative of isCausal(scheme) ? [-distance] : [-distance, distance]) {
      const place = tableEntry(scheme, relative, table);
      if (!values.has(place)) values.set(place, exampleValue(head, relative));
    }
  }
  return range(-far, isCausal(scheme) ? 0 : far).map((relative) => values.get(tableEntry(scheme, relative, table)));
}
