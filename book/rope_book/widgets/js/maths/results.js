// Unpacks the measurements from long runs; the counterpart of book/rope_book/widgets/_grid.py.
import { range } from "../lib/numbers.js";

/** @type {(text: string) => number[]} */
const codes = (text) => range(0, text.length / 2 - 1).map((i) => parseInt(text.slice(2 * i, 2 * i + 2), 36));

/** Fractions encoded as two characters each, in thousandths. @type {(text: string) => number[]} */
export const unpackShares = (text) => codes(text).map((code) => code / 1000);

/** Losses encoded as two characters each: 200 · log₁₀(loss / 10^−4.5). @type {(text: string) => number[]} */
export const unpackLosses = (text) => codes(text).map((code) => 10 ** (code / 200 - 4.5));

/** The [minimum, median, maximum] of some numbers. @type {(values: Vector) => Vector} */
export function span(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length / 2;
  const middle = sorted.length % 2 ? sorted[Math.floor(half)] : (sorted[half - 1] + sorted[half]) / 2;
  return [sorted[0], middle, sorted[sorted.length - 1]];
}
