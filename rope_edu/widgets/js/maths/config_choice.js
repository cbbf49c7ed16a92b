// Kinds of layers: those that do not rotate, and the kind that is asked for.
import { Part } from "./config_part.js";
import { Table } from "./config_table.js";
import { checked, configError, listed, RULES, same } from "./config_values.js";

/** Kinds of layers that a file has no name for. */
export const LAYERS = Object.freeze({ ALL: Symbol("all layers"), STILL: Symbol("layers without position") });
export const STILL = "nope"; // as `layerType` names the second

/** The parameters of each kind; null: these layers do not rotate. @typedef {Map<string | symbol, Part | null>} Kinds */

/** The kinds and those that do not rotate. @type {(table: Table, kinds: Kinds) => Kinds} */
export function withStill(table, kinds) {
  const row = RULES.still.find(table.applies);
  if (!row) return kinds;
  const [types, layers] = [table.get("layer_types") ?? [], table.get("num_hidden_layers")];
  if (row.still === "all") return new Map([[LAYERS.STILL, null]]);
  if (row.still === "full_attention") {
    const all = kinds.get(LAYERS.ALL);
    if (!all) return kinds;
    const sliding = types.map((/** @type {string} */ type) => type !== "full_attention");
    noteStill(table, sliding);
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

/** Note how many layers do not rotate, if any. @type {(table: Table, turning: any[]) => void} */
export function noteStill({ notes }, turning) {
  const still = turning.filter((each) => !each).length;
  if (still) notes.add("layers without position", { count: String(still), layers: String(turning.length) });
}

/** The kind of layers that is asked for. @type {(table: Table, kinds: Kinds, layerType: any) => string | symbol} */
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

/** The kinds as `layerType` names them. @type {(kinds: Kinds) => any[]} */
export const namesIn = (kinds) => [...kinds.keys()].map(nameOf).filter((name) => name !== null);

/**
 * A kind as `layerType` names it; null for all layers.
 * @param {any} label
 * @returns {any}
 */
export const nameOf = (label) => (label === LAYERS.ALL ? null : label === LAYERS.STILL ? STILL : label);
