// Reads the rotations in a file: a config.json, or a GGUF converted to JSON (lib/gguf.js).
import { shortest } from "../lib/gguf_bytes.js";
import { pythonOf, readConfig } from "./config.js";
import { layersOfConfig } from "./config_each_layer.js";
import { NOPE } from "./config_kinds.js";
import { bodyOf } from "./config_layers.js";
import { configError, isObject, Notes } from "./config_values.js";
import { FACTS } from "./gguf_fields.js";
import { layersOfKeys } from "./gguf_layers.js";
import { readGguf } from "./gguf_rotation.js";

/** @import { Layers } from "./config_each_layer.js" */
/** @typedef {{name: string, form: string, model: string, readings: any[], config: any, permuted: string | null, layers: Layers}} Statement */

/** Read the rotation of each kind of layer in a config. @type {(config: any, seqLen?: number | null) => any[]} */
export function readKinds(config, seqLen = null) {
  /** @type {any} */
  let first = null;
  /** @type {string[]} */
  let labels;
  try {
    first = readConfig(config, null, seqLen);
    labels = first.layerTypes;
  } catch (error) {
    const { reason, choices } = /** @type {any} */ (error);
    if (reason !== "choose") throw error;
    labels = choices;
  }
  const kinds = labels.map((label) => readConfig(config, label, seqLen));
  return first && first.layerType === null ? [first, ...kinds] : kinds;
}

/** Whether a file's content was read from a GGUF. @param {any} config */
const isGguf = (config) => isObject(config) && Object.hasOwn(config, "general.architecture");

/**
 * The rotations that a file specifies. `config` is the file's content, and `name` refers to the file in messages.
 * @type {(config: any, name: string, seqLen?: number | null) => Statement}
 */
export function statementOf(config, name, seqLen = null) {
  if (isGguf(config)) {
    const model = String(config["general.architecture"]);
    const readings = readGguf(config, seqLen);
    const permuted = permutedFrom(model, readings);
    return { name, form: "GGUF", model, readings, config, permuted, layers: layersOfKeys(config) };
  }
  const readings = readKinds(config, seqLen);
  const [body, model] = bodyOf(config, new Notes());
  const still = readings.filter(({ ropeType }) => ropeType === NOPE).map(({ layerType }) => layerType);
  const layers = layersOfConfig(body.values, model, still);
  return { name, form: "config.json", model, readings, config, permuted: null, layers };
}

/** The layout of W_q and W_k before the conversion to GGUF permuted the rows, or null. @type {(model: string, readings: any[]) => string | null} */
function permutedFrom(model, readings) {
  if (FACTS.rows_permuted.includes(model)) return "half_split";
  const sections = readings.some(({ axes, ropeType }) => axes && ropeType !== NOPE);
  return FACTS.halves_with_sections.includes(model) && sections ? "interleaved" : null;
}

/** Round all numbers to float32, as stored in a GGUF. @param {any} value @returns {any} */
export function inFloat32(value) {
  if (Array.isArray(value)) return value.map(inFloat32);
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, inFloat32(each)]));
  return typeof value === "number" && Math.abs(value) < 1e30 ? shortest(value) : value;
}

/** A statement with its numbers rounded as in a GGUF. @type {(statement: Statement) => Statement} */
export const kept = (statement) =>
  statement.form === "GGUF" ? statement : statementOf(inFloat32(statement.config), statement.name);

/** The reading for one kind of layer, if any. @type {(statement: Statement, label: string | null) => any} */
export const kindOf = ({ readings }, label) =>
  readings.find(({ layerType }) => layerType === label) ?? readings.find(({ layerType }) => layerType === null);

/** Parse the text of a file. Throws an Error with the reason on failure. @param {string} text */
export function contentOf(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw configError("not JSON", "config", { detail: /** @type {Error} */ (error).message });
  }
}

/** A line of Python that creates a reading's rotation. @type {(reading: any, config: any) => string} */
export const lineOf = (reading, config) => (isGguf(config) ? 'rotation_of("model.gguf")' : pythonOf(reading));

/**
 * Read a file's text for one kind of layer. On failure, returns {refused} with the reason.
 * @type {(text: string, layerType: string | null, seqLen: number | null) => any}
 */
export function readAny(text, layerType, seqLen) {
  try {
    const content = contentOf(text);
    if (!isGguf(content)) return { reading: readConfig(content, layerType, seqLen), content };
    const readings = readGguf(content, seqLen);
    return { reading: readings.find((each) => each.layerType === layerType) ?? readings[0], content };
  } catch (error) {
    const { reason, field, message, choices } = /** @type {any} */ (error);
    const sentence = reason ? message : `The reader failed on this file: ${message}`; // avoids a stale picture
    return { refused: { reason: reason ?? "failed", field, sentence, choices: choices ?? [] } };
  }
}
