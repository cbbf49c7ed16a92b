// Finds the kinds of layer in a config and the rotation parameters of each kind.
import { range } from "../lib/numbers.js";
import { RuleTable } from "./config_table.js";
import { checked, configError, isObject, namesOf, own, Part, RULES, same } from "./config_values.js";

const THETA = "rope_theta";
export const THETAS = namesOf(THETA);
export const NOPE = "nope"; // our name for layers without positional encoding, which files do not name

/** The label of a kind of layer, or null if the parameters apply to all layers. @typedef {string | null} Label */
/** Rotation parameters for each kind of layer, with null for layers that do not rotate. @typedef {Map<Label, Part | null>} PartsByKind */

/** The rotation parameters for every kind of layer. @type {(table: RuleTable) => PartsByKind} */
export function kindsOf(table) {
  const stated = statedIn(table);
  const nested = Object.values(stated.values).some(isObject);
  const stretched = Object.keys(stated.values).some((key) => !["rope_type", "type", THETA].includes(key));
  Object.assign(table.facts, { nested, stretched });
  table.part = nested ? new Part({}) : stated;
  const kinds = table.decide(RULES.kinds_of_layers);
  return withStill(table, madeKinds(table, stated, kinds));
}

/** @type {(table: RuleTable, stated: Part, kinds: any) => PartsByKind} */
function madeKinds(table, stated, kinds) {
  if (kinds === null) return new Map([[null, stated]]);
  if (kinds === "nested") return nested(table, stated);
  if (typeof kinds === "string") return byLayer(table, stated, kinds);
  return new Map(Object.entries(kinds).map(([label, rule]) => [label, ofKind(table, stated, rule)]));
}

/** The content of rope_parameters or rope_scaling, or of both if they agree. @type {(table: RuleTable) => Part} */
function statedIn({ body, notes }) {
  const says = (/** @type {any} */ value) => value && !(typeof value === "object" && !Object.keys(value).length);
  const found = ["rope_scaling", "rope_parameters"].filter((name) => says(own(body.values, name)));
  const parts = found.map((name) => new Part(checked(name, body.path(name), body.values[name]), body.path(name)));
  if (found.join() === "rope_parameters" && parts[0].has(THETA) && !baseBeside(body)) notes.add("theta lost by 4");
  if (parts.length < 2) return parts[0] ?? new Part({}, body.path("rope_parameters"));
  const [scaling, parameters] = parts;
  for (const name of Object.keys(scaling.values)) if (parameters.has(name)) checkSame(scaling, parameters, name);
  if (parameters.has(THETA) && !scaling.has(THETA) && !baseBeside(body)) notes.lost("two places");
  return new Part({ ...parameters.values, ...scaling.values }, scaling.start, parameters.allPaths());
}

/** @type {(body: Part) => boolean} */
const baseBeside = (body) => THETAS.some((name) => body.has(name));

/**
 * The rotation parameters in a file that has one object per kind of layer.
 * @type {(table: RuleTable, stated: Part) => PartsByKind}
 */
function nested(table, stated) {
  /** @type {string[]} */
  const declared = table.get("layer_types") ?? [];
  const flat = RULES.rope_parameters_for_all_layers.includes(table.facts.model_type);
  /** @type {PartsByKind} */
  const kinds = new Map();
  for (const [label, value] of Object.entries(stated.values)) {
    const path = stated.path(label);
    const words = { value, rule: "nested", allowed: "an object for each layer type" };
    if (!isObject(value)) throw configError("no rule uses", path, words);
    const lost = declared.length ? !declared.includes(label) : flat;
    if (lost && Object.hasOwn(value, THETA)) table.notes.lost("no layer type", { field: `${path}.${THETA}` });
    kinds.set(label, new Part(value, path, {}, true));
  }
  if (!baseBeside(table.body)) table.notes.add("theta lost by 4");
  if (!declared.some((label) => kinds.has(label))) return kinds;
  const kindsOfAttention = /** @type {string[]} */ (RULES.kinds_of_attention);
  const still = kindsOfAttention.filter((each) => declared.includes(each) && !kinds.has(each));
  for (const label of still) kinds.set(label, null);
  const turning = declared.map((label) => !still.includes(label));
  noteStill(table, turning);
  return kinds;
}

/**
 * The parameters of one kind of layer: all of the file's parameters if `whole`, with the base taken from the key
 * `base` if given.
 * @type {(table: RuleTable, stated: Part, rule: {whole?: boolean, base?: string}) => Part}
 */
function ofKind(table, stated, { whole = false, base = "" }) {
  const source = whole ? stated : new Part({}, stated.start);
  if (!base) return source;
  const place = stated.has(base) && !whole ? stated : table.body;
  const value = place.raw(base) ?? (base === THETA ? null : table.taken(base));
  if (source.has(THETA)) checkSame(source, place, THETA, base);
  const paths = { ...source.allPaths(), [THETA]: place.path(base) };
  return new Part({ ...source.values, [THETA]: value }, source.start, paths, true);
}

/**
 * The rotation parameters in a file that lists one base per layer, where 0 means that the layer does not rotate.
 * @type {(table: RuleTable, stated: Part, name: string) => PartsByKind}
 */
function byLayer(table, stated, name) {
  const path = table.body.path(name);
  /** @type {number[]} */
  const bases = checked("layer_rope_theta", path, table.body.raw(name));
  table.used.add(path);
  const [types, fractions] = [table.get("layer_types") ?? [], table.get("partial_rotary_factors") ?? []];
  /** @type {PartsByKind} */
  const kinds = new Map();
  for (const [layer, base] of bases.entries()) {
    const label = types[layer] ?? "every layer";
    const shared = label === "full_attention" || !fractions.length ? stated.values : {};
    const own = layer < fractions.length ? { partial_rotary_factor: fractions[layer] } : {};
    const values = { ...shared, [THETA]: base, ...own };
    const part = base ? new Part(values, stated.start, { [THETA]: path }, true) : null;
    if (!kinds.has(label)) kinds.set(label, part);
    const alike = same(kinds.get(label)?.values, part?.values);
    if (!alike) throw configError("several in one kind", path, { value: label });
  }
  noteStill(table, bases);
  return kinds;
}

/** Add the kinds of layer that do not rotate. @type {(table: RuleTable, kinds: PartsByKind) => PartsByKind} */
function withStill(table, kinds) {
  const still = table.decide(RULES.still);
  if (still === null) return kinds;
  /** @type {[string[], number]} */
  const [types, layers] = [table.get("layer_types") ?? [], table.get("num_hidden_layers")];
  if (still === "all") return new Map([[NOPE, null]]);
  if (still === "full_attention") {
    const all = kinds.get(null);
    if (!all) return kinds;
    const sliding = types.map((label) => label !== "full_attention");
    noteStill(table, sliding);
    return new Map(Object.entries({ sliding_attention: all, full_attention: null }));
  }
  let turning = table.get("no_rope_layers");
  if (still === "every") {
    const interval = table.taken("no_rope_layer_interval", true);
    turning = range(1, layers).map((layer) => layer % interval);
  }
  noteStill(table, turning);
  return turning.every(Boolean) ? kinds : new Map([...kinds, [NOPE, null]]);
}

/** Note how many layers do not rotate, if any. @type {(table: RuleTable, turning: any[]) => void} */
function noteStill({ notes }, turning) {
  const still = turning.filter((each) => !each).length;
  if (still) notes.add("layers without position", { count: still, layers: turning.length });
}

/** Throw if two parts have different values for a field. @type {(part: Part, other: Part, name: string, otherName?: string) => void} */
export function checkSame(part, other, name, otherName = name) {
  const [value, otherValue] = [part.raw(name), other.raw(otherName)];
  if (same(value, otherValue)) return;
  throw configError("contradiction", part.path(name), { value, other: other.path(otherName), other_value: otherValue });
}
