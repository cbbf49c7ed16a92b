// The rotation that a GGUF states: its keys as the fields of a config, read by the same rules.
import { GGUF } from "../data/gguf.js";
import { readConfig } from "./config.js";
import { ConfigError, configError, filled, formatValue, own, RULES } from "./config_values.js";

/** @type {any} */
export const FACTS = GGUF.facts;
/** @type {Record<string, string>} */
export const KEYS = GGUF.keys;
const [LONG, SHORT, FACTORS] = ["factors_long", "factors_short", "freqs"].map((name) => `rope_${name}.weight`);
const INSIDE = "rope_scaling.";

/**
 * A Reading for each kind of a GGUF's layers.
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
  const get = (/** @type {string} */ key) => own(values, `${arch}.${key}`) ?? null;
  const kinds = kindsOf(arch, get);
  return [...kinds.keys()].map((label) => readingOf({ arch, get, values }, label, kinds, seqLen));
}

/** @typedef {{arch: string, get: (key: string) => any, values: Record<string, any>}} Keys */
/** @typedef {Map<string | null, Record<string, any> | null>} Changes what each kind of layers changes; null: no rotation */

/** @type {[string | null, any][]} */
const NOPE = [null, "nope"].map((label, i) => [label, i ? null : {}]);
/** @type {[string | null, any][]} */
const STILL_WHERE_FULL = ["sliding_attention", "full_attention"].map((label, i) => [label, i ? null : {}]);

/** @type {(arch: string, get: (key: string) => any) => Changes} */
function kindsOf(arch, get) {
  const window = get("attention.sliding_window");
  const slides = Array.isArray(window) ? window.length > 0 : Boolean(window);
  const still = own(FACTS.still, arch);
  if (still === "nope") {
    const allTurn = FACTS.rotates_everywhere_without_window.includes(arch) && window === 0;
    return new Map(allTurn ? NOPE.slice(0, 1) : NOPE);
  }
  if (still && slides) return new Map(STILL_WHERE_FULL);
  const stated = {
    rope_theta: get("rope.freq_base_swa"),
    rotary_dim: get("rope.dimension_count_swa"),
    head_dim: get("attention.key_length_swa"),
  };
  /** @type {Record<string, any>} */
  let changes = Object.fromEntries(Object.entries(stated).filter(([, value]) => value !== null));
  const known = slides ? own(FACTS.sliding_layers, arch) : undefined;
  if (!Object.keys(changes).length && !known) return new Map([[null, {}]]);
  if (known?.base !== undefined) changes = { rope_theta: known.base, ...changes };
  if (known?.factor === 1) changes.rope_scaling = null;
  return new Map([
    ["full_attention", {}],
    ["sliding_attention", changes],
  ]);
}

/** The value of a field; where it is listed by layer, the one that is not 0. @type {(keys: Keys, field: string) => any} */
function one({ arch, get }, field) {
  const value = get(KEYS[field]);
  if (!Array.isArray(value) || field === `${INSIDE}mrope_section`) return value;
  const found = [...new Set(value.filter(Boolean))];
  const words = { value: "every layer" };
  if (found.length > 1) throw configError("several in one kind", `${arch}.${KEYS[field]}`, words);
  return found[0] ?? null;
}

/** The fields of a config that say the same. @type {(keys: Keys) => Record<string, any>} */
function fieldsOf(keys) {
  const outside = Object.keys(KEYS).filter((name) => !name.startsWith(INSIDE));
  /** @type {Record<string, any>} */
  const fields = Object.fromEntries(outside.map((name) => [name, one(keys, name)]));
  fields.rope_interleave = FACTS.interleaved.includes(keys.arch);
  fields.rope_theta ??= 10000;
  if (keys.get("attention.kv_lora_rank") && fields.rotary_dim) fields.head_dim = fields.rotary_dim; // of MLA
  const stated = Object.entries(fields).filter(([, value]) => value !== null);
  return { ...Object.fromEntries(stated), rope_scaling: scalingOf(keys, fields.max_position_embeddings) };
}

/** @type {(keys: Keys, longest: number | null) => Record<string, any>} */
function scalingOf(keys, longest) {
  const names = Object.keys(KEYS).filter((name) => name.startsWith(INSIDE));
  const stated = Object.fromEntries(names.map((name) => [name.slice(INSIDE.length), one(keys, name)]));
  const factor = stated.factor ?? keys.get("rope.scale_linear");
  const sort = stated.rope_type || "linear";
  const lists = { short_factor: own(keys.values, SHORT) ?? null, long_factor: own(keys.values, LONG) ?? null };
  let [scaling, wanted] = [/** @type {Record<string, any>} */ ({ rope_type: "default" }), /** @type {string[]} */ ([])];
  if (sort === "longrope" || lists.long_factor) {
    scaling = { rope_type: "longrope", ...lists, attention_factor: stated.attention_factor ?? 1 };
    wanted = ["original_max_position_embeddings"];
  } else if (!(sort === "none" || (sort === "linear" && [null, 0, 1].includes(factor)))) {
    scaling = { rope_type: sort, factor: factor || 1 };
    if (sort === "yarn") wanted = ["original_max_position_embeddings", "beta_fast", "beta_slow"];
    if (sort === "yarn") stated.original_max_position_embeddings ??= longest;
    if (sort === "yarn") Object.assign(scaling, mscales(keys.arch, stated.mscale_all_dim));
  }
  for (const name of wanted) if (stated[name] !== null && stated[name] !== undefined) scaling[name] = stated[name];
  const sections = stated.mrope_section;
  if (!Array.isArray(sections) || !sections.some(Boolean)) return scaling;
  const interleaved = FACTS.sections_in_turn.includes(keys.arch);
  return { ...scaling, mrope_section: sections.filter(Boolean), mrope_interleaved: interleaved };
}

/** @type {(arch: string, stated: number | null) => Record<string, number>} */
function mscales(arch, stated) {
  if (!stated || FACTS.log_multiplier_unread.includes(arch)) return {};
  const scale = stated * (FACTS.log_multiplier_in_tenths.includes(arch) ? 10 : 1);
  return { mscale: FACTS.mscale_is_all_dim.includes(arch) ? scale : 1, mscale_all_dim: scale };
}

/** @type {(keys: Keys, label: string | null, kinds: Changes, seqLen: number | null) => any} */
function readingOf(keys, label, kinds, seqLen) {
  const changes = kinds.get(label) ?? null;
  const fields = { ...fieldsOf(keys), ...(changes ?? { position_embedding_type: "nope" }) };
  let reading = named(keys, () => readConfig(fields, null, seqLen));
  const factors = own(keys.values, FACTORS);
  if (factors && changes && label !== "sliding_attention") reading = divided(reading, factors);
  const growth = keys.get("rope.scaling.attn_factor");
  if (reading.ropeType === "yarn" && growth > 0) {
    reading = { ...reading, attentionFactor: reading.attentionFactor * growth };
  }
  const layerTypes = [...kinds.keys()].filter((each) => each !== null);
  return { ...reading, layerType: label, layerTypes, remarks: remarksOf(keys, reading) };
}

/** A reading, whose errors name the key of a GGUF. @type {(keys: Keys, read: () => any) => any} */
function named({ arch }, read) {
  try {
    return read();
  } catch (error) {
    const { reason, field, words, choices } = /** @type {any} */ (error);
    if (!reason || !own(KEYS, field)) throw error;
    const key = `${arch}.${KEYS[field]}`;
    throw new ConfigError(reason, key, words, choices);
  }
}

/** @type {(reading: any, factors: number[]) => any} */
function divided(reading, factors) {
  const words = { pairs: reading.invFreq.length, value: factors.length };
  const good = words.pairs === words.value && factors.every((each) => Number.isFinite(each) && each > 0);
  if (!good) throw configError("wrong length", FACTORS, words);
  const invFreq = factors.map((factor, i) => reading.invFreq[i] / Math.fround(factor));
  return { ...reading, invFreq, kind: "factors", ropeType: "factors of rope_freqs" };
}

/** @type {(keys: Keys, reading: any) => [string, string][]} */
function remarksOf({ arch, values }, reading) {
  const remarks = reading.remarks.filter((/** @type {[string, string]} */ [kind]) => kind !== "theta lost by 4");
  const say = (/** @type {string} */ kind, /** @type {any} */ words) =>
    remarks.push([kind, filled(RULES.remarks[kind], words)]);
  if (![...FACTS.interleaved, ...FACTS.half_split].includes(arch)) say("layout assumed", { value: formatValue(arch) });
  const known = [...Object.values(KEYS), ...GGUF.also_read.map((/** @type {string} */ each) => `rope.${each}`)];
  const unread = Object.keys(values).filter(
    (key) => key.startsWith(`${arch}.rope.`) && !known.includes(key.slice(arch.length + 1)),
  );
  if (unread.length) say("not read", { fields: unread.slice(0, 6).join(", ") });
  return remarks;
}
