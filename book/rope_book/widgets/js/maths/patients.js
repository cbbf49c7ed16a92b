// Rotates vectors as chapter 22's patients do, and measures their symptoms; mirrors
// book/rope_book/widgets/maths/patients.py.
import { PATIENTS } from "../data/patients.js";
import { dot } from "./dot_product.js";
import { invFreq, ropeAngles } from "./frequencies.js";
import { pairFeatures } from "./layouts.js";
import { roundTo } from "./precision.js";
import { applyRope } from "./rotary.js";

const { starts: STARTS, offsets: OFFSETS, places: PLACES, q: Q, k: K } = PATIENTS;
const WIDTH = 8;
const FREQUENCIES = invFreq(WIDTH, PATIENTS.base);
const anglesAt = (/** @type {number} */ m) => ropeAngles(m, FREQUENCIES);

/** @typedef {(x: Vector, m: number) => number[]} Rotation8 */

/** Replace each half-split pair (first, second) with (sign · second, first). @type {(x: Vector, sign?: number) => number[]} */
function swapped(x, sign = -1) {
  const out = [...x];
  for (let i = 0; i < WIDTH / 2; i++) {
    const [first, second] = pairFeatures(i, WIDTH / 2);
    [out[first], out[second]] = [sign * x[second], x[first]];
  }
  return out;
}

/** Repeat each number, next to the original or half the width away. @type {(table: Vector, halves: boolean) => number[]} */
const laidOut = (table, halves) => (halves ? [...table, ...table] : table.flatMap((value) => [value, value]));

// A rotation of the form x · cos + partner · sin, with a mistake in one of its parts.
/** @type {(parts: {cos?: (angle: number) => number, sin?: (angle: number) => number, halves?: boolean,
 *   partner?: (x: Vector) => number[]}) => Rotation8} */
const byTables =
  ({ cos = Math.cos, sin = Math.sin, halves = false, partner = swapped }) =>
  (x, m) => {
    const [c, s] = [cos, sin].map((table) => laidOut(anglesAt(m).map(table), halves));
    const other = partner(x);
    return x.map((value, j) => value * c[j] + other[j] * s[j]);
  };

const right = (/** @type {Vector} */ x, /** @type {number} */ m) => applyRope(x, anglesAt(m));

/** @type {Record<string, Rotation8>} */
const ROTATIONS = {
  right,
  other_layout: (x, m) => applyRope(x, anglesAt(m), "half_split"),
  turns_backwards: (x, m) => right(x, -m),
  one_clock: (x, m) => applyRope(x, Array(WIDTH / 2).fill(m)),
  counts_from_one: (x, m) => right(x, m + 1),
  positions_in_bfloat16: (x, m) => right(x, roundTo(m, "bfloat16")),
  uneven_gain: (x, m) => right(x, m).map((value, j) => value * (0.5 + j / (WIDTH - 1))),
  minus_sign_missing: byTables({ partner: (x) => swapped(x, 1) }),
  sine_missing: byTables({ sin: () => 0 }),
  cos_and_sin_swapped: byTables({ cos: Math.sin, sin: Math.cos }),
  table_of_other_layout: byTables({ halves: true }),
  rolls_features: byTables({ partner: (x) => [...x.slice(-1), ...x.slice(0, -1)] }),
};

/** Rotate a vector as a patient does at a position. @type {(name: string, x: Vector, m: number) => number[]} */
export const turned = (name, x, m) => ROTATIONS[name](x, m);

/** The unit vectors. */
const UNITS = Array.from({ length: WIDTH }, (_, j) => Array.from({ length: WIDTH }, (_, n) => Number(n === j)));

/** The rows of the matrix by which a patient multiplies vectors at a position. @type {(name: string, m: number) => Matrix} */
export function matrixAt(name, m) {
  const columns = UNITS.map((unit) => turned(name, unit, m));
  return columns.map((_, row) => columns.map((column) => column[row]));
}

const lengthOf = (/** @type {Vector} */ x) => Math.sqrt(dot(x, x));

/** A patient's scores (start by offset), and lengths and errors (by position) of the rotated query.
 * @type {(name: string) => {scores: Matrix, lengths: Vector, errors: Vector}} */
export function symptomsOf(name) {
  const query = PLACES.map((/** @type {number} */ m) => turned(name, Q, m));
  const wanted = PLACES.map((/** @type {number} */ m) => right(Q, m));
  const off = query.map((/** @type {Vector} */ x, /** @type {number} */ i) =>
    lengthOf(x.map((value, j) => value - wanted[i][j])),
  );
  const scores = STARTS.map((/** @type {number} */ start) => {
    const key = turned(name, K, start);
    return OFFSETS.map((/** @type {number} */ offset) => dot(turned(name, Q, start + offset), key));
  });
  return { scores, lengths: query.map(lengthOf), errors: off };
}

/** Summarise symptoms: the shortest and longest length, the largest range of a score over the starts, and the largest
 * error. @type {(symptoms: {scores: Matrix, lengths: Vector, errors: Vector}) =>
 *   {shortest: number, longest: number, spread: number, error: number}} */
export function summary({ scores, lengths, errors }) {
  const spreads = scores[0].map((_, n) => {
    const values = scores.map((line) => line[n]);
    return Math.max(...values) - Math.min(...values);
  });
  return {
    shortest: Math.min(...lengths),
    longest: Math.max(...lengths),
    spread: Math.max(...spreads),
    error: Math.max(...errors),
  };
}
