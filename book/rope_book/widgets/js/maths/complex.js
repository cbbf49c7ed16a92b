// Provides complex numbers, which Python has built in, as pairs [real, imaginary].

/** The length |z|. @type {(z: Pair) => number} */
export const length = ([a, b]) => Math.hypot(a, b);

/** The angle of z, radians in (−π, π]. @type {(z: Pair) => number} */
export const angleOf = ([a, b]) => Math.atan2(b, a);

/** Multiply z by a real factor. @type {(z: Pair, factor: number) => Pair} */
export const scaled = ([a, b], factor) => [a * factor, b * factor];

/** z · conj(w), which multiplies the lengths and subtracts the angles. @type {(z: Pair, w: Pair) => Pair} */
export const timesConj = ([a, b], [c, d]) => [a * c + b * d, b * c - a * d];

/** The distance |z − w|. @type {(z: Pair, w: Pair) => number} */
export const distance = ([a, b], [c, d]) => Math.hypot(a - c, b - d);

/** Reduce an angle modulo 2π to [−π, π]. @type {(angle: number) => number} */
export const wrapped = (angle) => angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));
