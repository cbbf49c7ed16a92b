// Computes the score as a function of distance; mirrors rope_edu/encodings/decay.py.
import { timesConj } from "./complex.js";

/** The cosine and sine of distance·θ_i for each pair: [cos, sin, cos, sin, …]. @typedef {(distance: number) => Vector} Turns */

/** h_i = q_i · conj(k_i) for each interleaved pair, [real, imaginary]. @type {(q: Vector, k: Vector) => Pair[]} */
export function pairProducts(q, k) {
  const pair = (/** @type {Vector} */ x, /** @type {number} */ i) => /** @type {Pair} */ (x.slice(2 * i, 2 * i + 2));
  return Array.from({ length: q.length / 2 }, (_, i) => timesConj(pair(q, i), pair(k, i)));
}

// Create a memoised function that maps an integer distance to the rotations of all pairs, for curves and bounds to
// share. Up to 1,024, each row is computed cheaply as the complex product of the rows for half the distance.
export function makeTurns(/** @type {Vector} */ frequencies) {
  const rows = /** @type {Map<number, Vector>} */ (new Map());
  /** @type {Turns} */
  function turns(distance) {
    const known = rows.get(distance);
    if (known) return known;
    let row;
    if (distance < 2 || distance > 1024) {
      row = frequencies.flatMap((frequency) => [Math.cos(distance * frequency), Math.sin(distance * frequency)]);
    } else {
      const half = Math.floor(distance / 2);
      const [a, b] = [turns(half), turns(distance - half)];
      row = Array(a.length);
      for (let i = 0; i < a.length; i += 2) {
        row[i] = a[i] * b[i] - a[i + 1] * b[i + 1];
        row[i + 1] = a[i] * b[i + 1] + a[i + 1] * b[i];
      }
    }
    rows.set(distance, row);
    return row;
  }
  return turns;
}

// The score of interleaved q and k at each distance m − n: Σ Re(h_i e^{i·distance·θ_i}).
/** @type {(q: Vector, k: Vector, frequencies: Vector, distances: Vector, turns?: Turns) => number[]} */
export function scoreCurve(q, k, frequencies, distances, turns = makeTurns(frequencies)) {
  const products = pairProducts(q, k);
  return distances.map((distance) => {
    const [row, sign] = [turns(Math.abs(distance)), Math.sign(distance)];
    let sum = 0;
    for (let i = 0; i < products.length; i++) {
      sum += products[i][0] * row[2 * i] - sign * products[i][1] * row[2 * i + 1];
    }
    return sum;
  });
}

// RoFormer's bound (§3.4.3), max |h_{i+1} − h_i| · Σ_j |S_j|, where S_j is the sum of the first j unit numbers
// e^{i·distance·θ}.
/** @type {(q: Vector, k: Vector, frequencies: Vector, distances: Vector, turns?: Turns) => number[]} */
export function roformerBound(q, k, frequencies, distances, turns = makeTurns(frequencies)) {
  const products = pairProducts(q, k);
  let step = 0;
  products.forEach(([re, im], i) => {
    const [nextRe, nextIm] = products[i + 1] ?? [0, 0];
    step = Math.max(step, Math.hypot(nextRe - re, nextIm - im));
  });
  return distances.map((distance) => {
    const row = turns(Math.abs(distance));
    let [re, im, total] = [0, 0, 0];
    for (let i = 0; i < row.length; i += 2) {
      re += row[i];
      im += row[i + 1];
      total += Math.sqrt(re * re + im * im);
    }
    return step * total;
  });
}

/** Σ|h_i|, an upper bound on the score of q and k at any distance. @type {(q: Vector, k: Vector) => number} */
export const trivialBound = (q, k) => pairProducts(q, k).reduce((sum, [re, im]) => sum + Math.hypot(re, im), 0);

// The mean of cos(distance·θ_i) over all pairs, which is the score of equal vectors relative to distance 0.
export function meanCosine(/** @type {Vector} */ frequencies, /** @type {Vector} */ distances) {
  return distances.map((distance) => {
    let total = 0;
    for (let i = 0; i < frequencies.length; i++) total += Math.cos(distance * frequencies[i]);
    return total / frequencies.length;
  });
}
