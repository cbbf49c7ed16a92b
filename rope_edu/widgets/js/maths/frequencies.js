// Frequencies, angles and turns: the same as rope_edu/encodings/frequencies.py.

/**
 * θ_i = base^(−2i/headDim), radians per token, i = 0 … headDim/2 − 1.
 * @param {number} headDim
 * @param {number} [base]
 */
export function invFreq(headDim, base = 10000) {
  return Array.from({ length: headDim / 2 }, (_, i) => base ** (-(2 * i) / headDim));
}

/**
 * Tokens per turn of each frequency.
 * @param {Vector} frequencies
 */
export function wavelength(frequencies) {
  return frequencies.map((frequency) => (2 * Math.PI) / frequency);
}

/**
 * The angles of one position, radians, one for each pair.
 * @param {number} position
 * @param {Vector} frequencies
 */
export function ropeAngles(position, frequencies) {
  return frequencies.map((frequency) => position * frequency);
}

/** A whole turn, radians. */
export const TURN = 2 * Math.PI;

/**
 * How many turns an angle is.
 * @param {number} angle
 */
export const turnsOf = (angle) => angle / TURN;

/**
 * An angle less its whole turns: from 0 up to 2π.
 * @param {number} angle
 */
export function withinTurn(angle) {
  const rest = angle % TURN;
  return rest < 0 ? rest + TURN : rest;
}

/**
 * How far a pair's hand goes within a context: radians, at most a turn.
 * @param {number} context
 * @param {number} frequency
 */
export const reachWithin = (context, frequency) => Math.min(context * frequency, TURN);
