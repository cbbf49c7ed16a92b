// Computes absolute encodings; mirrors rope_edu/encodings/absolute.py.
import { invFreq } from "./frequencies.js";

/** The sinusoidal encoding of position p: sin(p·θ_0), cos(p·θ_0), sin(p·θ_1), … @type {(position: number, dModel: number, base?: number) => number[]} */
export function sinusoidal(position, dModel, base = 10000) {
  return invFreq(dModel, base).flatMap((frequency) => [Math.sin(position * frequency), Math.cos(position * frequency)]);
}
