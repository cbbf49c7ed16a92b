// What few bits leave of an angle: the same as doctor/rope_doctor/precision.py.
import { PRECISION } from "../data/precision.js";

const SINGLE = new Float32Array(1);
const SINGLE_BITS = new Uint32Array(SINGLE.buffer);

// The nearest float32 whose significand has 8 bits, ties to even: add just under half of the last bit kept, and cut.
function toBfloat16(/** @type {number} */ x) {
  SINGLE[0] = x;
  if (!Number.isFinite(SINGLE[0])) return SINGLE[0];
  SINGLE_BITS[0] = (SINGLE_BITS[0] + 0x7fff + ((SINGLE_BITS[0] >>> 16) & 1)) & 0xffff0000;
  return SINGLE[0];
}

// By way of float32 the nearest float16, ties to even: beside 2⁵² of its last bits a float64 holds no fraction of one.
function toFloat16(/** @type {number} */ x) {
  SINGLE[0] = x;
  const value = SINGLE[0];
  if (!(Math.abs(value) < 65520)) return Number.isNaN(value) ? NaN : Math.sign(value) * Infinity;
  const exponent = Math.max(((SINGLE_BITS[0] >>> 23) & 0xff) - 127, -14);
  const large = 2 ** (exponent - 10 + 52);
  const size = Math.abs(value) + large - large;
  return value < 0 || Object.is(value, -0) ? -size : size;
}

/** @type {Record<string, (x: number) => number>} */
const ROUND = { float64: (x) => x, float32: Math.fround, bfloat16: toBfloat16, float16: toFloat16 };

// The number of a format (float64, float32, bfloat16, float16) nearest to x, ties to even.
export const roundTo = (/** @type {number} */ x, /** @type {string} */ numberFormat) => ROUND[numberFormat](x);

/** @type {Record<string, number>} */
const BITS = PRECISION.significandBits;

/** Named pipelines: the format in which each step from position to turn is kept. @type {Record<string, Pipeline>} */
export const PIPELINES = PRECISION.pipelines;

/** The steps of a pipeline, in their order. */
export const STEPS = /** @type {const} */ (["frequencies", "positions", "angles", "cos_sin"]);

// Half the last bit of a number, as a share of it: what rounding to a format can change.
export const roundoff = (/** @type {string} */ numberFormat) => 2 ** -BITS[numberFormat];

// The turn [cos, sin] of every pair at one position, as a pipeline keeps it; NaN where it has no number.
/** @type {(position: number, frequencies: Vector, pipeline: Pipeline) => Pair[]} */
export function pipelineCosSin(position, frequencies, pipeline) {
  const [rate, angle, turn] = [ROUND[pipeline.frequencies], ROUND[pipeline.angles], ROUND[pipeline.cos_sin]];
  const m = ROUND[pipeline.positions](position);
  return frequencies.map((frequency) => {
    const kept = angle(m * rate(frequency));
    return [turn(Math.cos(kept)), turn(Math.sin(kept))];
  });
}

// By how many radians each pair is off: its angle, or with a step k > 0 its turn from the token k before.
/** @type {(position: number, frequencies: Vector, pipeline: Pipeline, step?: number) => number[]} */
export function angleError(position, frequencies, pipeline, step = 0) {
  const [rate, angle, turn] = [ROUND[pipeline.frequencies], ROUND[pipeline.angles], ROUND[pipeline.cos_sin]];
  const [m, n] = [position, position - step].map(ROUND[pipeline.positions]);
  return frequencies.map((frequency) => {
    const kept = rate(frequency);
    const to = angle(m * kept);
    let re = turn(Math.cos(to));
    let im = turn(Math.sin(to));
    if (step > 0) {
      const from = angle(n * kept);
      const a = turn(Math.cos(from));
      const b = turn(Math.sin(from));
      const turned = re * a + im * b;
      im = im * a - re * b;
      re = turned;
    }
    const exact = (step || position) * frequency;
    const cos = Math.cos(exact);
    const sin = Math.sin(exact);
    return Math.abs(Math.atan2(im * cos - re * sin, re * cos + im * sin));
  });
}
