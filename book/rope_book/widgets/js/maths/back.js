// Implements the backward pass through a block of the tiny transformer by hand.
import { turnAll } from "./attend.js";
import { dotAt, linearBack } from "./layers.js";

/** @import { Shape } from "./attend.js" */
/** @import { Workspace } from "./block.js" */

// Backpropagate through a block. `into` contains the gradient of the block's output and is overwritten with the
// gradient of the block's input; `from` is scratch space.
/** @type {(space: Workspace, name: string, into: Float64Array, from: Float64Array, biasGradient?: Float64Array) => void} */
export function blockBack(space, name, into, from, biasGradient) {
  const { tokens, shape } = space;
  const stored = (/** @type {string} */ of) => space.room(`${name}.${of}`, 0);
  const layer = (/** @type {string} */ of) => space.layer(`${name}.${of}`);
  const gradients = (/** @type {string} */ of) => space.gradients(`${name}.${of}`);
  const [first, second] = ["norm_1", "norm_2"].map((norm) => space.normed(`${name}.${norm}`));
  /** @type {(of: string, x: Float64Array, out: Float64Array, back: Float64Array) => void} */
  const linear = (of, x, out, back) => linearBack(back, out, x, layer(of), gradients(of), tokens);
  const up = space.room("up", 0);
  linear("mlp.2", stored("active"), into, up);
  const slope = stored("slope");
  for (let i = 0; i < up.length; i++) up[i] *= slope[i];
  linear("mlp.0", second.out, up, from);
  normBack(into, from, layer("norm_2"), second, gradients("norm_2"), tokens);
  linear("attention.w_o", stored("mixed"), into, from);
  const wide = space.room("wide", 3 * space.width);
  attendBack(wide, from, { qkv: stored("qkv"), weights: stored("weights"), biasGradient }, shape);
  turnAll(wide, space.doors, shape, -1);
  linear("attention.w_qkv", first.out, wide, from);
  normBack(into, from, layer("norm_1"), first, gradients("norm_1"), tokens);
}

// Backpropagate through attention, from the mixed values to the queries, keys, values and bias.
/** @type {(into: Float64Array, from: Float64Array,
 *   stored: {qkv: Float64Array, weights: Float64Array, biasGradient?: Float64Array}, shape: Shape) => void} */
export function attendBack(into, from, { qkv, weights, biasGradient }, { rows, seq, heads, wide }) {
  const width = heads * wide;
  const root = 1 / Math.sqrt(wide);
  const gradients = new Float64Array(seq);
  into.fill(0);
  for (let n = 0; n < rows * heads; n++) {
    const [first, head] = [Math.floor(n / heads) * seq, n % heads];
    for (let i = 0; i < seq; i++) {
      const at = (n * seq + i) * seq;
      const [query, out] = [(first + i) * 3 * width + head * wide, (first + i) * width + head * wide];
      let mean = 0;
      for (let j = 0; j <= i; j++) {
        const value = (first + j) * 3 * width + 2 * width + head * wide;
        const weight = weights[at + j];
        gradients[j] = dotAt(from, out, qkv, value, wide);
        mean += weight * gradients[j];
        for (let f = 0; f < wide; f++) into[value + f] += weight * from[out + f];
      }
      for (let j = 0; j <= i; j++) {
        const slope = weights[at + j] * (gradients[j] - mean);
        if (biasGradient) biasGradient[head * seq + i - j] += slope;
        const [key, part] = [(first + j) * 3 * width + width + head * wide, root * slope];
        for (let f = 0; f < wide; f++) {
          into[query + f] += part * qkv[key + f];
          into[key + f] += part * qkv[query + f];
        }
      }
    }
  }
}

// Backpropagate through LayerNorm: adds the gradient of x to `into`, and sets the gradients of weight and bias.
/** @type {(into: Float64Array, from: Float64Array, layer: {weight: Float64Array},
 *   stored: {normed: Float64Array, scale: Float64Array}, gradients: {weight: Float64Array, bias: Float64Array},
 *   tokens: number) => void} */
export function normBack(into, from, { weight }, { normed, scale }, gradients, tokens) {
  const width = weight.length;
  gradients.weight.fill(0);
  gradients.bias.fill(0);
  for (let t = 0; t < tokens; t++) {
    const at = t * width;
    let [mean, along] = [0, 0];
    for (let i = 0; i < width; i++) {
      const slope = from[at + i];
      gradients.weight[i] += slope * normed[at + i];
      gradients.bias[i] += slope;
      mean += slope * weight[i];
      along += slope * weight[i] * normed[at + i];
    }
    mean /= width;
    along /= width;
    for (let i = 0; i < width; i++)
      into[at + i] += scale[t] * (from[at + i] * weight[i] - mean - normed[at + i] * along);
  }
}
