// Fields that a config states for a kind of layers alone, or layer by layer.
import { Part } from "./config_part.js";
import { Table } from "./config_table.js";
import { checked, configError, isObject, own, RULES, same } from "./config_values.js";

/**
 * A kind's parameters with the fields that the file states for this kind alone, such as its width.
 * @type {(table: Table, label: string | symbol, part: Part | null) => Part | null}
 */
export function withOwnFields(table, label, part) {
  if (!part) return part;
  const [values, paths] = [{ ...part.values }, part.allPaths()];
  for (const [name, other] of Object.entries(own(RULES.fields_of_a_kind, label) ?? RULES.fields_of_any_kind)) {
    const [value, path] = ownValue(table, label, name, other);
    if (value === null) continue;
    values[name] = value;
    paths[name] = path;
  }
  const added = Object.keys(values).filter((name) => !part.has(name));
  return new Part(values, part.start, { paths, apart: part.apart || added.length > 0, added });
}

/**
 * A kind's own value of a field and its path: that of its layers, else that of the field `other`.
 * @type {(table: Table, label: string | symbol, name: string, other: string | null) => [any, string]}
 */
function ownValue(table, label, name, other) {
  const [value, path] = ofLayers(table, label, name);
  if (other === null) return [value, path];
  const replaced = table.body.has("per_layer_config") && table.default(other) !== null; // by the model's class
  if (value === null && !replaced) return [table.taken(other), table.path(other)];
  const [read, stated] = [value ?? ofTheRest(table, name), table.get(other)];
  if (stated !== null && !same(read, stated)) {
    const words = { value: stated, other: path || table.path(name), other_value: read };
    throw configError("contradiction", table.path(other), words);
  }
  return [value, path];
}

/**
 * A field stated for single layers, where all layers of a kind agree, and its path.
 * @type {(table: Table, label: string | symbol, name: string) => [any, string]}
 */
function ofLayers(table, label, name) {
  /** @type {string[]} */
  const types = table.get("layer_types") ?? [];
  const count = types.length || table.get("num_hidden_layers");
  const stated = statedByLayer(table, name, count ?? Infinity);
  const layers = new Set(stated.map(([layer]) => layer));
  const all = Array.from({ length: count ?? 0 }, (_, layer) => layer);
  const named = all.filter((layer) => types[layer] === label);
  const members = named.length ? named : count === null ? [...layers] : all;
  /** @type {[string, any][]} */
  const found = stated
    .filter(([layer]) => members.includes(layer))
    .map(([, path, value]) => [path, checked(name, path, value)]);
  if (!found.length) return [null, ""];
  const [[first, value]] = found;
  const odd = found.find(([, each]) => !same(each, value));
  const complete = members.every((layer) => layers.has(layer));
  if (odd || !(complete || same(ofTheRest(table, name), value))) {
    const shown = typeof label === "string" ? label : "every layer";
    throw configError("several in one kind", odd ? odd[0] : first, { value: shown });
  }
  return [value, first];
}

/**
 * [layer, path, value] of a field in per_layer_config, in the order of layers.
 * @type {(table: Table, name: string, count: number) => [number, string, any][]}
 */
function statedByLayer(table, name, count) {
  const start = table.path("per_layer_config");
  /** @type {[number, string, any][]} */
  const found = [];
  for (const [layer, each] of Object.entries(table.get("per_layer_config") ?? {})) {
    const value = isObject(each) ? (own(each, name) ?? null) : null;
    if (value === null) continue;
    const path = `${start}.${layer}.${name}`;
    if (/^[0-9]{1,6}$/.test(layer) && Number(layer) < count) {
      found.push([Number(layer), path, value]);
      table.used.add(path);
    } else {
      table.notes.add("of no layer", { field: [...path.slice(0, 120)].slice(0, 60).join("") });
    }
  }
  return found.sort(([a, first], [b, second]) => a - b || (first < second ? -1 : 1));
}

/** The value of a field in layers that state none, or null. @type {(table: Table, name: string) => any} */
function ofTheRest(table, name) {
  const value = table.get(name);
  if (value !== null || name !== "head_dim") return value ?? table.default(name);
  const [hidden, heads] = [table.get("hidden_size"), table.get("num_attention_heads")];
  return table.default(name) ?? (hidden && heads && hidden % heads === 0 ? hidden / heads : null);
}
