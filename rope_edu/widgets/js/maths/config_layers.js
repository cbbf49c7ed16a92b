// Which object of a config states the rotation of which layers: the same as rope_edu/config/layers.py.
import { Notes, namesOf, Part } from "./config_part.js";
import { checked, isObject, RULES, refuse, said, same } from "./config_values.js";

const THETA = "rope_theta";
export const STILL = "nope"; // the type of layers that do not rotate, where the file has no name for them
export const ALL = ""; // the label of a rotation that all layers share

/**
 * The language model's part of a config, nested or not.
 * @param {any} config
 * @param {Notes} notes
 */
export function bodyOf(config, notes) {
  if (!isObject(config)) throw refuse("not an object", "config", { value: config });
  let body = new Part(config);
  for (let depth = 0; depth < 3; depth++) {
    const nest = RULES.nests.find((/** @type {string} */ name) => body.has(name));
    if (!nest) break;
    const inner = new Part(checked("text_config", body.path(nest), body.values[nest]), body.path(nest));
    body = inherited(body, inner, nest, notes);
  }
  return body;
}

/** @type {(outer: Part, inner: Part, nest: string, notes: Notes) => Part} */
function inherited(outer, inner, nest, notes) {
  const values = { ...inner.values };
  /** @type {Record<string, string>} */
  const paths = {};
  for (const name of [...namesOf(THETA), "rope_parameters", "rope_scaling"]) {
    if (!outer.has(name)) continue;
    if (!inner.has(name)) {
      values[name] = outer.values[name];
      paths[name] = outer.path(name);
      notes.lost("outside", { field: outer.path(name), nest });
    } else if (!same(outer.values[name], inner.values[name])) throw contradiction(inner, name, outer, name);
  }
  return new Part(values, inner.path(""), { paths });
}

/**
 * The rotation's parameters for each type of layer, or for all: a Map from label to Part.
 * @param {Part} body
 * @param {string} family
 * @param {Notes} notes
 * @returns {Map<string, Part>}
 */
export function rotationsOf(body, family, notes) {
  const stated = statedOf(body, notes);
  if (Object.values(stated.values).some(isObject)) return nested(stated, body, family, notes);
  if (stated.has(THETA) && RULES.rope_parameters_per_layer_type.includes(family)) {
    notes.lost("flat", { model_type: family });
  }
  const name = Object.keys(RULES.second_bases).find((each) => body.has(each));
  const own = ownOf(family).rope_local_base_freq;
  if (!name && own === undefined) return new Map([[ALL, stated]]);
  if (!name) notes.add("default taken", { field: "rope_local_base_freq", value: said(own), model_type: family });
  return twoBases(stated, body, name ?? "rope_local_base_freq", name ? body.values[name] : own);
}

/**
 * The values that an architecture takes for fields that are not there.
 * @param {string} family
 * @returns {Record<string, any>}
 */
export const ownOf = (family) => (Object.hasOwn(RULES.defaults, family) ? RULES.defaults[family] : {});

/** @type {(body: Part, notes: Notes) => Part} */
function statedOf(body, notes) {
  const found = ["rope_scaling", "rope_parameters"].filter((name) => {
    const value = body.get(name);
    return value && Object.keys(value).length;
  });
  const parts = found.map((name) => new Part(body.values[name], body.path(name)));
  const beside = namesOf(THETA).some((name) => body.has(name));
  if (found.length === 1 && found[0] === "rope_parameters" && parts[0].has(THETA) && !beside) {
    notes.add("theta lost by 4");
  }
  if (parts.length < 2) return parts[0] ?? new Part({}, body.path("rope_parameters"));
  const [scaling, parameters] = parts;
  for (const name in scaling.values) {
    const twice = parameters.has(name) && !same(scaling.values[name], parameters.values[name]);
    if (twice) throw contradiction(scaling, name, parameters, name);
  }
  if (parameters.has(THETA) && !scaling.has(THETA) && !beside) notes.lost("two places");
  const paths = Object.fromEntries(Object.keys(parameters.values).map((name) => [name, parameters.path(name)]));
  return new Part({ ...parameters.values, ...scaling.values }, scaling.path(""), { paths });
}

/** @type {(stated: Part, body: Part, family: string, notes: Notes) => Map<string, Part>} */
function nested(stated, body, family, notes) {
  const declared = body.get("layer_types");
  const flat = RULES.rope_parameters_for_all_layers.includes(family);
  for (const [label, value] of Object.entries(stated.values)) {
    const words = { value, rule: "nested", allowed: "an object for each layer type" };
    if (!isObject(value)) throw refuse("no rule uses", stated.path(label), words);
    const lost = declared ? !declared.includes(label) : flat;
    if (lost && Object.hasOwn(value, THETA)) notes.lost("no layer type", { field: `${stated.path(label)}.${THETA}` });
  }
  if (!namesOf(THETA).some((name) => body.has(name))) notes.add("theta lost by 4");
  const parts = Object.entries(stated.values);
  return new Map(parts.map(([label, value]) => [label, new Part(value, stated.path(label), { apart: true })]));
}

/** @type {(stated: Part, body: Part, name: string, base: any) => Map<string, Part>} */
function twoBases(stated, body, name, base) {
  const rule = RULES.second_bases[name];
  const paths = { [THETA]: body.path(name) };
  if (rule.scaled !== rule.own) {
    const second = new Part({ [THETA]: base }, "", { paths, apart: true });
    return new Map([
      [rule.others, stated],
      [rule.own, second],
    ]);
  }
  if (stated.has(THETA) && !same(stated.values[THETA], base)) throw contradiction(stated, THETA, body, name);
  const own = Object.fromEntries(Object.keys(stated.values).map((key) => [key, stated.path(key)]));
  const more = { paths: { ...own, ...paths }, apart: true };
  return new Map([
    [rule.others, new Part({}, stated.path(""))],
    [rule.own, new Part({ ...stated.values, [THETA]: base }, stated.path(""), more)],
  ]);
}

/** @type {(part: Part, name: string, other: Part, otherName: string) => Error} */
function contradiction(part, name, other, otherName) {
  const words = { value: part.values[name], other: other.path(otherName), other_value: other.values[otherName] };
  return refuse("contradiction", part.path(name), words);
}
