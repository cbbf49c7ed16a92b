// Computes angles at low precision; mirrors doctor/rope_doctor/precision.py.
import { PRECISION } from "../data/precision.js";

const SINGLE = new Float32Array(1);
const SINGLE_BITS = new Uint32Array(SINGLE.buffer);

// Round to the nearest bfloat16, half to even, by adding just under half of the last remaining bit to the float32
// and truncating.
function toBfloat16(/** @type {number} */ x) {
  SINGLE[0] = x;
  if (!Number.isFinite(SINGLE[0])) return SINGLE[0];
  SINGLE_BITS[0] = (SINGLE_BITS[0] + 0x7fff + ((SINGLE_BITS[0] >>> 16) & 1)) & 0xffff0000;
  return SINGLE[0];
}

// Round to the nearest float16 via float32, half to even. Adding 2⁵² times the float16's last bit rounds a float64
// to a multiple of that bit.
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

// Round x, half to even, to a format: float64, float32, bfloat16 or float16.
export const roundTo = (/** @type {number} */ x, /** @type {string} */ numberFormat) => ROUND[numberFormat](x);

/** @type {Record<string, number>} */
const BITS = PRECISION.significandBits;

/**
 * Named pipelines, with the number format of each step from position to rotation.
 * @type {Record<string, Pipeline>}
 */
export const PIPELINES = PRECISION.pipelines;

/** The steps of a pipeline, in order. */
export const STEPS = /** @type {const} */ (["frequencies", "positions", "angles", "cos_sin"]);

// The unit roundoff of a format: half a unit in the last place, relative to the number.
export const roundoff = (/** @type {string} */ numberFormat) => 2 ** -BITS[numberFormat];

// The rotation [cos, sin] of each pair at one position as computed by a pipeline, with NaN on overflow.
/** @type {(position: number, frequencies: Vector, pipeline: Pipeline) => Pair[]} */
export function pipelineCosSin(position, frequencies, pipeline) {
  const [rate, angle, turn] = [ROUND[pipeline.frequencies], ROUND[pipeline.angles], ROUND[pipeline.cos_sin]];
  const m = ROUND[pipeline.positions](position);
  return frequencies.map((frequency) => {
    const rounded = angle(m * rate(frequency));
    return [turn(Math.cos(rounded)), turn(Math.sin(rounded))];
  });
}

// Each pair's error in radians: the error of its angle or, if `step` is positive, of its rotation relative to the
// token `step` positions earlier.
/** @type {(position: number, frequencies: Vector, pipeline: Pipeline, step: number) => number[]} */
export function angleError(position, frequencies, pipeline, step) {
  const [rate, angle, turn] = [ROUND[pipeline.frequencies], ROUND[pipeline.angles], ROUND[pipeline.cos_sin]];
  const [m, n] = [position, position - step].map(ROUND[pipeline.positions]);
  return frequencies.map((frequency) => {
    const rounded = rate(frequency);
    const to = angle(m * rounded);
    let re = turn(Math.cos(to));
    let im = turn(Math.sin(to));
    if (step > 0) {
      const from = angle(n * rounded);
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
