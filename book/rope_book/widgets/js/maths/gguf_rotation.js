// The rotation that a GGUF states: its keys, mapped to the fields of a config and read by the same rules.
import { GGUF } from "../data/gguf.js";
import { readConfig } from "./config.js";
import { CHUNKED, FULL, grows, periodic, SLIDING, WITHOUT_HEADS } from "./config_each_layer.js";
import { NOPE } from "./config_kinds.js";
import { ConfigError, configError, Notes, own } from "./config_values.js";
import { plainRope } from "./scaling.js";

/** @import { Labels, Layer, Layers } from "./config_each_layer.js" */

/** @type {any} */
export const FACTS = GGUF.facts;
/** @type {Record<string, string>} */
export const KEYS = GGUF.keys;
const [LONG, SHORT, FREQS] = ["factors_long", "factors_short", "freqs"].map((name) => `rope_${name}.weight`);
/** The keys of rules with more than a factor. @type {Record<string, string[]>} */
const KEYS_OF_RULE = {
  longrope: ["original_max_position_embeddings", "attention_factor"],
  yarn: ["original_max_position_embeddings", "beta_fast", "beta_slow"],
};

/** @typedef {{arch: string, get: (key: string) => any, values: Record<string, any>}} Keys */
/** The fields that differ, by kind of layers; null: no rotation. @typedef {Map<string | null, any>} ChangesByKind */

/** [field, key] of fields at the top level, in the object of a scaling, and of sliding layers. */
const [TOP_LEVEL, SCALING, OF_SLIDING] = ["", "rope_scaling.", "sliding_attention."].map((object) => {
  const inside = Object.entries(KEYS).filter(([field]) => field.slice(0, field.indexOf(".") + 1) === object);
  return inside.map(([field, key]) => [field.slice(object.length), key]);
});

/**
 * One Reading per kind of a GGUF's layers.
 * @param {Record<string, any>} values its keys, and the lists of factors by the names of their tensors
 * @param {number | null} [seqLen]
 */
export function readGguf(values, seqLen = null) {
  const arch = own(values, "general.architecture");
  const why = "it says what the other keys are called";
  if (typeof arch !== "string" || !arch) throw configError("missing", "general.architecture", { why });
  if (FACTS.does_not_rotate.includes(arch)) {
    throw configError("does not rotate", "general.architecture", { value: arch });
  }
  if (![...FACTS.interleaved, ...FACTS.half_split].includes(arch)) {
    throw configError("unknown architecture", "general.architecture", { value: arch });
  }
  const get = (/** @type {string} */ key) => own(values, `${arch}.${key}`) ?? null;
  const kinds = kindsOf(arch, get);
  return [...kinds.keys()].map((label) => readingOf({ arch, get, values }, label, kinds, seqLen));
}

/** The layers that llama.cpp builds from the keys of an architecture. @type {(values: Record<string, any>) => Layers} */
export function layersOfKeys(values) {
  const arch = String(values["general.architecture"]);
  const get = (/** @type {string} */ key) => own(values, `${arch}.${key}`) ?? null;
  const count = Number.isInteger(get("block_count")) ? get("block_count") : null;
  const untold = (/** @type {string} */ why) => ({ count, row: null, why, stated: "" });
  if (own(FACTS.compressed_layers, arch)) return untold("the kinds of compressed layers are not compared");
  const lengths = get("attention.sliding_window");
  const known = own(FACTS.windows, arch);
  const stated = Array.isArray(lengths) ? (lengths.find(Boolean) ?? null) : lengths;
  const window = stated ?? known?.default ?? null;
  if (window && !known) return untold(`it is not known which layers of ${arch} have the window`);
  const windowed = known && !known.unused && (window || ("window" in known && window !== 0));
  const facts = windowed ? known : null;
  const labelOf = labelsOf(get("attention.sliding_window_pattern"), facts);
  if (typeof labelOf === "string") return untold(labelOf);
  const scale = FACTS.queries_by_key.includes(arch) ? get("attention.temperature_scale") : null;
  const length = get(KEYS["rope_scaling.original_max_position_embeddings"]) || get("context_length");
  const [step, still] = [own(FACTS.rotates_but_every, arch), own(FACTS.still, arch)];
  const local = arch === "llama4" ? CHUNKED : SLIDING;
  return { count, why: "", stated: "", row };

  /** @type {(index: number, total: number) => Layer} */
  function row(index, total) {
    const attends = attendsIn(arch, get, index);
    const full = !attends || /** @type {Labels} */ (labelOf)(index, total) === FULL;
    let rotates = (!step || (index + 1) % step !== 0) && !(facts && still === FULL && full);
    rotates = (rotates || (arch === "llama4" && !facts)) && attends;
    let queries = scale ? grows(scale, length, 0) : "";
    if (arch === "llama4" && !rotates) queries = grows(0.1, 8192, 1);
    const label = attends ? (full ? FULL : local) : WITHOUT_HEADS[0];
    return { label, rotates, window: full ? null : (facts.window ?? window), queries };
  }
}

/** Whether a layer has heads, not a recurrence or a convolution. @type {(arch: string, get: (key: string) => any, index: number) => boolean} */
function attendsIn(arch, get, index) {
  const [interval, heads] = [own(FACTS.attends_every, arch), get("attention.head_count_kv")];
  if (Array.isArray(heads)) return index >= heads.length || Boolean(heads[index]);
  return !interval || (index + 1) % (get("full_attention_interval") || interval) === 0;
}

/** The label of an index below a count, or the reason why it cannot be told. @type {(pattern: any, facts: any) => Labels | string} */
function labelsOf(pattern, facts) {
  if (!facts) return () => FULL;
  if (Array.isArray(pattern)) return (index) => (index < pattern.length && pattern[index] ? SLIDING : FULL);
  const period = Number.isInteger(pattern) ? pattern : (facts.period ?? null);
  if (period === null) return "attention.sliding_window_pattern is not in the file";
  return periodic(period, facts.full === "first");
}

/** @type {(arch: string, get: (key: string) => any) => ChangesByKind} */
function kindsOf(arch, get) {
  const compressed = own(FACTS.compressed_layers, arch);
  if (compressed)
    return new Map(Object.entries({ main: { rope_scaling: null }, compress: { rope_theta: get(compressed) } }));
  const window = get("attention.sliding_window");
  const slides = Boolean(window?.length ?? window);
  const still = own(FACTS.still, arch);
  if (still === NOPE) {
    const allRotate = FACTS.rotates_everywhere_without_window.includes(arch) && window === 0;
    const all = /** @type {ChangesByKind} */ (new Map([[null, {}]]));
    return allRotate ? all : all.set(NOPE, null);
  }
  if (still && slides) return new Map(Object.entries({ sliding_attention: {}, full_attention: null }));
  const changes = { ...(slides ? own(FACTS.sliding_layers, arch) : {}) };
  for (const [field, key] of OF_SLIDING) if (get(key) !== null) changes[field] = get(key);
  if (!Object.keys(changes).length) return new Map([[null, {}]]);
  return new Map(Object.entries({ full_attention: {}, sliding_attention: changes }));
}

/** The value of a key; of a list by layer, the only value other than 0. @type {(keys: Keys, key: string) => any} */
function one({ arch, get }, key) {
  const value = get(key);
  if (!Array.isArray(value) || key === KEYS["rope_scaling.mrope_section"]) return value;
  const found = [...new Set(value.filter(Boolean))];
  if (found.length > 1) throw configError("several in one kind", `${arch}.${key}`, { value: "every layer" });
  return found[0] ?? null;
}

/** The equivalent fields of a config. @type {(keys: Keys) => Record<string, any>} */
function fieldsOf(keys) {
  /** @type {Record<string, any>} */
  const fields = Object.fromEntries(TOP_LEVEL.map(([name, key]) => [name, one(keys, key)]));
  fields.rope_interleave = FACTS.interleaved.includes(keys.arch);
  fields.model_type = own(FACTS.read_as, keys.arch) ?? null;
  fields.rope_theta ??= 10000;
  if (keys.get("attention.kv_lora_rank") && fields.rotary_dim) fields.head_dim = fields.rotary_dim; // of MLA
  return { ...fields, rope_scaling: scalingOf(keys, fields.max_position_embeddings) };
}

/** @type {(keys: Keys, longest: number | null) => Record<string, any>} */
function scalingOf(keys, longest) {
  const stated = Object.fromEntries(SCALING.map(([name, key]) => [name, one(keys, key)]));
  const factor = stated.factor ?? keys.get("rope.scale_linear");
  let rule = stated.rope_type || "linear";
  /** @type {Record<string, any>} */
  let scaling = {};
  if (rule === "longrope" || own(keys.values, LONG)) {
    const [short_factor, long_factor] = [SHORT, LONG].map((name) => own(keys.values, name) ?? null);
    [rule, scaling] = ["longrope", { short_factor, long_factor, attention_factor: 1 }];
  } else if (rule === "none" || (rule === "linear" && [null, 0, 1].includes(factor))) rule = "default";
  else scaling.factor = factor || 1;
  if (rule === "yarn") {
    Object.assign(scaling, mscales(keys.arch, stated.mscale_all_dim), { original_max_position_embeddings: longest });
  }
  for (const name of own(KEYS_OF_RULE, rule) ?? []) scaling[name] = stated[name] ?? scaling[name] ?? null;
  if (Array.isArray(stated.mrope_section) && stated.mrope_section.some(Boolean)) {
    scaling.mrope_section = stated.mrope_section.filter(Boolean);
    scaling.mrope_interleaved = FACTS.sections_in_turn.includes(keys.arch);
  }
  return { rope_type: rule, ...scaling };
}

/** @type {(arch: string, stated: number | null) => Record<string, number>} */
function mscales(arch, stated) {
  if (!stated || FACTS.log_multiplier_unread.includes(arch)) return {};
  const scale = stated * (FACTS.log_multiplier_in_tenths.includes(arch) ? 10 : 1);
  return { mscale: FACTS.mscale_is_all_dim.includes(arch) ? scale : 1, mscale_all_dim: scale };
}

/** The reading of one kind of layers. @type {(keys: Keys, label: string | null, kinds: ChangesByKind, seqLen: number | null) => any} */
function readingOf(keys, label, kinds, seqLen) {
  const changes = kinds.get(label) ?? null;
  let reading = read(keys.arch, { ...fieldsOf(keys), ...(changes ?? { position_embedding_type: NOPE }) }, seqLen);
  const factors = own(keys.values, FREQS);
  const spared = label === "sliding_attention" && !FACTS.rope_freqs_on_sliding_layers.includes(keys.arch);
  if (factors && changes && !spared) reading = divided(reading, factors);
  if (!own(FACTS.read_as, keys.arch)) reading = { ...reading, softmaxScale: 1 };
  if (reading.ropeType === "yarn") reading = asLlamaCppMixes(reading, keys);
  const layerTypes = [...kinds.keys()].filter((each) => each !== null);
  return { ...reading, layerType: label, layerTypes, remarks: remarksOf(keys, reading) };
}

/** A YaRN reading with the file's attention factor, and its share of the unstretched angles. @type {(reading: any, keys: Keys) => any} */
function asLlamaCppMixes(reading, { get }) {
  const [growth, share] = [get("rope.scaling.attn_factor"), get("rope.scaling.yarn_ext_factor")];
  let { attentionFactor, invFreq } = reading;
  if (growth > 0) attentionFactor *= growth;
  if (share !== null && share >= 0 && share <= 1e6 && share !== 1 && reading.factor) {
    const plain = plainRope(reading.rotaryDim, reading.base).invFreq.map((each) => each / reading.factor);
    invFreq = plain.map((each, i) => each + share * (reading.invFreq[i] - each));
    if (share === 0) attentionFactor = 1;
  }
  return { ...reading, attentionFactor, invFreq };
}

/** A reading whose errors name the key of a GGUF. @type {(arch: string, fields: any, seqLen: number | null) => any} */
function read(arch, fields, seqLen) {
  try {
    return readConfig(fields, null, seqLen);
  } catch (error) {
    const { reason, field, words, choices } = /** @type {any} */ (error);
    if (!own(KEYS, field)) throw error;
    throw new ConfigError(reason, `${arch}.${KEYS[field]}`, words, choices);
  }
}

/** A reading with frequencies divided by the file's factors. @type {(reading: any, factors: number[]) => any} */
function divided(reading, factors) {
  const words = { pairs: reading.invFreq.length, value: factors.length };
  const good = words.pairs === words.value && factors.every((each) => Number.isFinite(each) && each > 0);
  if (!good) throw configError("wrong length", FREQS, words);
  const invFreq = factors.map((factor, i) => reading.invFreq[i] / Math.fround(factor));
  return { ...reading, invFreq, kind: "factors", ropeType: "factors of rope_freqs" };
}

/** @type {(keys: Keys, reading: any) => [string, string][]} */
function remarksOf({ arch, values }, reading) {
  const kept = reading.remarks.filter((/** @type {[string, string]} */ [kind]) => kind !== "theta lost by 4");
  const notes = /** @type {Notes} */ (Notes.from(kept));
  const known = [...Object.values(KEYS), ...GGUF.also_read];
  const ours = Object.keys(values).filter((key) => key.startsWith(`${arch}.rope.`));
  const unread = ours.filter((key) => !known.includes(key.slice(arch.length + 1)));
  if (unread.length) notes.add("not read", { fields: unread.slice(0, 6).join(", ") });
  return [...notes];
}
