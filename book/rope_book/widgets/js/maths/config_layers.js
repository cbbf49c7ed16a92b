// Finds the section of a config that describes the language model, and the requested layers in that section.
import { range } from "../lib/numbers.js";
import { checkSame, kindsOf, THETAS } from "./config_kinds.js";
import { RuleTable } from "./config_table.js";
import { checked, configError, isObject, Notes, own, Part, RULES, same } from "./config_values.js";
import { cut, listed } from "./config_words.js";

/** @import { PartsByKind, Label } from "./config_kinds.js" */
const WIDTH = "head_dim";

/**
 * The language model's section of a config, the model_type, and whether the section is nested in another object.
 * @type {(config: any, notes: Notes) => [Part, string, boolean]}
 */
export function bodyOf(config, notes) {
  if (!isObject(config)) throw configError("not an object", "config", { value: config });
  let [body, inside] = [new Part(config), false];
  const nestOf = () => RULES.nests.find((/** @type {string} */ name) => body.has(name));
  let family = familyOf(body, "");
  for (let nest = nestOf(); nest; nest = nestOf()) {
    const inner = new Part(checked("text_config", body.path(nest), body.values[nest]), body.path(nest));
    body = RULES.outer_rotation_is_another.includes(family) ? inner : inherited(body, inner, nest, notes);
    [family, inside] = [familyOf(body, own(RULES.text_of, family) ?? ""), true];
  }
  return [body, family, inside];
}

/** @type {(body: Part, otherwise: string) => string} */
const familyOf = (body, otherwise) =>
  checked("model_type", body.path("model_type"), own(body.values, "model_type") ?? otherwise);

/** The inner object, extended with the rotation fields of the outer object. @type {(outer: Part, inner: Part, nest: string, notes: Notes) => Part} */
function inherited(outer, inner, nest, notes) {
  const [values, paths] = [{ ...inner.values }, /** @type {Record<string, string>} */ ({})];
  for (const name of [...THETAS, "rope_parameters", "rope_scaling"]) {
    if (!outer.has(name)) continue;
    if (inner.has(name)) checkSame(inner, outer, name);
    else {
      values[name] = outer.raw(name);
      paths[name] = outer.path(name);
      notes.lost("outside", { field: outer.path(name), nest });
    }
  }
  return new Part(values, inner.start, paths);
}

/**
 * Select the requested layers in the table. Returns their kind, whether they rotate, and the names of all kinds.
 * @type {(table: RuleTable, layerType: any) => [Label, boolean, string[]]}
 */
export function layersOf(table, layerType) {
  const kinds = kindsOf(table);
  const count = table.notes.length;
  const names = /** @type {string[]} */ ([...kinds.keys()].filter((label) => label !== null));
  const full = new Map([...kinds].map(([label, part]) => [label, withOwnWidth(table, label, part)]));
  const label = layerType === null ? onlyOne(full, names) : named(table, full, names, layerType);
  table.notes.length = count; // drop remarks about other kinds
  const part = withOwnWidth(table, label, kinds.get(label) ?? null);
  table.part = part ?? new Part({});
  return [label, part !== null, names];
}

/** The first kind that rotates. Throws if other kinds rotate differently. @type {(kinds: PartsByKind, names: string[]) => Label} */
function onlyOne(kinds, names) {
  const turning = [...kinds].filter(([, part]) => part);
  const [label, first] = turning[0] ?? [...kinds][0];
  const alike = turning.every(([, part]) => same(part?.values, first?.values));
  if (!alike) throw configError("choose", "layer_type", { allowed: listed(names), value: null }, names);
  return label;
}

/** @type {(table: RuleTable, kinds: PartsByKind, names: string[], layerType: any) => Label} */
function named(table, kinds, names, layerType) {
  const types = table.get("layer_types") ?? [];
  checked("layer_type", "layer_type", layerType);
  if (kinds.has(layerType)) return layerType;
  if (kinds.has(null) && types.includes(layerType)) return null;
  const allowed = [...new Set(names.length ? names : types)];
  const reason = allowed.length ? "no such layer type" : "one rotation";
  throw configError(reason, "layer_type", { allowed: listed(allowed), value: layerType }, allowed);
}

/** The parameters of a kind, including the kind's own width, if any. @type {(table: RuleTable, label: Label, part: Part | null) => Part | null} */
function withOwnWidth(table, label, part) {
  if (!part) return null;
  const [width, path] = ownWidth(table, label);
  if (width === null) return part;
  const added = part.has(WIDTH) ? [] : [WIDTH];
  const values = { ...part.values, [WIDTH]: width };
  return new Part(values, part.start, { ...part.allPaths(), [WIDTH]: path }, part.apart || added.length > 0, added);
}

/**
 * The width stated for a kind, or null, and the field's path.
 * @type {(table: RuleTable, label: Label) => [any, string]}
 */
function ownWidth(table, label) {
  const [width, path] = ofLayers(table, label);
  const other = own(RULES.width_of_a_kind, label);
  if (!other) return [width, path];
  // the model's class overwrites the stated width
  const replaced = table.body.has("per_layer_config") && table.default(other) !== null;
  if (width === null && !replaced) return [table.taken(other), table.path(other)];
  const [read, stated] = [width ?? ofTheRest(table), table.get(other)];
  if (stated !== null && !same(read, stated)) {
    const words = { value: stated, other: path || table.path(WIDTH), other_value: read };
    throw configError("contradiction", table.path(other), words);
  }
  return [width, path];
}

/** The width stated for individual layers of a kind, and the field's path. Throws if the layers disagree. @type {(table: RuleTable, label: Label) => [any, string]} */
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

/** A list of [layer, path, width] for the layers whose width the file states. @type {(table: RuleTable, count: number) => [number, string, any][]} */
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

/** The default width for layers without a stated width, or null. @type {(table: RuleTable) => any} */
function ofTheRest(table) {
  const width = table.get(WIDTH);
  if (width !== null) return width;
  const [hidden, heads] = [table.get("hidden_size"), table.get("num_attention_heads")];
  return table.default(WIDTH) ?? (hidden && heads && hidden % heads === 0 ? hidden / heads : null);
}
