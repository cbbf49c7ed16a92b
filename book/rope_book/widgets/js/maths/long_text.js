// Runs a trained model on a text longer than its training texts; mirrors book/rope_book/widgets/maths/long_text.py.
import { TURN } from "./frequencies.js";
import * as scaling from "./scaling.js";

// The rotation for the figure's settings, as in book/rope_book/widgets/maths/long_text.py.
/** @type {(rule: string, length: number, headDim: number, base: number, settings: State) => Rotation} */
export function pageRope(rule, length, headDim, base, settings) {
  const { times, factor, ramp_from: slow, ramp_to: fast, first_pair: first, last_pair: last } = settings;
  const ramp = { betaSlow: slow, betaFast: fast, base };
  /** @type {Record<string, () => Rotation>} */
  const rules = {
    none: () => scaling.plainRope(headDim, base),
    pi: () => scaling.positionInterpolation(headDim, factor, base),
    "ntk-aware": () => scaling.ntkAware(headDim, factor, base),
    "dynamic-ntk": () => scaling.dynamicNtk(headDim, length, times * length, 1, base),
    "by-parts": () => scaling.ntkByParts(headDim, factor, length, ramp),
    yarn: () => scaling.yarn(headDim, factor, length, { ...ramp, ramp: "turns" }),
    llama3: () => scaling.llama3(headDim, factor, length, { lowFreqFactor: slow, highFreqFactor: fast, base }),
    abf: () => scaling.plainRope(headDim, settings.base),
  };
  const spec = rules[rule]();
  return {
    invFreq: spec.invFreq.map((frequency, i) => (first <= i + 1 && i + 1 <= last ? frequency : 0)),
    attentionFactor: spec.attentionFactor * settings.attention_factor,
  };
}

// The number of turns that each pair makes within `places` positions, capped at one.
export function turnsWithin(/** @type {Vector} */ frequencies, /** @type {number} */ places) {
  return frequencies.map((frequency) => Math.min(1, (frequency * (places - 1)) / TURN));
}

/** The number of positions per bar, such that there are at most 17 bars. @type {(length: number, times: number) => number} */
export function binSize(length, times) {
  let size = Math.floor(length / 8);
  while ((times * length) / size > 16) size *= 2;
  return size;
}

// The mean of each block of `size` columns over all rows. NaN values are ignored, and a block that contains nothing
// else has the mean NaN.
export function means(/** @type {ArrayLike<number>[]} */ rows, /** @type {number} */ size) {
  const bars = Math.ceil(rows[0].length / size);
  const [sums, counts] = [new Float64Array(bars), new Float64Array(bars)];
  for (const row of rows) {
    for (let place = 0; place < row.length; place++) {
      if (Number.isNaN(row[place])) continue;
      sums[Math.floor(place / size)] += row[place];
      counts[Math.floor(place / size)] += 1;
    }
  }
  return Array.from(sums, (sum, i) => sum / counts[i]);
}

/** The loss −log softmax at the answer, in nats. @type {(logits: ArrayLike<number>, answer: number) => number} */
export function lossOf(logits, answer) {
  const all = Array.from(logits);
  const top = Math.max(...all);
  let sum = 0;
  for (const logit of all) sum += Math.exp(logit - top);
  return Math.log(sum) + top - logits[answer];
}

/** The token with the largest logit. @type {(logits: ArrayLike<number>) => number} */
export function likeliest(logits) {
  let best = 0;
  for (let i = 1; i < logits.length; i++) if (logits[i] > logits[best]) best = i;
  return best;
}
