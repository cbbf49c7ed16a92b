// Rotates a pair with a gain on each feature; mirrors book/rope_book/widgets/maths/gained.py.
import { angleOf, length } from "./complex.js";
import { dot } from "./dot_product.js";
import { rotatePair } from "./rotary.js";

/** @type {(pair: Pair, gains: Pair) => Pair} */
const scaledBy = ([x, y], [first, second]) => [first * x, second * y];

// Rotate a pair by an angle, and apply a gain to each feature before or after the rotation.
/** @type {(pair: Pair, angle: number, gains: Pair, after: boolean) => Pair} */
export function gainedPair(pair, angle, gains, after) {
  return after ? scaledBy(rotatePair(pair, angle), gains) : rotatePair(scaledBy(pair, gains), angle);
}

// The score of a query pair at position + distance with a key pair at position.
/** @type {(q: Pair, k: Pair, position: number, distance: number, invFreq: number, gains: Pair,
 *   after: boolean) => number} */
export function gainedScore(q, k, position, distance, invFreq, gains, after) {
  const turned = gainedPair(q, (position + distance) * invFreq, gains, after);
  return dot(turned, gainedPair(k, position * invFreq, gains, after));
}

// The constant part of the score and the amplitude of the varying part, with gains applied after the rotation.
/** @type {(q: Pair, k: Pair, distance: number, invFreq: number, gains: Pair) => Pair} */
export function gainedParts(q, k, distance, invFreq, gains) {
  const [a, b] = gains.map((gain) => gain * gain);
  const lengths = length(q) * length(k);
  const between = angleOf(q) - angleOf(k);
  return [((lengths * (a + b)) / 2) * Math.cos(distance * invFreq + between), (lengths * Math.abs(a - b)) / 2];
}
