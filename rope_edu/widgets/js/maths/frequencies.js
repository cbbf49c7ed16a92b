// The figures' side of rope_edu/encodings/frequencies.py.

/** θ_i = base^(−2i/headDim), radians per token, i = 0 … headDim/2 − 1. */
export function invFreq(headDim, base = 10000) {
  return Array.from({ length: headDim / 2 }, (_, i) => base ** (-(2 * i) / headDim));
}

/** Tokens per turn of each frequency. */
export function wavelength(frequencies) {
  return frequencies.map((frequency) => (2 * Math.PI) / frequency);
}

/** The angles of one position, radians, one for each pair. */
export function ropeAngles(position, frequencies) {
  return frequencies.map((frequency) => position * frequency);
}
