// Computes frequencies for heads that are only partly rotated; mirrors rope_edu/encodings/partial.py.
import { invFreq } from "./frequencies.js";

/** The frequencies of a head of width rotaryDim. @type {(rotaryDim: number, base?: number) => number[]} */
export const partialRope = (rotaryDim, base = 10000) => invFreq(rotaryDim, base);

/** The frequencies of p-RoPE: those of the whole head, with the slowest replaced by 0. @type {(headDim: number, p: number, base?: number) => number[]} */
export function pRope(headDim, p, base = 10000) {
  const turning = Math.floor((p * headDim) / 2);
  return invFreq(headDim, base).map((frequency, i) => (i < turning ? frequency : 0));
}
