// Computes the largest error of a pipeline up to each position; a faster counterpart of
// book/rope_book/widgets/maths/error_curve.py.
import { range, sorted } from "../lib/numbers.js";
import { angleError, roundoff, roundTo } from "./precision.js";

export const FARTHEST = 2 ** 20; // number of positions shown
export const LOST = 3.1; // in radians; an angle with a larger error is useless
const FEW = 6; // number of pairs to check at the evenly spread positions
const GOLDEN = (Math.sqrt(5) - 1) / 2;
/** @type {Record<string, number>} */
const SMALLEST = { float16: 2 ** -24 }; // the spacing of subnormal numbers, for formats where it matters
const TIES = tiePositions();
const SPREAD = new Set(spreadPositions());
const FINE = sorted([...TIES, ...SPREAD]);

// The positions at which 16-bit rounding is worst. In each doubling, these are the start, the middle, the first
// ties between two positions in float16 and bfloat16, and the tokens right after the ties, where the rounded
// position jumps. The last finite position in float16 is also included.
export function tiePositions() {
  const around = (/** @type {number} */ power) => {
    const start = 2 ** power;
    const ties = [11, 8].map((bits) => start + Math.ceil(2 ** (power - bits)));
    return [start, ...ties, ...ties.map((tie) => tie + 1), Math.round(1.5 * start)];
  };
  return sorted([...range(0, 19).flatMap(around), 65519, FARTHEST]);
}

/** Ten evenly spread positions in each doubling from 2⁸, because the largest float32 error can occur anywhere. */
export function spreadPositions() {
  const shares = range(1, 10).map((n) => (n * GOLDEN) % 1);
  return sorted(range(8, 19).flatMap((power) => shares.map((share) => Math.round(2 ** power * (1 + share)))));
}

/** The positions to check, including the spread positions if float32 is the coarsest format used for an angle. @type {(pipeline: Pipeline) => number[]} */
function positionsFor({ frequencies, positions, angles }) {
  const formats = [frequencies, positions, angles];
  const fine = formats.includes("float32") && !formats.some((format) => format.endsWith("float16"));
  return fine ? FINE : TIES;
}

// The error that each step of a pipeline contributes to a pair's angle, in radians, at a position or over the last
// `step` tokens.
/** @type {(position: number, frequency: number, pipeline: Pipeline, step: number) => Record<string, number>} */
export function errorParts(position, frequency, pipeline, step) {
  const before = step ? position - step : 0;
  const [m, n] = [position, before].map((p) => roundTo(p, pipeline.positions));
  const rate = roundTo(frequency, pipeline.frequencies);
  const [to, from] = [m, n].map((p) => roundTo(p * rate, pipeline.angles));
  return {
    frequencies: Math.abs((rate - frequency) * (m - n)),
    positions: Math.abs(m - n - (position - before)) * frequency,
    angles: Math.abs(to - from - (m - n) * rate),
    cos_sin: roundoff(pipeline.cos_sin) / 2,
  };
}

// Create a function that takes a position m and returns a function of i, the upper bound on pair i's error at m in
// radians, or null if an angle overflows at m. The bound adds the worst cases of all steps and needs no
// trigonometric function.
/** @type {(frequencies: Vector, pipeline: Pipeline, step: number) => (m: number) => ((i: number) => number) | null} */
export function makeErrorBound(frequencies, pipeline, step) {
  const rates = frequencies.map((frequency) => roundTo(frequency, pipeline.frequencies));
  const wrong = rates.map((rate, i) => Math.abs(rate - frequencies[i]));
  const count = step ? 2 : 1; // how often an angle, a cosine and a sine are rounded
  const fixed = count * (Math.SQRT1_2 * roundoff(pipeline.cos_sin) + (SMALLEST[pipeline.angles] ?? 0) / 2);
  return (m) => {
    const to = roundTo(m, pipeline.positions);
    const from = step ? roundTo(m - step, pipeline.positions) : 0;
    if (!Number.isFinite(roundTo(to * rates[0], pipeline.angles))) return null; // the fastest pair overflows first
    const astray = Math.abs(to - from - (step || m));
    const rounding = roundoff(pipeline.angles) * (to + from);
    return (i) => astray * frequencies[i] + Math.abs(to - from) * wrong[i] + rounding * rates[i] + fixed;
  };
}

// The largest error up to each sampled position, [[position, radians], …], until angles overflow. Pairs that cannot
// raise the curve by a tenth, which is about one pixel, are skipped.
/** @type {(frequencies: Vector, pipeline: Pipeline, step: number) => Pair[]} */
export function errorCurve(frequencies, pipeline, step) {
  const boundAt = makeErrorBound(frequencies, pipeline, step);
  const curve = /** @type {Pair[]} */ ([]);
  let most = 0;
  for (const m of positionsFor(pipeline)) {
    const bound = boundAt(m);
    if (!bound) break;
    const examined = SPREAD.has(m) ? frequencies.slice(0, FEW) : frequencies;
    const candidates = most < LOST ? examined.filter((_, i) => bound(i) > 1.1 * most) : [];
    most = Math.max(most, ...angleError(m, candidates, pipeline, step));
    curve.push([m, most]);
  }
  return curve;
}

// Add a position to the curve, so that a marker at this position is never above the line.
/** @type {(curve: Pair[], position: number, error: number) => Pair[]} */
export function withPosition(curve, position, error) {
  if (!(error >= 0)) return curve;
  const [before, after] = [curve.filter(([m]) => m < position), curve.filter(([m]) => m >= position)];
  const most = Math.max(error, before.at(-1)?.[1] ?? 0);
  return [...before, [position, most], ...after.map(([m, value]) => /** @type {Pair} */ ([m, Math.max(most, value)]))];
}
