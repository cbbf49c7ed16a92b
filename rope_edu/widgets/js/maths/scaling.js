// Frequencies beyond the trained length: the same as rope_edu/encodings/scaling.py.
import { invFreq } from "./frequencies.js";

/**
 * Frequencies of dynamic NTK at the present length: plain to trainedLength, beyond it with the base
 * base·s^(headDim/(headDim − 2)), s = factor·length/trainedLength − (factor − 1).
 * @param {number} headDim
 * @param {number} length
 * @param {number} trainedLength
 * @param {number} [factor]
 * @param {number} [base]
 */
export function dynamicNtkInvFreq(headDim, length, trainedLength, factor = 1, base = 10000) {
  const s = (factor * Math.max(length, trainedLength)) / trainedLength - (factor - 1);
  return invFreq(headDim, base * s ** (headDim / (headDim - 2)));
}
