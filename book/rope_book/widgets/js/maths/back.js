// The way back through a block of the tiny transformer, by hand.
import { turnAll } from "./attend.js";
import { dotAt, linearBack } from "./layers.js";

/** @import { Shape } from "./attend.js" */
/** @import { Kept } from "./block.js" */

// The way back through a block: `into` holds the slopes of what leaves it, and then of what enters it.
/** @type {(kept: Kept, name: string, into: Float64Array, from: Float64Array, biasSlope?: Float64Array) => void} */
export function blockBack(kept, name, into, from, biasSlope) {
  const { tokens, shape } = kept;
  const left = (/** @type {string} */ of) => kept.room(`${name}.${of}`, 0);
  const layer = (/** @type {string} */ of) => kept.layer(`${name}.${of}`);
  const slopes = (/** @type {string} */ of) => kept.slopes(`${name}.${of}`);
  const [first, second] = ["norm_1", "norm_2"].map((norm) => kept.normed(`${name}.${norm}`));
  /** @type {(of: string, x: Float64Array, out: Float64Array, back: Float64Array) => void} */
  const linear = (of, x, out, back) => linearBack(back, out, x, layer(of), slopes(of), tokens);
  const up = kept.room("up", 0);
  linear("mlp.2", left("active"), into, up);
  const bend = left("slope");
  for (let i = 0; i < up.length; i++) up[i] *= bend[i];
  linear("mlp.0", second.out, up, from);
  normBack(into, from, layer("norm_2"), second, slopes("norm_2"), tokens);
  linear("attention.w_o", left("mixed"), into, from);
  const wide = kept.room("wide", 3 * kept.width);
  attendBack(wide, from, { qkv: left("qkv"), weights: left("weights"), biasSlope }, shape);
  turnAll(wide, kept.doors, shape, -1);
  linear("attention.w_qkv", first.out, wide, from);
  normBack(into, from, layer("norm_1"), first, slopes("norm_1"), tokens);
}

// The way back: from the slopes of the mixed values to those of queries, keys and values, and of the bias.
/** @type {(into: Float64Array, from: Float64Array,
 *   kept: {qkv: Float64Array, weights: Float64Array, biasSlope?: Float64Array}, shape: Shape) => void} */
export function attendBack(into, from, { qkv, weights, biasSlope }, { rows, seq, heads, wide }) {
  const width = heads * wide;
  const root = 1 / Math.sqrt(wide);
  const slopes = new Float64Array(seq);
  into.fill(0);
  for (let each = 0; each < rows * heads; each++) {
    const [first, head] = [Math.floor(each / heads) * seq, each % heads];
    for (let i = 0; i < seq; i++) {
      const at = (each * seq + i) * seq;
      const [query, out] = [(first + i) * 3 * width + head * wide, (first + i) * width + head * wide];
      let mean = 0;
      for (let j = 0; j <= i; j++) {
        const value = (first + j) * 3 * width + 2 * width + head * wide;
        const weight = weights[at + j];
        slopes[j] = dotAt(from, out, qkv, value, wide);
        mean += weight * slopes[j];
        for (let f = 0; f < wide; f++) into[value + f] += weight * from[out + f];
      }
      for (let j = 0; j <= i; j++) {
        const slope = weights[at + j] * (slopes[j] - mean);
        if (biasSlope) biasSlope[head * seq + i - j] += slope;
        const [key, part] = [(first + j) * 3 * width + width + head * wide, root * slope];
        for (let f = 0; f < wide; f++) {
          into[query + f] += part * qkv[key + f];
          into[key + f] += part * qkv[query + f];
        }
      }
    }
  }
}

// The way back through LayerNorm: adds to `into` what x gets; sets the gradients of weight and bias.
/** @type {(into: Float64Array, from: Float64Array, layer: {weight: Float64Array},
 *   kept: {normed: Float64Array, scale: Float64Array}, slopes: {weight: Float64Array, bias: Float64Array},
 *   tokens: number) => void} */
export function normBack(into, from, { weight }, { normed, scale }, slopes, tokens) {
  const width = weight.length;
  slopes.weight.fill(0);
  slopes.bias.fill(0);
  for (let t = 0; t < tokens; t++) {
    const at = t * width;
    let [mean, along] = [0, 0];
    for (let i = 0; i < width; i++) {
      const slope = from[at + i];
      slopes.weight[i] += slope * normed[at + i];
      slopes.bias[i] += slope;
      mean += slope * weight[i];
      along += slope * weight[i] * normed[at + i];
    }
    mean /= width;
    along /= width;
    for (let i = 0; i < width; i++)
      into[at + i] += scale[t] * (from[at + i] * weight[i] - mean - normed[at + i] * along);
  }
}
