// Complex numbers as pairs [real, imaginary]; Python has them built in.

/**
 * |z|.
 * @param {Pair} z
 */
export const length = ([a, b]) => Math.hypot(a, b);

/**
 * The angle of z, radians in (−π, π].
 * @param {Pair} z
 */
export const angleOf = ([a, b]) => Math.atan2(b, a);

/**
 * z · factor.
 * @param {Pair} z
 * @param {number} factor
 * @returns {Pair}
 */
export const scaled = ([a, b], factor) => [a * factor, b * factor];

/**
 * z · conj(w): lengths multiply, angles subtract.
 * @param {Pair} z
 * @param {Pair} w
 * @returns {Pair}
 */
export const timesConj = ([a, b], [c, d]) => [a * c + b * d, b * c - a * d];

/**
 * |z − w|.
 * @param {Pair} z
 * @param {Pair} w
 */
export const distance = ([a, b], [c, d]) => Math.hypot(a - c, b - d);

/**
 * An angle less its whole turns, nearest to 0: within [−π, π].
 * @param {number} angle
 */
export const wrapped = (angle) => angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));
