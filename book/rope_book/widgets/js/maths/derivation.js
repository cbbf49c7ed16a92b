// Tests candidate encodings of a pair's position against the six lines of the derivation; mirrors
// book/rope_book/widgets/maths/derivation.py. A pair is a complex number [real, imaginary].
import { range } from "../lib/numbers.js";
import { angleOf, distance as apart, length, scaled, timesConj, wrapped } from "./complex.js";
import { rotatePair } from "./rotary.js";

/** Encodes the pair z at position m. @typedef {(z: Pair, m: number) => Pair} Encoder */

export const LAST = 8; // each line is tested at positions 0 … LAST
export const HOLDS = 1e-9; // rounding tolerance; a line holds if it is off by less than this
export const PLACES = range(0, LAST);

/** Each candidate's encoding of the pair z at position m, with θ radians per token. @type {Record<string, (z: Pair, m: number, theta: number) => Pair>} */
const CANDIDATES = {
  turn: (z, m, theta) => rotatePair(z, m * theta),
  head_start: (z, m, theta) => rotatePair(z, m * theta + 0.5),
  grow: (z, m, theta) => scaled(rotatePair(z, m * theta), 1 + 0.08 * m),
  content: (z, m, theta) => rotatePair(z, m * theta * length(z)),
  square: (z, m, theta) => rotatePair(z, (m * m * theta) / 8),
  add: ([a, b], m, theta) => [a + 0.7 * (Math.cos(m * theta) - 1), b + 0.7 * Math.sin(m * theta)],
  mirror: ([a, b], m) => (m % 2 ? [a, -b] : [a, b]),
};

/** f(z, m) for a candidate with θ radians per token. @type {(candidate: string, theta: number) => Encoder} */
export const encoder = (candidate, theta) => (z, m) => CANDIDATES[candidate](z, m, theta);

/**
 * The angle between each position and the next, in radians in (−π, π].
 * @type {(f: Encoder, z: Pair) => number[]}
 */
export const stepsOf = (f, z) => PLACES.slice(1).map((m) => angleOf(timesConj(f(z, m), f(z, m - 1))));

// The pair's angle relative to z at each position, unwrapped to avoid jumps.
export function turnsOf(/** @type {Encoder} */ f, /** @type {Pair} */ z) {
  let [before, total] = [z, 0];
  return PLACES.map((m) => {
    const now = f(z, m);
    total += angleOf(timesConj(now, before));
    before = now;
    return total;
  });
}

// The products f(q, n + distance) · conj f(k, n) for all n such that both positions are in 0 … LAST; `first` is the
// smallest n.
/** @type {(f: Encoder, q: Pair, k: Pair, distance: number) => {first: number, products: Pair[]}} */
export function slide(f, q, k, distance) {
  const first = Math.max(0, -distance);
  const places = range(first, LAST - Math.max(0, distance));
  return { first, products: places.map((n) => timesConj(f(q, n + distance), f(k, n))) };
}

/** The angles of the products, unwrapped to avoid jumps. @type {(products: Pair[]) => number[]} */
export function followedAngles(products) {
  let angle = angleOf(products[0]);
  return products.map((z, i) => (angle += i ? angleOf(timesConj(z, products[i - 1])) : 0));
}

/** The largest violations of lines 2 and 6, as [product, real part]. @type {(qs: Pair[], ks: Pair[]) => Pair} */
function breaksBySliding(qs, ks) {
  let [product, score] = [0, 0];
  for (const shift of range(-LAST, LAST)) {
    const [m, n] = [Math.max(shift, 0), Math.max(-shift, 0)];
    const first = timesConj(qs[m], ks[n]);
    for (let s = 1; s + Math.abs(shift) <= LAST; s++) {
      const now = timesConj(qs[m + s], ks[n + s]);
      product = Math.max(product, apart(now, first));
      score = Math.max(score, Math.abs(now[0] - first[0]));
    }
  }
  return [product, score];
}

// The worst violation of each of the six lines at positions 0 … LAST; those of lines 4 and 5 are in radians.
/** @type {(f: Encoder, q: Pair, k: Pair) => number[]} */
export function breaks(f, q, k) {
  const [qs, ks] = [PLACES.map((m) => f(q, m)), PLACES.map((n) => f(k, n))];
  const [product, score] = breaksBySliding(qs, ks);
  const empty = length(q) < HOLDS || length(k) < HOLDS; // a zero pair has no angle
  const uneven = (/** @type {Pair} */ z) => {
    const steps = stepsOf(f, z);
    return Math.max(...steps.map((step) => Math.abs(wrapped(step - steps[0]))));
  };
  const turned = (/** @type {number} */ m) =>
    Math.abs(wrapped(angleOf(timesConj(qs[m], q)) - angleOf(timesConj(ks[m], k))));
  return [
    Math.max(apart(qs[0], q), apart(ks[0], k)),
    product,
    Math.max(...PLACES.map((m) => Math.abs(length(qs[m]) * length(ks[m]) - length(q) * length(k)))),
    empty ? 0 : Math.max(...PLACES.map(turned)),
    empty ? 0 : Math.max(uneven(q), uneven(k)),
    score,
  ];
}
