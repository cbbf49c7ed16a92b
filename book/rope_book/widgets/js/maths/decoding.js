// Simulates a key cache step by step and counts the work that the cache saves; mirrors
// book/rope_book/widgets/maths/decoding.py.
import { DECODING } from "../data/decoding.js";
import { range, sum } from "../lib/numbers.js";
import { ropeAngles } from "./frequencies.js";
import { dynamicNtk } from "./scaling.js";

// A key's angle in one pair, in radians, given the key's position and the length that determines the frequencies.
/** @type {(store: string, pair: number, position: number, length: number) => number} */
export function keyAngle(store, pair, position, length) {
  const { headDim, base, trained, factor } = DECODING;
  const used = store === "dynamic" ? length : trained; // the rule has no effect up to the trained length
  return ropeAngles(position, dynamicNtk(headDim, trained, used, factor, base).invFreq)[pair];
}

// The keys in the cache after a step, oldest first, with three angles in radians: as stored, as used for the score,
// and as they should be. Each key is stored in the step that computes it.
/** @type {(store: string, pair: number, capacity: number, step: number) =>
 *   {position: number, stored: number, used: number, wanted: number}[]} */
export function heldKeys(store, pair, capacity, step) {
  return range(Math.max(0, step - capacity), step - 1).map((position) => {
    const used = keyAngle(store, pair, position, position + 1);
    return { position, stored: store === "unrotated" ? 0 : used, used, wanted: keyAngle(store, pair, position, step) };
  });
}

// The total key rotations and dot products so far, and the bytes stored, each as [with a cache, without a cache for
// the same weights].
export function decodingWork(/** @type {string} */ store, /** @type {number} */ capacity, /** @type {number} */ step) {
  const steps = range(1, step);
  const seen = steps.map((t) => Math.min(t, capacity));
  return {
    turned: [store === "unrotated" ? sum(seen) : step, sum(steps)],
    products: [sum(seen), sum(steps.map((t) => sum(seen.slice(0, t))))],
    bytes: [Math.min(step, capacity) * 2 * DECODING.headDim * DECODING.number, 0],
  };
}
