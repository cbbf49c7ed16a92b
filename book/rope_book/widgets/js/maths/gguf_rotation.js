// Reads the rotation that a GGUF specifies, by converting the keys to config fields and applying the same rules.
import { GGUF } from "../data/gguf.js";
import { readConfig } from "./config.js";
import { NOPE } from "./config_kinds.js";
import { ConfigError, configError, Notes, own } from "./config_values.js";
import { FACTS, fieldsOf, KEYS, kindsOf, mscales } from "./gguf_fields.js";
import { plainRope } from "./scaling.js";

/** @import { ChangesByKind, Keys } from "./gguf_fields.js" */
const FREQS = "rope_freqs.weight";

/**
 * Read the rotation of each kind of layer in a GGUF. Throws a ConfigError if the file is invalid or unsupported.
 * @param {Record<string, any>} values the GGUF's keys, and the factor lists under their tensor names
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

/** The reading for one kind of layer. @type {(keys: Keys, label: string | null, kinds: ChangesByKind, seqLen: number | null) => any} */
function readingOf(keys, label, kinds, seqLen) {
  const changes = kinds.get(label) ?? null;
  let reading = read(keys.arch, { ...fieldsOf(keys), ...(changes ?? { position_embedding_type: NOPE }) }, seqLen);
  const factors = own(keys.values, FREQS);
  const spared = label === "sliding_attention" && !FACTS.rope_freqs_on_sliding_layers.includes(keys.arch);
  const pairs = FACTS.halved_width.includes(keys.arch) ? reading.invFreq.length : undefined;
  if (factors && changes && !spared) reading = divided(reading, factors.slice(0, pairs));
  if (reading.ropeType === "yarn") reading = asLlamaCppMixes(reading, keys);
  reading = { ...reading, softmaxScale: softmaxScaleOf(reading, keys) };
  const layerTypes = [...kinds.keys()].filter((each) => each !== null);
  return { ...reading, layerType: label, layerTypes, remarks: remarksOf(keys, reading) };
}

/** The factor by which an architecture multiplies the softmax scale 1/√d, which is 1 for most of them. @type {(reading: any, keys: Keys) => number} */
function softmaxScaleOf({ ropeType, factor, attentionFactor }, { arch, get }) {
  if (ropeType !== "yarn" || !FACTS.softmax_by_yarn.includes(arch) || !factor) return 1;
  const multiplier = mscales(arch, get(KEYS["rope_scaling.mscale_all_dim"])).mscale_all_dim ?? 0;
  return (attentionFactor * (1 + 0.1 * multiplier * Math.log(factor))) ** 2;
}

/** Adjust a YaRN reading to the attention factor and the blending that the file specifies. @type {(reading: any, keys: Keys) => any} */
function asLlamaCppMixes(reading, { arch, get }) {
  const [growth, share] = [get("rope.scaling.attn_factor"), get("rope.scaling.yarn_ext_factor")];
  let { attentionFactor, invFreq } = reading;
  if (growth > 0) attentionFactor *= growth;
  if (own(FACTS.compressed_layers, arch)) attentionFactor = 1;
  if (share !== null && share >= 0 && share <= 1e6 && share !== 1 && reading.factor) {
    const plain = plainRope(reading.rotaryDim, reading.base).invFreq.map((each) => each / reading.factor);
    invFreq = plain.map((each, i) => each + share * (reading.invFreq[i] - each));
    if (share === 0) attentionFactor = 1;
  }
  return { ...reading, attentionFactor, invFreq };
}

/** Read converted fields, and name GGUF keys instead of config fields in errors. @type {(arch: string, fields: any, seqLen: number | null) => any} */
function read(arch, fields, seqLen) {
  try {
    return readConfig(fields, null, seqLen);
  } catch (error) {
    const { reason, field, words, choices } = /** @type {any} */ (error);
    if (!own(KEYS, field)) throw error;
    throw new ConfigError(reason, `${arch}.${KEYS[field]}`, words, choices);
  }
}

/** Divide a reading's frequencies by the file's factors. @type {(reading: any, factors: number[]) => any} */
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
