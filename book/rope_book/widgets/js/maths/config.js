// Reads a model's config.json with the same rules as Python; mirrors doctor/rope_doctor/config/reader.py.
import { NOPE } from "./config_kinds.js";
import { bodyOf, layersOf } from "./config_layers.js";
import { RuleTable } from "./config_table.js";
import { checked, configError, isObject, Notes, namesOf, RULES } from "./config_values.js";
import { cut, formatValue, listed } from "./config_words.js";
import { pRope } from "./partial.js";
import * as scaling from "./scaling.js";

const OBJECTS = ["rope_parameters", "rope_scaling", "rotary"]; // objects in which ruleOf rejects unread fields
const ELSEWHERE = Object.keys(RULES.fields).flatMap((name) => {
  return RULES.fields[name].place === "rotation" ? [] : namesOf(name);
});

/** The counterpart of each function in rope_edu, called with the width, the positional arguments and the settings.
 * @type {Record<string, (width: number, given: any[], settings: any) => Rotation>} */
const ROTATIONS = {
  nope: (width) => ({ invFreq: Array(width / 2).fill(0), attentionFactor: 1 }),
  plain_rope: (width, _, { base }) => scaling.plainRope(width, base),
  partial_rope: (_, [width], { base }) => scaling.plainRope(width, base),
  position_interpolation: (width, [factor], { base }) => scaling.positionInterpolation(width, factor, base),
  ntk_aware: (width, [factor], { base }) => scaling.ntkAware(width, factor, base),
  dynamic_ntk: (width, [trained], { length, factor, base }) => scaling.dynamicNtk(width, trained, length, factor, base),
  yarn: (width, [factor, trained], settings) => scaling.yarn(width, factor, trained, camel(settings)),
  llama3: (width, [factor, trained], settings) => scaling.llama3(width, factor, trained, camel(settings)),
  longrope: (width, [factor, trained], settings) => scaling.longrope(width, factor, trained, camel(settings)),
  p_rope: (width, [part], { base }) => ({ invFreq: pRope(width, part, base), attentionFactor: 1 }),
};

/** @type {(settings: Record<string, any>) => any} */
const camel = (settings) =>
  Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [name.replace(/_(\w)/g, (_, c) => c.toUpperCase()), value]),
  );

/**
 * Read the rotation that a config specifies. Throws a ConfigError {reason, field, message, choices} if the config
 * is invalid or unsupported.
 * @type {(config: any, layerType?: string | null, seqLen?: number | null) => any}
 */
export function readConfig(config, layerType = null, seqLen = null) {
  if (seqLen !== null) checked("seq_len", "seq_len", seqLen);
  const notes = new Notes();
  const suggestive = suggestivePaths(config);
  const [body, family, nested] = bodyOf(config, notes);
  const table = new RuleTable(body, notes, { model_type: family, nested_file: nested, seq_len: seqLen });
  table.decide(RULES.first);
  const [label, rotates, labels] = layersOf(table, layerType);
  const call = callOf(table, rotates ? ruleOf(table) : RULES.still_rule);
  noteUnread(table, suggestive);
  const { facts } = table;
  return {
    ...call,
    layout: facts.layout,
    ropeType: facts.rule,
    headDim: facts.head_dim,
    base: facts.base ?? 1,
    factor: facts.factor ?? null,
    longest: table.get("max_position_embeddings"),
    trained: facts.trained ?? null,
    layerType: label ?? layerType,
    layerTypes: labels,
    sections: facts.sections ?? null,
    softmaxScale: "softmax_scale" in facts ? facts.softmax_scale : 1,
    sectionOrder: facts.section_order ?? null,
    remarks: [...notes],
  };
}

/**
 * Determine a config's rule. Throws if the rotation parameters contain a key that the rule does not use.
 * @param {RuleTable} table
 */
function ruleOf(table) {
  table.run(RULES.rule);
  const { part, facts } = table;
  const rule = RULES.rules[facts.rule];
  const { takes, without_effect: idle = [] } = rule;
  const known = [...takes, ...idle, ...RULES.any_rule_takes, ...RULES.beside_the_rotation, ...part.added];
  for (const [key, value] of Object.entries(part.values)) {
    const words = { value, rule: facts.rule, allowed: listed(takes) || "no further key" };
    if (!known.includes(key)) throw configError("no rule uses", part.path(key), words);
    table.used.add(part.path(key));
  }
  return rule;
}

/** Determine the call that a rule makes, and the rotation that the call returns. @type {(table: RuleTable, rule: any) => any} */
function callOf(table, { facts: rows, calls }) {
  table.run(rows);
  const { facts } = table;
  const call = table.decide(calls);
  const given = call.arguments.map((/** @type {any} */ each) => table.value(each));
  const stated = Object.entries({ ...call.settings, base: "@base" });
  const values = stated.map(([name, each]) => [name, table.value(each)]);
  const settings = Object.fromEntries(values.filter(([, value]) => value !== null));
  const dividedBy = table.value(call.divided_by ?? 1);
  const rotaryDim = facts.rotary_dim ?? facts.head_dim;
  const { invFreq, attentionFactor } = ROTATIONS[call.function](rotaryDim, given.slice(1), settings);
  const frequencies = invFreq.map((frequency) => frequency / dividedBy);
  const made = { invFreq: frequencies, attentionFactor, axes: facts.axes ?? null, rotaryDim };
  const changes = facts.layout === "interleaved" ? {} : { layout: facts.layout };
  if (given[0] !== facts.head_dim) Object.assign(changes, { head_dim: facts.head_dim });
  return { rule: call.function, kind: call.kind, given, settings, changes, dividedBy, ...made };
}

/** A line of Python that creates a reading's rotation. @type {(reading: any) => string} */
export function pythonOf({ rule, given, settings, changes, axes, dividedBy }) {
  if (rule === NOPE || rule === "longrope" || dividedBy !== 1 || axes) return 'rope_from_config("config.json")';
  const literal = (/** @type {any} */ value) => (value === false ? "False" : formatValue(value));
  const keywords = (/** @type {any} */ values) =>
    Object.entries(values).map(([name, value]) => `${name}=${literal(value)}`);
  const changed = keywords(changes).join(", ");
  return `${rule}(${[...given.map(formatValue), ...keywords(settings)].join(", ")})${changed && `.replace(${changed})`}`;
}

/**
 * The paths of all non-empty fields whose names suggest a rotation. Throws if the file is nested too deeply.
 * @type {(config: any) => string[]}
 */
function suggestivePaths(config) {
  const suggests = new RegExp(RULES.words_of_rotation);
  const says = (/** @type {any} */ value) =>
    value !== null && !(typeof value === "object" && !Object.keys(value).length);
  const nameOf = (/** @type {string} */ path) => path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  return [...walk(config)].flatMap(([path, value]) => (suggests.test(nameOf(path)) && says(value) ? [path] : []));
}

/** Iterate over [path, value] for all fields at any depth, without recursion. @type {(config: any) => Generator<[string, any]>} */
function* walk(config) {
  /** @type {[string, number, any][]} */
  const stack = isObject(config) ? [["", 0, config]] : [];
  for (let top = stack.pop(); top; top = stack.pop()) {
    const [path, depth, value] = top;
    if (depth > RULES.deepest) throw configError("too deep", "config", { deepest: RULES.deepest });
    if (path) yield [path, value];
    const inner = Array.isArray(value)
      ? value.filter((each) => each !== null && typeof each === "object").map((each) => [`${path}[]`, each])
      : Object.entries(isObject(value) ? value : {}).map(([key, each]) => [path ? `${path}.${key}` : key, each]);
    for (const [name, each] of inner.reverse()) stack.push([name, depth + 1, each]);
  }
}

/** Add a remark about unread fields whose names suggest a rotation. @type {(table: RuleTable, suggestive: string[]) => void} */
function noteUnread({ body, notes, used }, suggestive) {
  const read = new Set([...used, ...[...ELSEWHERE, ...OBJECTS].map((name) => body.path(name))]);
  const inside = OBJECTS.map((name) => `${body.path(name)}.`);
  const unread = suggestive.filter((path) => !read.has(path) && !inside.some((each) => path.startsWith(each)));
  const shown = unread.slice(0, 6).map((path) => cut(path, 60));
  if (unread.length) notes.add("not read", { fields: shown.join(", ") + (unread.length > 6 ? ", …" : "") });
}
