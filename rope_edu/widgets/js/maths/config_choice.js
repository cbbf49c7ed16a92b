// Kinds of layers: those that do not rotate, the fields of a kind, and the kind that is asked for.
import { Part } from "./config_part.js";
import { Table } from "./config_table.js";
import { checked, configError, isObject, listed, own, RULES, same } from "./config_values.js";

/** Kinds of layers that a file has no name for. */
export const LAYERS = Object.freeze({ ALL: Symbol("all layers"), STILL: Symbol("layers without position") });
export const STILL = "nope"; // as `layerType` names the second

/** The parameters of each kind; null: these layers do not rotate. @typedef {Map<string | symbol, Part | null>} Kinds */

/**
 * The kinds and those that do not rotate.
 * @param {Table} table
 * @param {Kinds} kinds
 * @returns {Kinds}
 */
export function withStill(table, kinds) {
  const row = RULES.still.find(table.applies);
  if (!row) return kinds;
  const [types, layers] = [table.get("layer_types") ?? [], table.get("num_hidden_layers")];
  if (row.still === "all") return new Map([[LAYERS.STILL, null]]);
  if (row.still === "full_attention") {
    const all = kinds.get(LAYERS.ALL);
    if (!all) return kinds;
    noteStill(
      table,
      types.map((/** @type {string} */ type) => type !== "full_attention"),
    );
    return new Map([
      ["sliding_attention", all],
      ["full_attention", null],
    ]);
  }
  const interval = table.value(row.interval ?? null);
  const turning =
    row.still === "listed"
      ? table.get("no_rope_layers")
      : Array.from({ length: layers }, (_, layer) => (layer + 1) % interval !== 0);
  if (turning.every(Boolean)) return kinds;
  noteStill(table, turning);
  return new Map([...kinds, [LAYERS.STILL, null]]);
}

/**
 * Note how many layers do not rotate, if any.
 * @param {Table} table
 * @param {any[]} turning
 */
export function noteStill({ notes }, turning) {
  const still = turning.filter((each) => !each).length;
  if (still) notes.add("layers without position", { count: String(still), layers: String(turning.length) });
}

/**
 * A kind's parameters with the fields that the file states for this kind alone, such as its width.
 * @param {Table} table
 * @param {string | symbol} label
 * @param {Part | null} part
 */
export function withOwnFields(table, label, part) {
  const fields = Object.entries(own(RULES.fields_of_a_kind, label) ?? {});
  if (!part || !fields.length) return part;
  const [values, paths] = [{ ...part.values }, part.allPaths()];
  for (const [name, other] of fields) {
    const stated = table.get(other);
    const [path, value] = stated === null ? ofLayers(table, label, name) : [table.path(other), stated];
    const found = value ?? table.taken(other);
    if (found === null) continue;
    values[name] = found;
    paths[name] = path || table.path(other);
  }
  const added = Object.keys(values).filter((name) => !part.has(name));
  return new Part(values, part.start, { paths, apart: part.apart || added.length > 0, added });
}

/** @type {(table: Table, label: string | symbol, name: string) => [string, any]} */
function ofLayers(table, label, name) {
  const start = table.path("per_layer_config");
  const types = table.get("layer_types") ?? [];
  /** @type {[string, any][]} */
  const found = [];
  for (const [layer, each] of Object.entries(table.get("per_layer_config") ?? {})) {
    const asked = /^\d+$/.test(layer) && types[Number(layer)] === label;
    if (asked && isObject(each) && Object.hasOwn(each, name)) found.push([`${start}.${layer}.${name}`, each[name]]);
  }
  for (const [path, value] of found) {
    table.used.add(path);
    if (!same(value, found[0][1])) throw configError("several in one kind", path, { value: label });
  }
  return found.length ? [found[0][0], checked(name, ...found[0])] : ["", null];
}

/**
 * The kind of layers that is asked for.
 * @param {Table} table
 * @param {Kinds} kinds
 * @param {any} layerType
 * @returns {string | symbol}
 */
export function chosen(table, kinds, layerType) {
  const labels = namesIn(kinds);
  const types = table.get("layer_types") ?? [];
  if (layerType === null || layerType === undefined) return onlyOne(kinds, labels);
  checked("layer_type", "layer_type", layerType);
  if (kinds.has(layerType)) return layerType;
  if (layerType === STILL && kinds.has(LAYERS.STILL)) return LAYERS.STILL;
  if (kinds.has(LAYERS.ALL) && types.includes(layerType)) return LAYERS.ALL;
  if (!labels.length && !types.length) throw configError("one rotation", "layer_type", { value: layerType });
  const allowed = [...new Set(labels.length ? labels : types)];
  throw configError("no such layer type", "layer_type", { allowed: listed(allowed), value: layerType }, allowed);
}

/** @type {(kinds: Kinds, labels: string[]) => string | symbol} */
function onlyOne(kinds, labels) {
  const turning = [...kinds].filter(([, part]) => part);
  if (!turning.length) return [...kinds.keys()][0];
  const [label, first] = turning[0];
  const alike = turning.every(([, part]) => same(part?.values, first?.values));
  if (!alike) throw configError("choose", "layer_type", { allowed: listed(labels), value: null }, labels);
  return label;
}

/**
 * The kinds as `layerType` names them.
 * @param {Kinds} kinds
 */
export const namesIn = (kinds) => [...kinds.keys()].map(nameOf).filter((name) => name !== null);

/**
 * A kind as `layerType` names it; null for all layers.
 * @param {any} label
 * @returns {any}
 */
export const nameOf = (label) => (label === LAYERS.ALL ? null : label === LAYERS.STILL ? STILL : label);
