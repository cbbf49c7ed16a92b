// LayerNorm over many tokens at once, forward and back.

const EPSILON = 1e-5; // of torch's LayerNorm

// LayerNorm of each token; keeps the normed numbers and the scale, which the way back needs.
/** @type {(x: Float64Array, norm: {gain: Float64Array, shift: Float64Array},
 *   kept: {out: Float64Array, normed: Float64Array, scale: Float64Array}, tokens: number) => void} */
export function normAll(x, { gain, shift }, { out, normed, scale }, tokens) {
  const width = gain.length;
  for (let t = 0; t < tokens; t++) {
    const at = t * width;
    let [mean, square] = [0, 0];
    for (let i = 0; i < width; i++) mean += x[at + i];
    mean /= width;
    for (let i = 0; i < width; i++) square += (x[at + i] - mean) * (x[at + i] - mean);
    scale[t] = 1 / Math.sqrt(square / width + EPSILON);
    for (let i = 0; i < width; i++) {
      normed[at + i] = (x[at + i] - mean) * scale[t];
      out[at + i] = normed[at + i] * gain[i] + shift[i];
    }
  }
}

// The way back through LayerNorm: adds to `into` what x gets; sets the gradients of gain and shift.
/** @type {(into: Float64Array, from: Float64Array, gain: Float64Array,
 *   kept: {normed: Float64Array, scale: Float64Array}, slopes: {gain: Float64Array, shift: Float64Array},
 *   tokens: number) => void} */
export function normBack(into, from, gain, { normed, scale }, slopes, tokens) {
  const width = gain.length;
  slopes.gain.fill(0);
  slopes.shift.fill(0);
  for (let t = 0; t < tokens; t++) {
    const at = t * width;
    let [mean, along] = [0, 0];
    for (let i = 0; i < width; i++) {
      const slope = from[at + i];
      slopes.gain[i] += slope * normed[at + i];
      slopes.shift[i] += slope;
      mean += slope * gain[i];
      along += slope * gain[i] * normed[at + i];
    }
    mean /= width;
    along /= width;
    for (let i = 0; i < width; i++) into[at + i] += scale[t] * (from[at + i] * gain[i] - mean - normed[at + i] * along);
  }
}
