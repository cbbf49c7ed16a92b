// Which part of a config is the language model's, and which of its layers are asked for.
import { checkSame, kindsOf, THETA } from "./config_kinds.js";
import { Notes, Table } from "./config_table.js";
import { checked, configError, isObject, listed, namesOf, own, Part, RULES, same } from "./config_values.js";
import { withOwnWidth } from "./config_widths.js";

/** @import { Kinds } from "./config_kinds.js" */

/**
 * The language model's part of a config, its model_type, and whether it stands in another object.
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

/** An object with the base and the rotation that stand outside it. @type {(outer: Part, inner: Part, nest: string, notes: Notes) => Part} */
function inherited(outer, inner, nest, notes) {
  const [values, paths] = [{ ...inner.values }, /** @type {Record<string, string>} */ ({})];
  for (const name of [...namesOf(THETA), "rope_parameters", "rope_scaling"]) {
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
 * The kind of layers that is asked for, its parameters (null: no rotation), and the names of all.
 * @type {(table: Table, layerType: any) => [string | null, Part | null, string[]]}
 */
export function layersOf(table, layerType) {
  const kinds = kindsOf(table);
  const told = table.notes.length;
  const label = chosen(table, new Map([...kinds].map(([each, part]) => [each, withOwnWidth(table, each, part)])), layerType);
  table.notes.length = told; // of kinds that nobody asked for
  return [label, withOwnWidth(table, label, kinds.get(label) ?? null), namesIn(kinds)];
}

/** The kind of layers that is asked for. @type {(table: Table, kinds: Kinds, layerType: any) => string | null} */
function chosen(table, kinds, layerType) {
  const names = namesIn(kinds);
  const types = table.get("layer_types") ?? [];
  if (layerType === null) {
    const turning = [...kinds].filter(([, part]) => part);
    const [label, first] = turning[0] ?? [...kinds][0];
    const alike = turning.every(([, part]) => same(part?.values, first?.values));
    if (!alike) throw configError("choose", "layer_type", { allowed: listed(names), value: null }, names);
    return label;
  }
  checked("layer_type", "layer_type", layerType);
  if (kinds.has(layerType)) return layerType;
  if (kinds.has(null) && types.includes(layerType)) return null;
  const allowed = [...new Set(names.length ? names : types)];
  const reason = allowed.length ? "no such layer type" : "one rotation";
  throw configError(reason, "layer_type", { allowed: listed(allowed), value: layerType }, allowed);
}

/** The kinds as `layerType` names them; nothing for all layers. @type {(kinds: Kinds) => string[]} */
const namesIn = (kinds) => /** @type {string[]} */ ([...kinds.keys()].filter((label) => label !== null));
