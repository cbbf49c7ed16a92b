// Kinds of layers: which object of a config states the rotation of which of them.
import { LAYERS, noteStill, withStill } from "./config_choice.js";
import { Part } from "./config_part.js";
import { Table } from "./config_table.js";
import { checked, configError, isObject, namesOf, own, RULES, same } from "./config_values.js";

/** @import { Kinds } from "./config_choice.js" */
const THETA = "rope_theta";

/**
 * The language model's part of a config, its model_type, and whether it stands in another object.
 * @param {any} config
 * @param {(how: string, words: Record<string, string>) => void} lost
 */
export function bodyOf(config, lost) {
  if (!isObject(config)) throw configError("not an object", "config", { value: config });
  let body = new Part(config);
  let family = familyOf(body, "");
  for (let inside = false; ; inside = true) {
    const nest = RULES.nests.find((/** @type {string} */ name) => body.has(name));
    if (!nest) return { body, family, inside };
    const inner = new Part(checked("text_config", body.path(nest), body.values[nest]), body.path(nest));
    body = RULES.outer_rotation_is_another.includes(family) ? inner : inherited(body, inner, nest, lost);
    family = familyOf(body, own(RULES.text_of, family) ?? "");
  }
}

/** @type {(body: Part, otherwise: string) => string} */
const familyOf = (body, otherwise) =>
  checked("model_type", body.path("model_type"), own(body.values, "model_type") ?? otherwise);

/** @type {(outer: Part, inner: Part, nest: string, lost: Function) => Part} */
function inherited(outer, inner, nest, lost) {
  const values = { ...inner.values };
  /** @type {Record<string, string>} */
  const paths = {};
  for (const name of [...namesOf(THETA), "rope_parameters", "rope_scaling"]) {
    if (!outer.has(name)) continue;
    if (!inner.has(name)) {
      values[name] = outer.raw(name);
      paths[name] = outer.path(name);
      lost("outside", { field: outer.path(name), nest });
    } else if (!same(outer.raw(name), inner.raw(name))) throw contradiction(inner, name, outer, name);
  }
  return new Part(values, inner.path(""), { paths });
}

/** The rotation's parameters for each kind of layers. @type {(table: Table) => Kinds} */
export function kindsOf(table) {
  const stated = statedIn(table);
  const { model_type } = table.facts;
  table.facts.nested = Object.values(stated.values).some(isObject);
  table.facts.stretched = Object.keys(stated.values).some((key) => !["rope_type", "type", THETA].includes(key));
  table.part = table.facts.nested ? new Part({}) : stated;
  const row = RULES.kinds_of_layers.find(table.applies);
  const flat = !table.facts.nested && stated.has(THETA);
  const kinds = makeKinds(table, stated, row);
  if (flat && RULES.rope_parameters_per_layer_type.includes(model_type)) table.lost("flat");
  return withStill(table, kinds);
}

/** @type {(table: Table, stated: Part, row: any) => Kinds} */
function makeKinds(table, stated, row) {
  if (!row) return new Map([[LAYERS.ALL, stated]]);
  if (row.kinds === "nested") return nested(table, stated);
  if (row.kinds === "by layer") return byLayer(table, stated, row);
  return new Map(Object.entries(row.kinds).map(([label, rule]) => [label, takenFor(table, stated, rule)]));
}

/** @type {(table: Table) => Part} */
function statedIn(table) {
  const { body, notes } = table;
  const found = ["rope_scaling", "rope_parameters"].filter((name) => {
    const value = own(body.values, name);
    return value && !(typeof value === "object" && !Object.keys(value).length);
  });
  const parts = found.map((name) => new Part(checked(name, body.path(name), body.values[name]), body.path(name)));
  const beside = namesOf(THETA).some((name) => body.has(name));
  if (found.join() === "rope_parameters" && parts[0].has(THETA) && !beside) notes.add("theta lost by 4");
  if (parts.length < 2) return parts[0] ?? new Part({}, body.path("rope_parameters"));
  const [scaling, parameters] = parts;
  for (const name of Object.keys(scaling.values)) {
    const twice = parameters.has(name) && !same(scaling.values[name], parameters.values[name]);
    if (twice) throw contradiction(scaling, name, parameters, name);
  }
  if (parameters.has(THETA) && !scaling.has(THETA) && !beside) table.lost("two places");
  const values = { ...parameters.values, ...scaling.values };
  return new Part(values, scaling.path(""), { paths: parameters.allPaths() });
}

/** @type {(table: Table, stated: Part) => Kinds} */
function nested(table, stated) {
  const declared = table.get("layer_types") ?? [];
  const flat = RULES.rope_parameters_for_all_layers.includes(table.facts.model_type);
  for (const [label, value] of Object.entries(stated.values)) {
    const words = { value, rule: "nested", allowed: "an object for each layer type" };
    if (!isObject(value)) throw configError("no rule uses", stated.path(label), words);
    const lost = declared.length ? !declared.includes(label) : flat;
    if (lost && Object.hasOwn(value, THETA)) table.lost("no layer type", { field: `${stated.path(label)}.${THETA}` });
  }
  if (!namesOf(THETA).some((name) => table.body.has(name))) table.notes.add("theta lost by 4");
  /** @type {Kinds} */
  const kinds = new Map();
  for (const [label, value] of Object.entries(stated.values)) {
    kinds.set(label, new Part(value, stated.path(label), { apart: true }));
  }
  if (!declared.some((/** @type {string} */ label) => kinds.has(label))) return kinds;
  const still = RULES.kinds_of_attention.filter((/** @type {string} */ label) => {
    return declared.includes(label) && !kinds.has(label);
  });
  for (const label of still) kinds.set(label, null);
  const turning = declared.map((/** @type {string} */ label) => !still.includes(label));
  noteStill(table, turning);
  return kinds;
}

/** @type {(table: Table, stated: Part, rule: Record<string, any>) => Part} */
function takenFor(table, stated, { stated: all = false, ...rule }) {
  const source = all ? stated : new Part({}, stated.path(""));
  const [values, paths] = [{ ...source.values }, source.allPaths()];
  for (const [name, other] of Object.entries(rule)) {
    const place = stated.has(other) && !all ? stated : table.body;
    const value = place.raw(other) ?? (other === name ? null : table.taken(other));
    if (value === null) continue;
    if (name in values && !same(values[name], value)) throw contradiction(source, name, place, other);
    values[name] = value;
    paths[name] = place.path(other);
  }
  return new Part(values, source.path(""), { paths, apart: Object.keys(rule).length > 0 });
}

/** @type {(table: Table, stated: Part, row: any) => Kinds} */
function byLayer(table, stated, { field, from }) {
  const path = table.body.path(from);
  const bases = checked(field, path, table.body.raw(from));
  table.used.add(path);
  const [types, fractions] = [table.get("layer_types") ?? [], table.get("partial_rotary_factors") ?? []];
  /** @type {Kinds} */
  const kinds = new Map();
  bases.forEach((/** @type {number} */ base, /** @type {number} */ layer) => {
    const label = types[layer] ?? "every layer";
    const shared = label === "full_attention" || !fractions.length ? stated.values : {};
    const own = layer < fractions.length ? { partial_rotary_factor: fractions[layer] } : {};
    const values = { ...shared, [THETA]: base, ...own };
    const part = base ? new Part(values, stated.path(""), { paths: { [THETA]: path }, apart: true }) : null;
    if (!kinds.has(label)) kinds.set(label, part);
    const alike = same(kinds.get(label)?.values, part?.values);
    if (!alike) throw configError("several in one kind", path, { value: label });
  });
  noteStill(table, bases);
  return kinds;
}

/** @type {(part: Part, name: string, other: Part, otherName: string) => Error} */
function contradiction(part, name, other, otherName) {
  const words = { value: part.raw(name), other: other.path(otherName), other_value: other.raw(otherName) };
  return configError("contradiction", part.path(name), words);
}
