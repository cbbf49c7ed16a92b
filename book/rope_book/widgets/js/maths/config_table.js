// Evaluates rules, which are rows of conditions and values as described in doctor/rope_doctor/config/table.py.

import { range, sum } from "../lib/numbers.js";
import { phraseOf } from "../lib/phrase.js";
import { checked, configError, Notes, namesOf, own, Part, RULES, same } from "./config_values.js";
import { listed } from "./config_words.js";
import { rampEnds, yarnMscale } from "./scaling.js";
import { sectionAxes } from "./spatial.js";

const RESERVED = ["if", "is", "refuse", "at", "remark", "lost"];

/** The state while reading a file: the body, the rotation parameters, and the facts established so far. */
export class RuleTable {
  part = new Part({});
  used = /** @type {Set<string>} */ (new Set());

  /** @param {Part} body @param {Notes} notes @param {Record<string, any>} facts */
  constructor(body, notes, facts) {
    this.body = body;
    this.notes = notes;
    this.facts = facts;
  }

  /** Evaluate facts in order. A name instead of rows refers to a group of facts. @type {(facts: Record<string, any>) => void} */
  run(facts) {
    for (const [name, rows] of Object.entries(facts)) {
      if (typeof rows === "string") this.run(RULES[rows]);
      else this.facts[name] = this.decide(rows);
    }
  }

  /** The value of the first row whose condition holds, or null; rows without a value only add remarks or throw. @type {(rows: Record<string, any>[]) => any} */
  decide(rows) {
    for (const row of rows) {
      if (!holds(this.value(row.if ?? true))) continue;
      const stated = Object.entries(row).filter(([name]) => !RESERVED.includes(name));
      const words = Object.fromEntries(stated.map(([name, word]) => [name, this.value(word)]));
      if (row.refuse) throw configError(row.refuse, this.path(row.at), words);
      if (row.remark) this.notes.add(row.remark, words);
      if (row.lost) this.notes.lost(row.lost, words);
      if ("is" in row) return this.value(row.is);
    }
    return null;
  }

  /** All occurrences of a field, as [path, value]. @type {(name: string) => [string, any][]} */
  places(name) {
    const { place, silent = null } = RULES.fields[name];
    /** @type {(part: Part) => [string, any][]} */
    const within = (part) => {
      const stated = namesOf(name).filter((each) => part.has(each) && !same(part.raw(each), silent));
      return stated.map((each) => [part.path(each), part.raw(each)]);
    };
    const inside = place === "file" ? [] : within(this.part);
    const alone = place === "rotation" || (inside.length > 0 && this.part.apart);
    const found = alone ? inside : [...inside, ...within(this.body)];
    for (const [path] of found) this.used.add(path);
    return found;
  }

  /** The path that identifies a field in error messages. @type {(name: string) => string} */
  path(name) {
    const rule = own(RULES.fields, name);
    if (!rule) return this.part.path(name);
    const usual = [rule.place, rule.missed_in].includes("rotation") ? this.part : this.body;
    return this.places(name)[0]?.[0] ?? usual.path(name);
  }

  /** A field's validated value, or null. Throws if the field appears twice with different values. @type {(name: string, agreed?: boolean) => any} */
  get(name, agreed = false) {
    const found = this.places(name).map(([path, value]) => [path, checked(name, path, value)]);
    for (const [other, value] of found) {
      const [field, first] = found[0];
      if (same(value, first)) continue;
      const words = { value: first, other, other_value: value };
      if (agreed || !RULES.fields[name].may_differ) throw configError("contradiction", field, words);
      this.notes.add("lengths differ", { field, other });
    }
    return found[0]?.[1] ?? null;
  }

  /** The architecture's default for a field, or null. @type {(name: string) => any} */
  default(name) {
    return own(own(RULES.defaults, this.facts.model_type) ?? {}, name) ?? null;
  }

  /** A field's value or, with a remark, the architecture's default. @type {(name: string, silently?: boolean) => any} */
  taken(name, silently = false) {
    const stated = own(RULES.fields, name) ? this.get(name) : null;
    const value = stated ?? this.default(name);
    if (stated !== null || value === null || silently) return value;
    const words = { field: name.split("_of_a_bare")[0], value, model_type: this.facts.model_type };
    this.notes.add("default taken", words);
    return value;
  }

  /** The value of an expression. @type {(expression: any) => any} */
  value(expression) {
    if (typeof expression === "string" && expression.startsWith("@")) {
      const name = expression.slice(1);
      return Object.hasOwn(this.facts, name) ? this.facts[name] : this.get(name);
    }
    if (!Array.isArray(expression)) return expression;
    const [operator, ...operands] = expression;
    if (Object.hasOwn(LAZY, operator)) return LAZY[operator](this, ...operands);
    if (!Object.hasOwn(EAGER, operator)) return expression;
    return EAGER[operator](...operands.map((operand) => this.value(operand)));
  }
}

/** Whether a condition holds. Only null and false do not hold; 0 does. @type {(value: any) => boolean} */
const holds = (value) => value !== null && value !== false;

/** The index of the coordinate that rotates each pair. @type {(sections: number[], order: string) => number[]} */
export function pairAxes(sections, order) {
  if (order !== "rows and columns first") return sectionAxes(sections, order);
  const [rows, columns, times] = sections; // ERNIE alternates rows and columns, followed by times
  return [...range(0, rows + columns - 1).map((i) => 1 + (i % 2)), ...Array(times).fill(0)];
}

/** The number of pairs per coordinate. @type {(axes: number[]) => number[]} */
export const sectionsOf = (axes) =>
  range(0, Math.max(...axes)).map((axis) => axes.filter((each) => each === axis).length);

/** Operators that receive their operands unevaluated. @type {Record<string, (table: any, ...operands: any[]) => any>} */
export const LAZY = {
  all: (table, ...operands) => operands.every((operand) => holds(table.value(operand))),
  any: (table, ...operands) => operands.some((operand) => holds(table.value(operand))),
  if: (table, test, then, other) => table.value(holds(table.value(test)) ? then : other),
  or: (table, ...operands) => operands.reduce((first, operand) => first ?? table.value(operand), null),
  has: (table, name) => table.places(name).length > 0,
  default: (table, name) => table.taken(name),
  ours: (table, name) => table.taken(name, true),
  agreed: (table, name) => table.get(name, true),
  path: (table, name) => table.path(name),
  inside: (table, name) => table.part.has(name),
  named: (table, name) => table.body.has(name),
  list: (table, name) => Array.isArray(table.body.raw(name)),
  in: (table, item, name) => namesIn(name).includes(table.value(item)),
  entry: (table, name, item) => phraseOf(RULES[name][table.value(item)]),
  names: (_, ...names) => listed(names.flatMap(namesIn)),
  checked: (table, name, item, at) => checked(name, table.path(at ?? name), table.value(item)),
};

/** The names in one of the lists or tables of the rules. @type {(name: string) => string[]} */
const namesIn = (name) => (Array.isArray(RULES[name]) ? RULES[name] : Object.keys(RULES[name]));

/** Operators that receive evaluated operands. @type {Record<string, (...operands: any[]) => any>} */
export const EAGER = {
  not: (value) => !holds(value),
  "=": same,
  "<": (a, b) => a < b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  int: Math.trunc,
  divides: (a, b) => b % a === 0,
  sum: (values) => values && sum(values),
  length: (values) => values.length,
  axes: pairAxes,
  dealt: (sections) => same(sectionsOf(pairAxes(sections, "interleaved")), sections),
  "softmax factor": (factor, mscale) => yarnMscale(factor, mscale) ** 2,
  "softmax scale": (factor, mscale) => Math.round(yarnMscale(factor, mscale) ** 2 * 1e4) / 1e4,
  backwards: (width, base, trained, betaFast, betaSlow, truncate) => {
    const [low, high] = rampEnds(width, trained, { betaFast, betaSlow, truncate, base });
    return low > high;
  },
};
