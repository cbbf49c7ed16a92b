// The layers that a reader asks for, and those that do not rotate: the same as rope_edu/config/layers.py.
import { ALL, ownOf, STILL } from "./config_layers.js";
import { Notes, Part } from "./config_part.js";
import { checked, RULES, refuse, same } from "./config_values.js";

/**
 * The rotations with the layers without position, which have null for their parameters.
 * @param {Part} body
 * @param {string} family
 * @param {Map<string, Part>} rotations
 * @param {Notes} notes
 * @returns {Map<string, Part | null>}
 */
export function withStill(body, family, rotations, notes) {
  const [types, layers] = [body.get("layer_types"), body.one("num_hidden_layers")];
  if (body.get("position_embedding_type") === STILL) return new Map([[STILL, null]]);
  const sliding = RULES.only_sliding_layers_rotate.includes(family) && body.has("sliding_window");
  if (sliding && rotations.has(ALL)) {
    const still = types?.filter((/** @type {string} */ type) => type === "full_attention").length;
    if (types) notes.add("layers without position", { count: String(still), layers: String(types.length) });
    return new Map([
      ["sliding_attention", rotations.get(ALL) ?? null],
      ["full_attention", null],
    ]);
  }
  const turning = turningLayers(body, family, layers);
  if (!turning || turning.every((turns) => turns === 1)) return rotations;
  const still = turning.filter((turns) => turns === 0).length;
  notes.add("layers without position", { count: String(still), layers: String(turning.length) });
  return new Map([...rotations, [STILL, null]]);
}

/** @type {(body: Part, family: string, layers: number | null) => number[] | null} */
function turningLayers(body, family, layers) {
  const listed = body.values.no_rope_layers;
  if (listed !== undefined && !(Array.isArray(listed) && !listed.length)) return body.get("no_rope_layers");
  const interval = body.get("no_rope_layer_interval", ownOf(family).no_rope_layer_interval ?? null);
  if (interval === null || layers === null) return null;
  return Array.from({ length: layers }, (_, layer) => Number((layer + 1) % interval !== 0));
}

/**
 * [label, parameters] of the layers asked for; null for the parameters of layers that do not rotate.
 * @param {Map<string, Part | null>} rotations
 * @param {any} layerType
 * @param {Part} body
 * @returns {[string | null, Part | null]}
 */
export function chosen(rotations, layerType, body) {
  const labels = [...rotations.keys()].filter((label) => label !== ALL);
  if (layerType === null || layerType === undefined) return onlyOne(rotations, labels, body);
  checked("layer_type", "layer_type", layerType);
  if (labels.includes(layerType)) return [layerType, rotations.get(layerType) ?? null];
  const types = body.get("layer_types") ?? [];
  if (rotations.has(ALL) && types.includes(layerType)) return [layerType, rotations.get(ALL) ?? null];
  if (!labels.length && !types.length) throw refuse("one rotation", "layer_type", { value: layerType });
  const allowed = listed(labels.length ? labels : [...new Set(types)]);
  throw refuse("no such layer type", "layer_type", { allowed, value: layerType });
}

/** @type {(rotations: Map<string, Part | null>, labels: string[], body: Part) => [string | null, Part | null]} */
function onlyOne(rotations, labels, body) {
  const turning = [...rotations].filter(([, part]) => part !== null);
  if (!turning.length) return [labels[0], null];
  const [label, first] = turning[0];
  const alike = turning.every(([, part]) => same(part?.values, first?.values));
  const choose = !alike || (turning.length > 1 && body.has("global_head_dim"));
  if (choose) throw refuse("choose", "layer_type", { allowed: listed(labels), value: null });
  return [label || null, first];
}

/**
 * Names as a sentence lists them.
 * @param {string[]} names
 */
export const listed = (names) => names.map((name) => `"${name}"`).join(", ");
