// LayerNorm over many tokens at once, forward and back.

const EPSILON = 1e-5; // of torch's LayerNorm

// LayerNorm of each token; keeps the normed numbers and the scale, which the way back needs.
/** @type {(x: Float64Array, norm: {weight: Float64Array, bias: Float64Array},
 *   kept: {out: Float64Array, normed: Float64Array, scale: Float64Array}, tokens: number) => void} */
export function normAll(x, { weight, bias }, { out, normed, scale }, tokens) {
  const width = weight.length;
  for (let t = 0; t < tokens; t++) {
    const at = t * width;
    let [mean, square] = [0, 0];
    for (let i = 0; i < width; i++) mean += x[at + i];
    mean /= width;
    for (let i = 0; i < width; i++) square += (x[at + i] - mean) * (x[at + i] - mean);
    scale[t] = 1 / Math.sqrt(square / width + EPSILON);
    for (let i = 0; i < width; i++) {
      normed[at + i] = (x[at + i] - mean) * scale[t];
      out[at + i] = normed[at + i] * weight[i] + bias[i];
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
    for (let i = 0; i < width; i++) into[at + i] += scale[t] * (from[at + i] * weight[i] - mean - normed[at + i] * along);
  }
}
