// Converts a GGUF's keys to config fields, and finds the kinds of layer whose fields differ.
import { GGUF } from "../data/gguf.js";
import { NOPE } from "./config_kinds.js";
import { configError, own } from "./config_values.js";

/** @type {any} */
export const FACTS = GGUF.facts;
/** @type {Record<string, string>} */
export const KEYS = GGUF.keys;
const SECTIONS = KEYS["rope_scaling.mrope_section"];
const [LONG, SHORT] = ["rope_factors_long.weight", "rope_factors_short.weight"];
/** The keys, besides the factor, that each rule requires. @type {Record<string, string[]>} */
const KEYS_OF_RULE = {
  longrope: ["original_max_position_embeddings", "attention_factor"],
  yarn: ["original_max_position_embeddings", "beta_fast", "beta_slow"],
};

/** @typedef {{arch: string, get: (key: string) => any, values: Record<string, any>}} Keys */
/** For each kind of layer, the fields that differ, or null if the kind does not rotate. @typedef {Map<string | null, any>} ChangesByKind */

/** [field, key] pairs for the top level, the rope_scaling object, and sliding layers. */
const [TOP_LEVEL, SCALING, OF_SLIDING] = ["", "rope_scaling.", "sliding_attention."].map((object) => {
  const inside = Object.entries(KEYS).filter(([field]) => field.slice(0, field.indexOf(".") + 1) === object);
  return inside.map(([field, key]) => [field.slice(object.length), key]);
});

/** The window size that llama.cpp uses, or null. @type {(arch: string, get: (key: string) => any) => any} */
export function windowOf(arch, get) {
  const [facts, lengths, count] = [own(FACTS.windows, arch) ?? {}, get("attention.sliding_window"), get("block_count")];
  const stated = Array.isArray(lengths) ? (lengths.find(Boolean) ?? null) : lengths;
  if (facts.unused || (facts.of_layers && (count ?? facts.of_layers) !== facts.of_layers)) return null;
  const window = stated ?? facts.default ?? null;
  return window ? (facts.fixed ?? window) : null;
}

/** The kinds of layer in a GGUF, with the fields that differ from the rest of the file. @type {(arch: string, get: (key: string) => any) => ChangesByKind} */
export function kindsOf(arch, get) {
  const compressed = own(FACTS.compressed_layers, arch);
  if (compressed)
    return new Map(Object.entries({ main: { rope_scaling: null }, compress: { rope_theta: get(compressed) } }));
  const [slides, still] = [Boolean(windowOf(arch, get)), own(FACTS.still, arch)];
  if (still === NOPE || (still && !slides && own(FACTS.rotates_but_every, arch))) {
    const allRotate = FACTS.rotates_everywhere_without_window.includes(arch) && !slides;
    const all = /** @type {ChangesByKind} */ (new Map([[null, {}]]));
    return allRotate ? all : all.set(NOPE, null);
  }
  if (still && slides) return new Map(Object.entries({ sliding_attention: {}, full_attention: null }));
  const changes = { ...(slides ? own(FACTS.sliding_layers, arch) : {}) };
  if (FACTS.halved_width.includes(arch)) changes.rotary_dim = wholeWidth({ arch, get });
  for (const [field, key] of OF_SLIDING) if (get(key) !== null) changes[field] = get(key);
  if (!Object.keys(changes).length) return new Map([[null, {}]]);
  return new Map(Object.entries({ full_attention: {}, sliding_attention: changes }));
}

/** @type {(keys: Pick<Keys, "arch" | "get">) => any} */
const wholeWidth = (keys) => one(keys, KEYS.rotary_dim) || one(keys, KEYS.head_dim);

/** Whether sections divide the pairs among coordinates. @param {any} sections */
const divides = (sections) => Array.isArray(sections) && sections.some(Boolean);

/** The value of a key or, if it is a per-layer list, the list's only nonzero value. @type {(keys: Pick<Keys, "arch" | "get">, key: string) => any} */
function one({ arch, get }, key) {
  const value = get(key);
  if (!Array.isArray(value) || key === SECTIONS) return value;
  const found = [...new Set(value.filter(Boolean))];
  if (found.length > 1) throw configError("several in one kind", `${arch}.${key}`, { value: "every layer" });
  return found[0] ?? null;
}

/** Convert a GGUF's keys to the equivalent config fields. @type {(keys: Keys) => Record<string, any>} */
export function fieldsOf(keys) {
  /** @type {Record<string, any>} */
  const fields = Object.fromEntries(TOP_LEVEL.map(([name, key]) => [name, one(keys, key)]));
  const halves = FACTS.halves_with_sections.includes(keys.arch) && divides(keys.get(SECTIONS));
  fields.rope_interleave = FACTS.interleaved.includes(keys.arch) && !halves;
  if (FACTS.halved_width.includes(keys.arch)) fields.rotary_dim = Math.floor((wholeWidth(keys) ?? 0) / 2) || null;
  fields.rope_theta ??= 10000;
  if (keys.get("attention.kv_lora_rank") && fields.rotary_dim) fields.head_dim = fields.rotary_dim; // in MLA
  return { ...fields, rope_scaling: scalingOf(keys, fields.max_position_embeddings) };
}

/** @type {(keys: Keys, longest: number | null) => Record<string, any>} */
function scalingOf(keys, longest) {
  if (FACTS.ignores_scaling.includes(keys.arch)) return { rope_type: "default" };
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
  if (divides(stated.mrope_section)) {
    scaling.mrope_section = stated.mrope_section.filter(Boolean);
    scaling.mrope_interleaved = FACTS.sections_in_turn.includes(keys.arch);
  }
  return { rope_type: rule, ...scaling };
}

/** @type {(arch: string, stated: number | null) => Record<string, number>} */
export function mscales(arch, stated) {
  if (!stated || FACTS.log_multiplier_unread.includes(arch)) return {};
  const scale = stated * (FACTS.log_multiplier_in_tenths.includes(arch) ? 10 : 1);
  return { mscale: FACTS.mscale_is_all_dim.includes(arch) ? scale : 1, mscale_all_dim: scale };
}
