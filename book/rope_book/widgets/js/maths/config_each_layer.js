// Describes the kind, window, rotation and query scale of each layer of a model, with the same rules as Python.
import { range } from "../lib/numbers.js";
import { isObject, own, RULES } from "./config_values.js";
import { formatValue, visible } from "./config_words.js";

export const FULL = "full_attention";
export const SLIDING = "sliding_attention";
export const CHUNKED = "chunked_attention";
export const NOT_STATED = "not stated";
export const WITHOUT_HEADS = ["linear_attention", "conv", "mamba", "recurrent"]; // kinds without queries to rotate

/** A layer, where a null window means that queries see every earlier token. @typedef {{label: string, rotates: boolean, window: number | string | null, queries: string}} Layer */
/** A function from a layer's index and the layer count to the layer's label. @typedef {(index: number, total: number) => string} Labels */
/** The layers of a file. A null row means that the kinds of layer are unknown. @typedef {{count: number | null, row: ((index: number, total: number) => Layer) | null, why: string, stated: string}} Layers */

/**
 * The first `count` layers, or all layers if there are fewer.
 * @type {(layers: Layers, count: number) => Layer[]}
 */
export function rowsOf({ count: stated, row }, count) {
  const total = stated || count;
  return row === null ? [] : range(0, Math.min(count, total) - 1).map((index) => row(index, total));
}

/** Reduce a layer's label to the kinds that both GGUF and config.json distinguish. @type {(layer: Layer) => Layer} */
export function coarse(layer) {
  if ([SLIDING, CHUNKED].includes(layer.label)) return layer;
  return { ...layer, label: WITHOUT_HEADS.includes(layer.label) ? "no attention" : FULL };
}

/** The value if it is a valid count, otherwise null. @param {any} value @returns {number | null} */
const whole = (value) => (Number.isInteger(value) && value >= 0 && value <= 1e15 ? value : null);

/** @type {(config: any, ...names: string[]) => any} */
const first = (config, ...names) => names.map((name) => own(config, name)).find((value) => value != null) ?? null;

/** Whether a field has a value other than 0, false or an empty container. @param {any} value */
const says = (value) =>
  value != null && value !== false && value !== 0 && !(typeof value === "object" && !Object.keys(value).length);

/** Whether a value is a non-empty list of names. @param {any} value @returns {value is string[]} */
const areNames = (value) => Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === "string");

/** The layers of the language model in a config. @type {(config: any, family: string, still: any[]) => Layers} */
export function layersOfConfig(config, family, still) {
  const field = (/** @type {string} */ name) => own(config, name) ?? null;
  let count = whole(first(config, "num_hidden_layers", "n_layer", "n_layers"));
  const named = /** @type {string[]} */ (RULES.fields_of_layers).filter((name) => Object.hasOwn(config, name));
  const stated = JSON.stringify(named.map((name) => [name, config[name]]));
  const [types, turning] = [field("layer_types"), field("no_rope_layers")];
  /** @type {Labels | string} */
  let labelOf;
  if (areNames(types)) {
    const kept = types.filter((each) => each !== "mlp"); // dory lists the MLP of each layer as a separate entry
    if (kept.length < types.length) count = kept.length;
    count = Math.min(kept.length, count || kept.length);
    labelOf = (index) => kept[index];
  } else labelOf = labelsOf(config, family);
  if (typeof labelOf === "string") return { count, row: null, why: labelOf, stated };
  if (Array.isArray(turning) && turning.length) count ||= turning.length;
  const [turns, scaled, label] = [turningOf(config, family, still), scaledQueries(config, family), labelOf];
  return { count, why: "", stated, row };

  /** @type {(index: number, total: number) => Layer} */
  function row(index, total) {
    let kind = label(index, total);
    const rotates = turns(index) && !still.includes(kind) && !WITHOUT_HEADS.includes(kind);
    if (family === "llama4_text" && kind === FULL && rotates && !Array.isArray(types)) kind = CHUNKED;
    return { label: visible(kind), rotates, window: windowOf(config, family, kind), queries: scaled(rotates) };
  }
}

/** The function that labels each layer, or the reason why the labels are unknown. @type {(config: any, family: string) => Labels | string} */
function labelsOf(config, family) {
  const [pattern, window] = [own(RULES.layer_patterns, family), own(config, "sliding_window") ?? null];
  const slidesBy = own(config, "use_sliding_window");
  if (!family) return "without a model_type, the kinds of its layers are unknown";
  if (!pattern) {
    if (RULES.one_window_for_all_layers.includes(family)) {
      const [size, longest] = [window, own(config, "max_position_embeddings")].map(whole);
      const slides = Boolean(window) && !(size && longest && size >= longest);
      return () => (slides ? SLIDING : FULL);
    }
    const names = /** @type {string[]} */ (RULES.hints_of_kinds);
    const hint = names.find((name) => says(own(config, name)) && !(name === "sliding_window" && slidesBy === false));
    return hint ? `the kinds follow from ${hint} by a rule that only the model's code states` : () => FULL;
  }
  if (pattern.cycle) {
    const cycle = cycleOf(config, pattern);
    return (index) => cycle[index % cycle.length];
  }
  if (pattern.by) {
    const late = whole(own(config, "max_window_layers"));
    const slides = Boolean(window) && slidesBy === true;
    if (slides && late === null) return "max_window_layers is not in the file";
    if (slides && pattern.every_other_before) return (index) => (index % 2 || index >= (late ?? 0) ? FULL : SLIDING);
    return (index) => (slides && index >= (late ?? 0) ? SLIDING : FULL);
  }
  if (pattern.window_decides && Object.hasOwn(config, "sliding_window") && !window) return () => FULL;
  const found = pattern.field ? (own(config, pattern.field) ?? null) : null;
  if (typeof found === "string" && /^[LG]+$/.test(found))
    return (index, total) => (found[index % found.length] === "G" || index === total - 1 ? FULL : SLIDING);
  const period = found === null ? pattern.period : whole(found);
  if (period === null) return `${pattern.field} is ${formatValue(found)}, not a number of layers`;
  return periodic(period, pattern.full === "first", Boolean(pattern.ends_full));
}

/** The sequence of labels that repeats over the layers, taken from the config if it lists one. @type {(config: any, pattern: any) => string[]} */
function cycleOf(config, pattern) {
  const listed = own(config, pattern.listed ?? "");
  return (areNames(listed) ? listed : pattern.cycle).map(
    (/** @type {string} */ each) => own(pattern.called ?? {}, each) ?? each,
  );
}

/** A pattern with one full-attention layer per period, which is the period's first or last layer. @type {(period: number, atFirst: boolean, ends?: boolean) => Labels} */
export function periodic(period, atFirst, ends = false) {
  if (!period) return () => SLIDING;
  return (index, total) => {
    const full = atFirst ? index % period === 0 : (index + 1) % period === 0;
    return full || (ends && index === total - 1) ? FULL : SLIDING;
  };
}

/** @type {(config: any, family: string, still: any[]) => (index: number) => boolean} */
function turningOf(config, family, still) {
  for (const name of ["no_rope_layers", "layer_rope_theta"]) {
    const list = own(config, name);
    if (Array.isArray(list) && list.length) return (index) => index >= list.length || Boolean(list[index]);
  }
  const usual = own(own(RULES.defaults, family) ?? {}, "no_rope_layer_interval");
  const interval = whole(own(config, "no_rope_layer_interval")) || usual;
  if (interval && usual) return (index) => (index + 1) % interval !== 0;
  return () => !still.includes("nope");
}

/** @type {(config: any, family: string, label: string) => number | string | null} */
function windowOf(config, family, label) {
  let field = own(RULES.window_of_a_label, label);
  if (!field) return null;
  if (label === SLIDING) field = own(RULES.window_of_a_family, family) ?? field;
  return whole(own(config, field)) ?? NOT_STATED;
}

/** A function that takes whether a layer rotates and returns the layer's query scale as a formula, or "" if there is none. @type {(config: any, family: string) => (rotates: boolean) => string} */
function scaledQueries(config, family) {
  const stated = ["rope_parameters", "rope_scaling"].map((name) => own(config, name)).find(says);
  const part = isObject(stated) ? stated : {};
  const beta = own(part, "llama_4_scaling_beta");
  if (beta) return () => grows(beta, own(part, "original_max_position_embeddings") ?? null, 0);
  if (own(config, "use_logn_attn") === true) {
    const length = formatValue(first(config, "seq_length", "max_position_embeddings"));
    return () => `max(1, ln(p + 1) / ln(${length}))`;
  }
  if (family === "llama4_text" && (own(config, "attn_temperature_tuning") ?? true)) {
    const text = grows(own(config, "attn_scale") ?? 0.1, own(config, "floor_scale") ?? 8192, 1);
    return (rotates) => (rotates ? "" : text);
  }
  return () => "";
}

/** The formula of a factor that grows logarithmically with position p. @type {(beta: any, length: any, offset: number) => string} */
export const grows = (beta, length, offset) =>
  `1 + ${formatValue(beta)}·ln(1 + ⌊${offset ? `(p + ${offset})` : "p"}/${formatValue(length)}⌋)`;
