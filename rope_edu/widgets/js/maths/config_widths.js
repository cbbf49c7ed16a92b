// The width of a head that a config states for one kind of layers alone, or layer by layer.
import { range } from "../lib/numbers.js";
import { Table } from "./config_table.js";
import { checked, configError, cut, isObject, own, Part, RULES, same } from "./config_values.js";

const WIDTH = "head_dim";

/**
 * A kind's parameters with the width that the file states for this kind alone.
 * @type {(table: Table, label: string | null, part: Part | null) => Part | null}
 */
export function withOwnWidth(table, label, part) {
  if (!part) return null;
  const [width, path] = ownWidth(table, label);
  if (width === null) return part;
  const added = part.has(WIDTH) ? [] : [WIDTH];
  const values = { ...part.values, [WIDTH]: width };
  return new Part(values, part.start, { ...part.allPaths(), [WIDTH]: path }, part.apart || added.length > 0, added);
}

/**
 * A kind's own width and its path: that of its layers, else that of the field for this kind.
 * @type {(table: Table, label: string | null) => [any, string]}
 */
function ownWidth(table, label) {
  const [width, path] = ofLayers(table, label);
  const other = own(RULES.width_of_a_kind, label);
  if (!other) return [width, path];
  const replaced = table.body.has("per_layer_config") && table.default(other) !== null; // by the model's class
  if (width === null && !replaced) return [table.taken(other), table.path(other)];
  const [read, stated] = [width ?? ofTheRest(table), table.get(other)];
  if (stated !== null && !same(read, stated)) {
    const words = { value: stated, other: path || table.path(WIDTH), other_value: read };
    throw configError("contradiction", table.path(other), words);
  }
  return [width, path];
}

/**
 * The width stated for single layers, where all layers of a kind agree, and its path.
 * @type {(table: Table, label: string | null) => [any, string]}
 */
function ofLayers(table, label) {
  /** @type {string[]} */
  const types = table.get("layer_types") ?? [];
  const count = types.length || table.get("num_hidden_layers");
  const stated = byLayer(table, count ?? Infinity);
  const layers = new Set(stated.map(([layer]) => layer));
  const all = range(0, (count ?? 0) - 1);
  const named = all.filter((layer) => types[layer] === label);
  const members = named.length ? named : count ? all : [...layers];
  const inside = stated.filter(([layer]) => members.includes(layer));
  const found = inside.map(([, path, width]) => [path, checked(WIDTH, path, width)]);
  if (!found.length) return [null, ""];
  const [[first, width]] = found;
  const odd = found.find(([, each]) => !same(each, width));
  const complete = members.every((layer) => layers.has(layer));
  if (odd || !(complete || same(ofTheRest(table), width))) {
    throw configError("several in one kind", odd ? odd[0] : first, { value: label ?? "every layer" });
  }
  return [width, first];
}

/**
 * [layer, path, width] of each in per_layer_config, in the order of layers.
 * @type {(table: Table, count: number) => [number, string, any][]}
 */
function byLayer(table, count) {
  const start = table.path("per_layer_config");
  /** @type {[number, string, any][]} */
  const found = [];
  for (const [layer, each] of Object.entries(table.get("per_layer_config") ?? {})) {
    const width = isObject(each) ? (own(each, WIDTH) ?? null) : null;
    if (width === null) continue;
    const path = `${start}.${layer}.${WIDTH}`;
    if (/^[0-9]{1,6}$/.test(layer) && Number(layer) < count) {
      found.push([Number(layer), path, width]);
      table.used.add(path);
    } else table.notes.add("of no layer", { field: cut(path, 60) });
  }
  return found.sort(([a, first], [b, second]) => a - b || (first < second ? -1 : 1));
}

/** The width of layers that state none, or null. @type {(table: Table) => any} */
function ofTheRest(table) {
  const width = table.get(WIDTH);
  if (width !== null) return width;
  const [hidden, heads] = [table.get("hidden_size"), table.get("num_attention_heads")];
  return table.default(WIDTH) ?? (hidden && heads && hidden % heads === 0 ? hidden / heads : null);
}
