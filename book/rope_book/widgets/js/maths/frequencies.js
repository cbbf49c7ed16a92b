// Computes frequencies, angles and turns; mirrors rope_edu/encodings/frequencies.py.

/** θ_i = base^(−2i/headDim), radians per token, for each pair. @type {(headDim: number, base?: number) => number[]} */
export function invFreq(headDim, base = 10000) {
  return Array.from({ length: headDim / 2 }, (_, i) => base ** (-(2 * i) / headDim));
}

/** The number of tokens per turn at each frequency. @type {(frequencies: Vector) => number[]} */
export const wavelength = (frequencies) => frequencies.map((frequency) => (2 * Math.PI) / frequency);

// The angles at one position, in radians, one per pair.
export function ropeAngles(/** @type {number} */ position, /** @type {Vector} */ frequencies) {
  return frequencies.map((frequency) => position * frequency);
}

/** A full turn, in radians. */
export const TURN = 2 * Math.PI;

/** Convert an angle from radians to turns. @type {(angle: number) => number} */
export const turnsOf = (angle) => angle / TURN;

/** Reduce an angle modulo 2π to [0, 2π). @type {(angle: number) => number} */
export function withinTurn(angle) {
  const rest = angle % TURN;
  return rest < 0 ? rest + TURN : rest;
}

/** The angle through which a pair turns within a context, in radians, capped at one turn. @type {(context: number, frequency: number) => number} */
export const reachWithin = (context, frequency) => Math.min(context * frequency, TURN);
