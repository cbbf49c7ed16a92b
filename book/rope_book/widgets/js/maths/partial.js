// Rotation of a part of a head, the same as rope_edu/encodings/partial.py.
import { invFreq } from "./frequencies.js";

/** The frequencies of a head as wide as the part that turns. @type {(rotaryDim: number, base?: number) => number[]} */
export const partialRope = (rotaryDim, base = 10000) => invFreq(rotaryDim, base);

/** p-RoPE: the frequencies of the whole head, the slowest set to 0. @type {(headDim: number, p: number, base?: number) => number[]} */
export function pRope(headDim, p, base = 10000) {
  const turning = Math.floor((p * headDim) / 2);
  return invFreq(headDim, base).map((frequency, i) => (i < turning ? frequency : 0));
}
