// Computes the angle between two arrows that turn with their positions; mirrors
// book/rope_book/widgets/maths/pair_angle.py.
import { angleOf, wrapped } from "./complex.js";

/** φ, the angle from k to q before rotation, in radians in [−π, π]. @type {(q: Pair, k: Pair) => number} */
export const contentAngle = (q, k) => wrapped(angleOf(q) - angleOf(k));

// The angle from the rotated k to the rotated q, φ + (m − n)θ, including whole turns.
/** @type {(q: Pair, k: Pair, distance: number, frequency: number) => number} */
export const angleBetween = (q, k, distance, frequency) => contentAngle(q, k) + distance * frequency;

// The position, possibly fractional, at which a pair points in the direction `pointed`, at most half a turn from
// the current position.
/** @type {(pair: Pair, position: number, frequency: number, pointed: Pair, most: number) => number} */
export function positionTowards(pair, position, frequency, pointed, most) {
  if (!frequency) return position;
  const more = wrapped(angleOf(pointed) - angleOf(pair) - position * frequency) / frequency;
  return Math.min(most, Math.max(0, position + more));
}
