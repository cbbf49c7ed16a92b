// Layers of a transformer on typed arrays: the same as torch.nn.functional's in float64.

/** A matrix row by row, or a vector as one row. @typedef {{columns: number, values: Float64Array}} Weight */
/** @typedef {{gain: Weight, shift: Weight}} Norm */

const EPSILON = 1e-5; // of torch's LayerNorm

// Φ(x), the share of a standard normal below x: ½ + φ(x)·(x + x³/3 + x⁵/(3·5) + …), Marsaglia 2004.
export function normalBelow(/** @type {number} */ x) {
  if (Math.abs(x) > 9) return x > 0 ? 1 : 0;
  let [term, sum] = [x, x];
  for (let odd = 3; sum + term !== sum; odd += 2) {
    term *= (x * x) / odd;
    sum += term;
  }
  return 0.5 + (sum * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
}

/** GELU: x·Φ(x). @type {(x: number) => number} */
export const gelu = (x) => x * normalBelow(x);

/** x less its mean, over its spread, times gain plus shift. @type {(x: Float64Array, norm: Norm) => Float64Array} */
export function layerNorm(x, { gain, shift }) {
  const width = x.length;
  let [mean, square] = [0, 0];
  for (let i = 0; i < width; i++) mean += x[i] / width;
  for (let i = 0; i < width; i++) square += (x[i] - mean) ** 2 / width;
  const scale = 1 / Math.sqrt(square + EPSILON);
  return x.map((value, i) => (value - mean) * scale * gain.values[i] + shift.values[i]);
}

// Σ a[i + k]·b[j + k] over `count` numbers; in two sums, which a processor adds side by side.
/** @type {(a: ArrayLike<number>, i: number, b: ArrayLike<number>, j: number, count: number) => number} */
export function dotAt(a, i, b, j, count) {
  let [even, odd] = [0, 0];
  const end = i + count - 1;
  for (; i < end; i += 2, j += 2) {
    even += a[i] * b[j];
    odd += a[i + 1] * b[j + 1];
  }
  return i === end ? even + odd + a[i] * b[j] : even + odd;
}

/** Matrix times column, plus a bias. @type {(weight: Weight, x: ArrayLike<number>, bias?: Weight) => Float64Array} */
export function linear({ columns, values }, x, bias) {
  const out = new Float64Array(values.length / columns);
  for (let row = 0; row < out.length; row++) {
    out[row] = dotAt(values, row * columns, x, 0, columns) + (bias ? bias.values[row] : 0);
  }
  return out;
}

// Softmax of the first `count` scores, in place.
/** @template {Vector | Float64Array} Scores @param {Scores} scores @param {number} [count] */
export function shares(scores, count = scores.length) {
  let [top, sum] = [-Infinity, 0];
  for (let i = 0; i < count; i++) if (scores[i] > top) top = scores[i];
  for (let i = 0; i < count; i++) sum += scores[i] = Math.exp(scores[i] - top);
  for (let i = 0; i < count; i++) scores[i] /= sum;
  return scores;
}
