// Read a model's config.json by the rules that Python reads too: the same as rope_edu.config.
import { phraseOf } from "../lib/phrase.js";
import { chosen, nameOf, namesIn, STILL } from "./config_choice.js";
import { bodyOf, kindsOf } from "./config_layers.js";
import { pairAxes } from "./config_operators.js";
import { withOwnFields } from "./config_own.js";
import { Notes, Part } from "./config_part.js";
import { Table } from "./config_table.js";
import { keysThatSpeak, noteUnread } from "./config_unread.js";
import { checked, configError, filled, formatValue, listed, own, RULES } from "./config_values.js";
import { pRope } from "./partial.js";
import * as scaling from "./scaling.js";

/** The rotations that a call makes, of its width, its other arguments and its settings. @type {Record<string, (width: number, given: any[], settings: any) => any>} */
const ROTATIONS = {
  plain_rope: (width, _, { base }) => scaling.plainRope(width, base),
  partial_rope: (_, [width], { base }) => scaling.plainRope(width, base),
  position_interpolation: (width, [factor], { base }) => scaling.positionInterpolation(width, factor, base),
  ntk_aware: (width, [factor], { base }) => scaling.ntkAware(width, factor, base),
  dynamic_ntk: (width, [length, trained], { factor, base }) => scaling.dynamicNtk(width, length, trained, factor, base),
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
 * A config's statement of a rotation; throws a ConfigError {reason, field, message, choices}.
 * @param {any} config
 * @param {string | null} [layerType]
 * @param {number | null} [seqLen]
 */
export function readConfig(config, layerType = null, seqLen = null) {
  if (seqLen !== null) checked("seq_len", "seq_len", seqLen);
  const table = new Table(new Part({}), { model_type: "", seq_len: seqLen });
  const speaking = keysThatSpeak(config);
  const { body, family, inside } = bodyOf(config, (how, words) => table.lost(how, words));
  table.body = body;
  Object.assign(table.facts, { model_type: family, nested_file: inside });
  table.decide(RULES.first);
  const kinds = kindsOf(table);
  const { notes } = table;
  table.notes = new Notes(); // of kinds that nobody asked for
  const full = new Map([...kinds].map(([label, part]) => [label, withOwnFields(table, label, part)]));
  const label = chosen(table, full, layerType);
  table.notes = notes;
  const part = withOwnFields(table, label, kinds.get(label) ?? null);
  table.part = part ?? new Part({});
  table.run({ layout: RULES.facts.layout });
  const made = part ? rotating(table) : still(table);
  noteUnread(table, speaking);
  const { facts } = table;
  return {
    ...made,
    layout: facts.layout,
    ropeType: facts.rule,
    headDim: facts.head_dim,
    base: facts.base ?? 1,
    factor: facts.factor ?? null,
    longest: table.get("max_position_embeddings"),
    trained: facts.trained ?? null,
    layerType: nameOf(label) ?? layerType,
    layerTypes: namesIn(kinds),
    sections: facts.sections ?? null,
    sectionOrder: facts.section_order ?? null,
    remarks: notes.list.map(([kind, words]) => [kind, filled(RULES.remarks[kind], words)]),
  };
}

/** @param {Table} table */
function rotating(table) {
  const { facts } = table;
  const rule = ruleOf(table);
  facts.rule = rule;
  table.run(RULES.facts);
  table.run(RULES.rules[rule].facts);
  table.run(RULES.last);
  const row = RULES.rules[rule].calls.find(table.applies);
  const given = row.arguments.map((/** @type {any} */ each) => table.value(each));
  const all = Object.entries(row.settings).map(([name, each]) => [name, table.value(each)]);
  const settings = { ...Object.fromEntries(all.filter(([, value]) => value !== null)), base: facts.base };
  const { invFreq, attentionFactor } = ROTATIONS[row.function](facts.rotary_dim, given.slice(1), settings);
  const dividedBy = table.value(row.divided_by ?? 1);
  const axes = facts.sections && pairAxes(facts.sections, facts.section_order);
  const frequencies = invFreq.map((/** @type {number} */ frequency) => frequency / dividedBy);
  const call = {
    rule: row.function,
    kind: row.kind,
    given,
    settings: { ...settings, layout: facts.layout },
    dividedBy,
  };
  return { ...call, invFreq: frequencies, attentionFactor, axes, rotaryDim: facts.rotary_dim };
}

/** @param {Table} table */
function ruleOf(table) {
  let rule = table.get("rope_type") ?? "default";
  const [path, { part }] = [table.path("rope_type"), table];
  const why = own(RULES.refused_rules, rule);
  if (why) throw configError("refused rule", path, { value: rule, why: phraseOf(why) });
  if (!Object.hasOwn(RULES.rules, rule)) {
    const allowed = listed([...Object.keys(RULES.rules), ...Object.keys(RULES.refused_rules)]);
    throw configError("no rule", path, { allowed, value: rule });
  }
  if (rule === "dynamic" && part.has("alpha")) rule = "ntk_alpha";
  const { takes, without_effect: idle = [] } = RULES.rules[rule];
  const known = [...takes, ...idle, ...RULES.any_rule_takes, ...RULES.beside_the_rotation, ...part.added];
  for (const [name, value] of Object.entries(part.values)) {
    const words = { value, rule, allowed: listed(takes) || "no key of its own" };
    if (!known.includes(name)) throw configError("no rule uses", part.path(name), words);
    table.used.add(part.path(name));
  }
  return rule;
}

/** @param {Table} table */
function still(table) {
  table.facts.rule = STILL;
  table.run({ head_dim: RULES.facts.head_dim });
  const { head_dim: headDim, layout } = table.facts;
  const words = { value: headDim, width: headDim, least: 2 };
  if (headDim % 2) throw configError("odd width", table.path("head_dim"), words);
  const made = { rule: STILL, kind: STILL, given: [headDim], settings: { layout }, dividedBy: 1, axes: null };
  return { ...made, invFreq: Array(headDim / 2).fill(0), attentionFactor: 1, rotaryDim: headDim };
}

/** The call that makes a reading's rotation, as a line of Python. @type {(reading: any) => string} */
export function pythonOf({ rule, given, settings, sections, dividedBy }) {
  if (rule === STILL || rule === "longrope" || dividedBy !== 1 || sections) return 'rope_from_config("config.json")';
  const literal = (/** @type {any} */ value) => (value === false ? "False" : formatValue(value));
  const named = Object.entries(settings).map(([name, value]) => `${name}=${literal(value)}`);
  return `${rule}(${[...given.map(formatValue), ...named].join(", ")})`;
}
