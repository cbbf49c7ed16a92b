// Read a model's config.json: the same as rope_edu/config/reader.py.
import { chosen, withStill } from "./config_choice.js";
import { ALL, bodyOf, rotationsOf, STILL } from "./config_layers.js";
import { Notes, Part } from "./config_part.js";
import { baseOf, headDimOf, layoutOf, ropeTypeOf, widthsOf } from "./config_rotation.js";
import { RULE_OF } from "./config_rules.js";
import { checked, filled, RULES, refuse, said } from "./config_values.js";

/**
 * What a config says of a rotation; throws a ConfigError {reason, field, message}.
 * @param {any} config
 * @param {string | null} [layerType]
 * @param {number | null} [seqLen]
 */
export function readConfig(config, layerType = null, seqLen = null) {
  const notes = new Notes();
  if (seqLen !== null) checked("seq_len", "seq_len", seqLen);
  const body = bodyOf(config, notes);
  const family = body.get("model_type", "");
  checkRotates(body);
  const rotations = withStill(body, family, rotationsOf(body, family, notes), notes);
  const [label, part] = chosen(rotations, layerType, body);
  const layout = layoutOf(body, family, notes);
  /** @type {Source} */
  const at = { body, part: part ?? new Part({}), family, label, seqLen, notes, base: 1, factor: null, trained: null };
  const ropeType = part ? ropeTypeOf(part) : STILL;
  const made = part ? rotated(at, ropeType) : still(at);
  return {
    ...made,
    layout,
    ropeType,
    base: at.base,
    factor: at.factor,
    longest: body.one("max_position_embeddings"),
    trained: at.trained,
    layerType: label,
    layerTypes: [...rotations.keys()].filter((name) => name !== ALL),
    sectionOrder: sectionOrder(at.part),
    remarks: notes.list.map(([kind, words]) => [kind, filled(RULES.remarks[kind], words)]),
  };
}

/**
 * The same for a text; a text that is no JSON, or a config that is refused, gives {refused: {reason, field, sentence}}.
 * @param {string} text
 * @param {string | null} [layerType]
 * @param {number | null} [seqLen]
 */
export function readText(text, layerType = null, seqLen = null) {
  try {
    return { reading: readConfig(parsed(text), layerType, seqLen) };
  } catch (error) {
    const { reason, field, message } = /** @type {any} */ (error);
    if (!reason) throw error;
    return { refused: { reason, field, sentence: message } };
  }
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw refuse("not JSON", "config", { detail: /** @type {Error} */ (error).message });
  }
}

/** @param {Part} body */
function checkRotates(body) {
  const family = body.get("model_type", "");
  const still = RULES.families_that_do_not_rotate.includes(family);
  if (still) throw refuse("does not rotate", body.path("model_type"), { value: family });
  const kind = body.get("position_embedding_type");
  const none = RULES.does_not_rotate.includes(kind);
  if (none) throw refuse("does not rotate", body.path("position_embedding_type"), { value: kind });
  if (body.get("alibi")) throw refuse("does not rotate", body.path("alibi"), { value: true });
}

/** @type {(at: Source, ropeType: string) => any} */
function rotated(at, ropeType) {
  at.base = baseOf(at, ropeType);
  const widths = widthsOf(at, ropeType);
  for (const name of RULES.beside_the_rotation) {
    if (at.part.has(name)) at.notes.add("beside the rotation", { field: at.part.path(name) });
  }
  const { rotation, ...made } = RULE_OF[ropeType](at, widths);
  const pairs = widths.rotaryDim / 2;
  const sections = at.part.get("mrope_section");
  if (sections !== null && total(sections) !== pairs) {
    throw refuse("wrong sum", at.part.path("mrope_section"), { pairs, value: sections });
  }
  return { ...made, ...rotation, headDim: widths.headDim, rotaryDim: widths.rotaryDim, sections };
}

/** @param {number[]} numbers */
const total = (numbers) => numbers.reduce((sum, each) => sum + each, 0);

/** @param {Source} at */
function still(at) {
  const headDim = headDimOf(at);
  if (headDim % 2) {
    throw refuse("odd width", at.body.pathOf("head_dim"), { value: headDim, width: headDim, least: 2 });
  }
  const frequencies = Array(headDim / 2).fill(0);
  const made = { rule: STILL, kind: STILL, given: [headDim], settings: {}, invFreq: frequencies, attentionFactor: 1 };
  return { ...made, headDim, rotaryDim: headDim, sections: null };
}

/** @param {Part} part */
function sectionOrder(part) {
  if (!part.has("mrope_section")) return null;
  const mixed = part.get("mrope_interleaved", false) || part.get("interleaved", false);
  return mixed ? "interleaved" : "contiguous";
}

/**
 * The call that makes a reading's rotation, as a line of Python.
 * @param {any} reading
 */
export function pythonOf({ rule, given, settings, base, layout, headDim, rotaryDim, sections, dividedBy = 1 }) {
  if (rule === STILL || rule === "longrope" || dividedBy !== 1 || sections) return 'rope_from_config("config.json")';
  /** @type {Record<string, any>} */
  const all = { ...settings, base, layout };
  if (rotaryDim !== headDim && rule !== "partial_rope") all.rotary_dim = rotaryDim;
  const named = Object.entries(all).map(([name, value]) => `${name}=${value === false ? "False" : said(value)}`);
  return `${rule}(${[...given.map(said), ...named].join(", ")})`;
}
