// Computes frequencies for texts longer than the trained length, as in rope_edu/encodings/scaling. `factor` is the
// stretch s, the wanted length divided by the trained length.
import { invFreq } from "./frequencies.js";

/** The range of turns over the trained length within which a rule blends, and whether to round the ends of the ramp
 * to whole pairs.
 * @typedef {{betaSlow?: number, betaFast?: number, truncate?: boolean, base?: number}} Ramp */

/** Plain RoPE, without a context extension. @type {(headDim: number, base?: number) => Rotation} */
export const plainRope = (headDim, base = 10000) => rotation(invFreq(headDim, base));

/** PI: divides every pair's θ by s. @type {(headDim: number, factor: number, base?: number) => Rotation} */
export function positionInterpolation(headDim, factor, base = 10000) {
  return rotation(invFreq(headDim, base).map((frequency) => frequency / factor));
}

/** ABF: plain RoPE with a larger base. @type {(headDim: number, base?: number) => Rotation} */
export const abf = (headDim, base = 500000) => plainRope(headDim, base);

// NTK-aware: changes the base such that the first frequency is unchanged and the last is divided by s; headDim must
// be at least 4.
/** @type {(headDim: number, factor: number, base?: number) => Rotation} */
export function ntkAware(headDim, factor, base = 10000) {
  const last = headDim / 2 - 1;
  return rotation(invFreq(headDim, base).map((frequency, i) => frequency * factor ** (-i / last)));
}

// Dynamic NTK: NTK-aware with s = f·length/L − (f − 1) for the current length, or plain RoPE up to L; headDim must
// be at least 4.
/** @type {(headDim: number, trainedLength: number, length: number, factor?: number, base?: number) => Rotation} */
export function dynamicNtk(headDim, trainedLength, length, factor = 1, base = 10000) {
  const longest = Math.max(length, trainedLength);
  return ntkAware(headDim, (factor * longest) / trainedLength - (factor - 1), base);
}

// NTK-by-parts with the paper's ramp: pairs that turn at least betaFast times keep θ, and pairs that turn at most
// betaSlow times get θ/s.
/** @type {(headDim: number, factor: number, trainedLength: number, ramp?: Ramp) => Rotation} */
export function ntkByParts(headDim, factor, trainedLength, { betaSlow = 1, betaFast = 32, base = 10000 } = {}) {
  const frequencies = invFreq(headDim, base);
  return rotation(blend(frequencies, factor, keptByTurns(frequencies, trainedLength, betaSlow, betaFast)));
}

// Llama 3.1's rule: NTK-by-parts between lowFreqFactor and highFreqFactor turns.
/** @type {(headDim: number, factor: number, trainedLength: number,
 *   settings?: {lowFreqFactor?: number, highFreqFactor?: number, base?: number}) => Rotation} */
export const llama3 = (headDim, factor, trainedLength, { lowFreqFactor = 1, highFreqFactor = 4, base = 500000 } = {}) =>
  ntkByParts(headDim, factor, trainedLength, { betaSlow: lowFreqFactor, betaFast: highFreqFactor, base });

// YaRN: NTK-by-parts with an attention factor, and with the ramp of the code ("index") or of the paper ("turns").
// Python rejects settings that produce a decreasing ramp, for which `rampEnds` returns low > high.
/** @type {(headDim: number, factor: number, trainedLength: number,
 *   settings?: Ramp & {ramp?: string, mscale?: number, mscaleAllDim?: number, attentionFactor?: number}) => Rotation} */
export function yarn(headDim, factor, trainedLength, settings = {}) {
  const { ramp = "index", betaFast = 32, betaSlow = 1, truncate = true, base = 10000 } = settings;
  const { mscale = 1, mscaleAllDim = 0 } = settings;
  const frequencies = invFreq(headDim, base);
  const kept =
    ramp === "turns"
      ? keptByTurns(frequencies, trainedLength, betaSlow, betaFast)
      : keptByIndex(headDim / 2, rampEnds(headDim, trainedLength, { betaFast, betaSlow, truncate, base }));
  const usual = yarnMscale(factor, mscale) / yarnMscale(factor, mscaleAllDim);
  return rotation(blend(frequencies, factor, kept), settings.attentionFactor ?? usual);
}

// LongRoPE: divides the frequencies by one list of factors up to the trained length and by a second list for longer
// texts, with a = √(1 + ln s / ln L).
/** @type {(headDim: number, factor: number, trainedLength: number, settings: {length: number, shortFactor: Vector,
 *   longFactor: Vector, attentionFactor?: number, base?: number}) => Rotation} */
export function longrope(headDim, factor, trainedLength, settings) {
  const { length, shortFactor, longFactor, base = 10000 } = settings;
  const divisors = length > trainedLength ? longFactor : shortFactor;
  const usual = Math.sqrt(1 + Math.log(factor) / Math.log(trainedLength));
  const frequencies = invFreq(headDim, base).map((frequency, i) => frequency / divisors[i]);
  return rotation(frequencies, settings.attentionFactor ?? usual);
}

// The factor on cos and sin, 0.1·mscale·ln s + 1. Scores grow by its square.
/** @type {(factor: number, mscale?: number) => number} */
export const yarnMscale = (factor, mscale = 1) => 0.1 * mscale * Math.log(factor) + 1;

// γ, the share of θ that each pair keeps, increasing with the pair's turns in the trained length; a step function
// if slow = fast.
/** @type {(frequencies: Vector, trainedLength: number, slow: number, fast: number) => number[]} */
export function keptByTurns(frequencies, trainedLength, slow, fast) {
  return frequencies.map((frequency) => {
    const turns = (trainedLength * frequency) / (2 * Math.PI);
    return slow === fast ? Number(turns >= slow) : clip((turns - slow) / (fast - slow));
  });
}

// γ for each pair, decreasing linearly with the pair's index between the ends of the ramp.
export function keptByIndex(/** @type {number} */ pairs, /** @type {Pair} */ [low, high]) {
  const width = high - low || 0.001; // as in the released code: a step function if low = high
  return Array.from({ length: pairs }, (_, i) => 1 - clip((i - low) / width));
}

// [low, high]: the pair indices between which YaRN's code blends.
/** @type {(headDim: number, trainedLength: number, ramp?: Ramp) => Pair} */
export function rampEnds(headDim, trainedLength, ramp = {}) {
  const { betaFast = 32, betaSlow = 1, truncate = true, base = 10000 } = ramp;
  const [low, high] = [betaFast, betaSlow].map(
    (turns) => (headDim * Math.log(trainedLength / (turns * 2 * Math.PI))) / (2 * Math.log(base)),
  );
  const [first, last] = truncate ? [Math.floor(low), Math.ceil(high)] : [low, high];
  return [Math.max(first, 0), Math.min(last, headDim - 1)];
}

/** @type {(frequencies: Vector, factor: number, kept: Vector) => Vector} */
const blend = (frequencies, factor, kept) => frequencies.map((f, i) => ((1 - kept[i]) * f) / factor + kept[i] * f);

/** @param {number} share */
const clip = (share) => Math.min(1, Math.max(0, share));

/** @type {(frequencies: Vector, attentionFactor?: number) => Rotation} */
const rotation = (frequencies, attentionFactor = 1) => ({ invFreq: frequencies, attentionFactor });
