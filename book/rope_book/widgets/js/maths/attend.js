// Computes causal attention over a batch of texts, with optional rotations and a bias per distance.
import { dotAt } from "./layers.js";
import { steadyExp } from "./steady.js";

/** Batch dimensions: texts, positions per text, heads, features per head. Each token's query, key and value are stored in that order. @typedef {{rows: number, seq: number, heads: number, wide: number}} Shape */
/** What an encoding contributes to attention: cosines and sines per position and pair, and a bias per head and distance. @typedef {{cos?: Float64Array, sin?: Float64Array, bias?: Float64Array}} Doors */

// Rotate queries and keys in place, pairing features i and i + half of each head; `sense` = −1 inverts the
// rotation.
/** @type {(qkv: Float64Array, doors: Doors, shape: Shape, sense: 1 | -1) => void} */
export function turnAll(qkv, { cos, sin }, { rows, seq, heads, wide }, sense) {
  if (!cos || !sin) return;
  const half = wide / 2;
  for (let row = 0; row < rows; row++) {
    for (let place = 0; place < seq; place++) {
      const token = (row * seq + place) * 3 * heads * wide;
      for (let part = 0; part < 2 * heads; part++) {
        for (let i = 0; i < half; i++) {
          const at = token + part * wide + i;
          const c = cos[place * half + i];
          const s = sense * sin[place * half + i];
          const a = qkv[at];
          const b = qkv[at + half];
          qkv[at] = a * c - b * s;
          qkv[at + half] = a * s + b * c;
        }
      }
    }
  }
}

// Attend from one query of a head to all keys up to the query's position. Writes the weights to `weights` and adds
// the weighted values to `mixed`.
/** @type {(qkv: Float64Array, place: number, head: number, weights: Float64Array, mixed: Float64Array,
 *   shape: {heads: number, wide: number}, bias?: Float64Array) => void} */
export function attendOne(qkv, place, head, weights, mixed, { heads, wide }, bias) {
  const step = 3 * heads * wide;
  const first = head * wide;
  const root = 1 / Math.sqrt(wide);
  const query = place * step + first;
  const key = heads * wide + first;
  const value = 2 * heads * wide + first;
  let top = -Infinity;
  for (let j = 0; j <= place; j++) {
    let score = root * dotAt(qkv, query, qkv, j * step + key, wide);
    if (bias) score += bias[place - j];
    weights[j] = score;
    if (score > top) top = score;
  }
  let sum = 0;
  for (let j = 0; j <= place; j++) {
    weights[j] = steadyExp(weights[j] - top);
    sum += weights[j];
  }
  for (let j = 0; j <= place; j++) {
    weights[j] /= sum;
    const weight = weights[j];
    const at = j * step + value;
    for (let f = 0; f < wide; f++) mixed[first + f] += weight * qkv[at + f];
  }
}

// Compute attention for all heads. Writes `weights`, indexed by text, head, query and key, and each token's weighted
// values to `mixed`.
/** @type {(qkv: Float64Array, weights: Float64Array, mixed: Float64Array, doors: Doors, shape: Shape) => void} */
export function attendAll(qkv, weights, mixed, { bias }, shape) {
  const { rows, seq, heads, wide } = shape;
  const width = heads * wide;
  mixed.fill(0);
  for (let n = 0; n < rows * heads; n++) {
    const [first, head] = [Math.floor(n / heads) * seq, n % heads];
    const [text, biases] = [qkv.subarray(first * 3 * width), bias?.subarray(head * seq)];
    for (let i = 0; i < seq; i++) {
      const [row, token] = [weights.subarray((n * seq + i) * seq), mixed.subarray((first + i) * width)];
      attendOne(text, i, head, row, token, shape, biases);
    }
  }
}
