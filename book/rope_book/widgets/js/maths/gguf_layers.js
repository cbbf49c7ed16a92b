// Describes the kind, window and query scale of each layer that llama.cpp builds from a GGUF's keys.
import { CHUNKED, FULL, grows, periodic, SLIDING, WITHOUT_HEADS } from "./config_each_layer.js";
import { own } from "./config_values.js";
import { FACTS, KEYS, windowOf } from "./gguf_fields.js";

/** @import { Labels, Layer, Layers } from "./config_each_layer.js" */

/** The layers that llama.cpp builds from a GGUF's keys. @type {(values: Record<string, any>) => Layers} */
export function layersOfKeys(values) {
  const arch = String(values["general.architecture"]);
  const get = (/** @type {string} */ key) => own(values, `${arch}.${key}`) ?? null;
  const count = Number.isInteger(get("block_count")) ? get("block_count") : null;
  const untold = (/** @type {string} */ why) => ({ count, row: null, why, stated: "" });
  if (own(FACTS.compressed_layers, arch)) return untold("the kinds of compressed layers are not compared");
  const [window, known] = [windowOf(arch, get), own(FACTS.windows, arch)];
  if (window && !known) return untold(`it is not known which layers of ${arch} have the window`);
  const facts = window ? known : null;
  const labelOf = labelsOf(get("attention.sliding_window_pattern"), facts);
  if (typeof labelOf === "string") return untold(labelOf);
  const floor = own(FACTS.queries_by_key, arch);
  const scale = floor ? get("attention.temperature_scale") : null;
  const lengths = [floor, KEYS["rope_scaling.original_max_position_embeddings"], "context_length"];
  const length = lengths.map((key) => key && get(key)).find(Boolean) ?? null;
  const [step, still] = [own(FACTS.rotates_but_every, arch), own(FACTS.still, arch)];
  const local = arch === "llama4" ? CHUNKED : SLIDING;
  return { count, why: "", stated: "", row };

  /** @type {(index: number, total: number) => Layer} */
  function row(index, total) {
    const attends = attendsIn(arch, get, index);
    const full = !attends || /** @type {Labels} */ (labelOf)(index, total) === FULL;
    let rotates = step ? (index + 1) % step !== 0 : !(facts && still === FULL && full);
    rotates = (rotates || (arch === "llama4" && !facts)) && attends;
    let queries = scale ? grows(scale, length, 0) : "";
    if (arch === "llama4" && !rotates) queries = grows(0.1, 8192, 1);
    const label = attends ? (full ? FULL : local) : WITHOUT_HEADS[0];
    return { label, rotates, window: full ? null : window, queries };
  }
}

/** Whether a layer has attention heads rather than a recurrence or a convolution. @type {(arch: string, get: (key: string) => any, index: number) => boolean} */
function attendsIn(arch, get, index) {
  const [interval, heads] = [own(FACTS.attends_every, arch), get("attention.head_count_kv")];
  const recurrent = get("attention.recurrent_layers");
  if (interval && Array.isArray(recurrent)) return !recurrent[index];
  if (Array.isArray(heads)) return index >= heads.length || Boolean(heads[index]);
  return !interval || (index + 1) % (get("full_attention_interval") || interval) === 0;
}

/** The function that labels each layer, or the reason why the labels are unknown. @type {(pattern: any, facts: any) => Labels | string} */
function labelsOf(pattern, facts) {
  if (!facts) return () => FULL;
  if (Array.isArray(pattern)) return (index) => (index < pattern.length && pattern[index] ? SLIDING : FULL);
  const period = Number.isInteger(pattern) ? pattern : (facts.period ?? null);
  if (period === null) return "attention.sliding_window_pattern is not in the file";
  return periodic(period, facts.full === "first");
}
