// Encodings of one position: the same as rope_edu/encodings/absolute.py.
import { invFreq } from "./frequencies.js";

// PE(p, 2i) = sin(p·θ_i), PE(p, 2i+1) = cos(p·θ_i).
/** @type {(position: number, dModel: number, base?: number) => number[]} */
export function sinusoidal(position, dModel, base = 10000) {
  return invFreq(dModel, base).flatMap((frequency) => [Math.sin(position * frequency), Math.cos(position * frequency)]);
}
