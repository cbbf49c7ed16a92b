// The rules as a config states them: the same as the second half of rope_edu/config/rotation.py. Each gives the name of
// the rule in rope_edu.encodings, its arguments and settings as there, and the rotation itself.
import { checked, missing, refuse, said, same } from "./config_values.js";
import { invFreq } from "./frequencies.js";
import * as scaling from "./scaling.js";

const [LONGEST, ORIGINAL] = ["max_position_embeddings", "original_max_position_embeddings"];

/** @type {Record<string, (at: Source, widths: Widths) => Rule>} */
export const RULE_OF = { default: plain, linear, dynamic, ntk_alpha: ntkAlpha, yarn, llama3, longrope, proportional };

/** @type {(at: Source, widths: Widths) => Rule} */
function plain(at, { headDim, rotaryDim }) {
  const rotation = scaling.plainRope(rotaryDim, at.base);
  if (headDim === rotaryDim) return { rule: "plain_rope", kind: "rope", given: [headDim], settings: {}, rotation };
  return { rule: "partial_rope", kind: "partial", given: [headDim, rotaryDim], settings: {}, rotation };
}

/** @type {(at: Source, widths: Widths) => Rule} */
function linear(at, { headDim, rotaryDim }) {
  const factor = at.part.need("factor");
  at.factor = factor;
  const rotation = scaling.positionInterpolation(rotaryDim, factor, at.base);
  return { rule: "position_interpolation", kind: "pi", given: [headDim, factor], settings: {}, rotation };
}

/** @type {(at: Source, widths: Widths) => Rule} */
function dynamic(at, { headDim, rotaryDim }) {
  const [factor, trained] = [at.part.need("factor"), at.body.one(LONGEST)];
  if (trained === null) throw missing(at.body.path(LONGEST), LONGEST);
  Object.assign(at, { factor, trained });
  at.notes.add("depends on length");
  const length = at.seqLen ?? trained;
  const rotation = scaling.dynamicNtk(rotaryDim, length, trained, factor, at.base);
  const given = [headDim, length, trained];
  return { rule: "dynamic_ntk", kind: "dynamic-ntk", given, settings: { factor }, rotation };
}

/** @type {(at: Source, widths: Widths) => Rule} */
function ntkAlpha(at, { headDim, rotaryDim }) {
  const factor = at.part.need("alpha");
  at.factor = factor;
  const rotation = scaling.ntkAware(rotaryDim, factor, at.base);
  return { rule: "ntk_aware", kind: "ntk-aware", given: [headDim, factor], settings: {}, rotation };
}

/** @type {(at: Source, widths: Widths) => Rule} */
function yarn(at, { headDim, rotaryDim }) {
  const [factor, trained] = stretch(at);
  const ramp = {
    betaFast: at.part.get("beta_fast", 32),
    betaSlow: at.part.get("beta_slow", 1),
    truncate: at.part.get("truncate", true),
  };
  ordered(at, "beta_slow", ramp.betaSlow, "beta_fast", ramp.betaFast);
  const [low, high] = scaling.rampEnds(rotaryDim, trained, { ...ramp, base: at.base });
  if (low > high) throw refuse("ramp", at.part.path(ORIGINAL), { value: trained, base: at.base });
  /** @type {Record<string, any>} */
  const settings = {};
  if (ramp.betaFast !== 32) settings.beta_fast = ramp.betaFast;
  if (ramp.betaSlow !== 1) settings.beta_slow = ramp.betaSlow;
  if (!ramp.truncate) settings.truncate = false;
  Object.assign(settings, mscales(at, factor));
  const { mscale, mscale_all_dim: mscaleAllDim, attention_factor: attentionFactor } = settings;
  const own = { ...ramp, base: at.base, mscale, mscaleAllDim, attentionFactor };
  const rotation = scaling.yarn(rotaryDim, factor, trained, own);
  return { rule: "yarn", kind: "yarn", given: [headDim, factor, trained], settings, rotation };
}

/** @type {(at: Source, factor: number) => Record<string, number>} */
function mscales(at, factor) {
  const stated = at.part.get("attention_factor");
  const [mscale, allDim] = [at.part.get("mscale", 0), at.part.get("mscale_all_dim", 0)];
  if (allDim) {
    const scale = said(Number((scaling.yarnMscale(factor, allDim) ** 2).toFixed(4)));
    at.notes.add("softmax scale", { scale });
  }
  if (stated !== null) return { attention_factor: stated };
  if (Boolean(mscale) !== Boolean(allDim)) at.notes.add("half an mscale");
  /** @type {Record<string, number>} */
  const none = {};
  return mscale && allDim ? { mscale, mscale_all_dim: allDim } : none;
}

/** @type {(at: Source, widths: Widths) => Rule} */
function llama3(at, { headDim, rotaryDim }) {
  at.part.need("factor");
  const [factor, trained] = stretch(at);
  const [low, high] = [at.part.need("low_freq_factor"), at.part.need("high_freq_factor")];
  ordered(at, "low_freq_factor", low, "high_freq_factor", high);
  const own = { lowFreqFactor: low, highFreqFactor: high, base: at.base };
  const rotation = scaling.llama3(rotaryDim, factor, trained, own);
  const settings = { low_freq_factor: low, high_freq_factor: high };
  return { rule: "llama3", kind: "llama3", given: [headDim, factor, trained], settings, rotation };
}

/** @type {(at: Source, widths: Widths) => Rule} */
function longrope(at, { headDim, rotaryDim }) {
  const lists = ["short_factor", "long_factor"].map((name) => at.part.need(name));
  ["short_factor", "long_factor"].forEach((name, i) => {
    const words = { pairs: rotaryDim / 2, value: lists[i].length };
    if (lists[i].length !== rotaryDim / 2) throw refuse("wrong length", at.part.path(name), words);
  });
  const [factor, trained] = stretch(at);
  if (trained < 2) throw refuse("too short", at.part.path(ORIGINAL), { value: trained });
  at.notes.add("depends on length");
  const length = at.seqLen ?? 1;
  const stated = statedGrowth(at, length, trained);
  const [shortFactor, longFactor] = lists;
  const own = { length, shortFactor, longFactor, base: at.base, attentionFactor: stated ?? undefined };
  const rotation = scaling.longrope(rotaryDim, factor, trained, own);
  /** @type {Record<string, any>} */
  const settings = { length, short_factor: shortFactor, long_factor: longFactor };
  if (stated !== null) settings.attention_factor = stated;
  return { rule: "longrope", kind: "longrope", given: [headDim, factor, trained], settings, rotation };
}

/** @type {(at: Source, length: number, trained: number) => number | null} */
function statedGrowth(at, length, trained) {
  const [short, long] = [at.part.get("short_mscale"), at.part.get("long_mscale")];
  if ((short === null) !== (long === null)) {
    const lacking = short === null ? "short_mscale" : "long_mscale";
    throw missing(at.part.path(lacking), lacking);
  }
  if (short === null) return at.part.get("attention_factor");
  return length > trained ? long : short;
}

/** @type {(at: Source, widths: Widths) => Rule} */
function proportional(at, { headDim, partial }) {
  const stretched = at.part.get("factor", 1);
  at.factor = stretched;
  const part = partial ?? 1;
  const turning = Math.floor((part * headDim) / 2);
  const frequencies = invFreq(headDim, at.base).map((frequency, i) => (i < turning ? frequency / stretched : 0));
  const rotation = { invFreq: frequencies, attentionFactor: 1 };
  return { rule: "p_rope", kind: "p-rope", given: [headDim, part], settings: {}, rotation, dividedBy: stretched };
}

/** @type {(at: Source) => [number, number]} */
function stretch(at) {
  const [inside, beside] = [at.part.get(ORIGINAL), at.body.get(ORIGINAL)];
  if (inside !== null && beside !== null && !same(inside, beside)) {
    const words = { value: inside, other: at.body.path(ORIGINAL), other_value: beside };
    throw refuse("contradiction", at.part.path(ORIGINAL), words);
  }
  const trained = inside ?? beside;
  if (trained === null) throw missing(at.part.path(ORIGINAL), ORIGINAL);
  let factor = at.part.get("factor");
  const longest = at.body.one(LONGEST);
  const ratio = longest === null ? null : longest / trained;
  if (factor === null && ratio === null) throw missing(at.part.path("factor"), "rule");
  if (factor === null) {
    factor = checked("factor", at.part.path("factor"), ratio);
    at.notes.add("factor from lengths", { factor: said(ratio) });
  } else if (ratio !== null && ratio !== 1 && ratio !== factor) {
    at.notes.add("factor disagrees", { factor: said(factor), ratio: said(ratio) });
  }
  Object.assign(at, { factor, trained });
  return [factor, trained];
}

/** @type {(at: Source, low: string, lowValue: number, high: string, highValue: number) => void} */
function ordered(at, low, lowValue, high, highValue) {
  const words = { value: lowValue, other: at.part.path(high), other_value: highValue };
  if (lowValue >= highValue) throw refuse("order", at.part.path(low), words);
}
