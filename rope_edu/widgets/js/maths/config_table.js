// The interpreter of the rules: rows of conditions and values, tried in order. How a row and an expression are written
// is said in rope_edu/config/table.py.
import { phraseOf } from "../lib/phrase.js";
import { EAGER, holds, LAZY } from "./config_operators.js";
import { checked, configError, filled, namesOf, own, Part, RULES, same, shown } from "./config_values.js";

const RESERVED = ["if", "is", "refuse", "missing", "remark", "lost", "at"];

/** Remarks as [kind, sentence], each once. @extends {Array<[string, string]>} */
export class Notes extends Array {
  /** @type {(kind: string, words?: Record<string, any>) => void} */
  add(kind, words = {}) {
    const text = filled(RULES.remarks[kind], shown(words));
    if (!this.some(([, told]) => told === text)) this.push([kind, text]);
  }

  /** Note a base that transformers 5 loses. @type {(how: string, words?: Record<string, any>) => void} */
  lost(how, words = {}) {
    this.add("theta lost by 5", { detail: filled(RULES.how_lost[how], shown(words)) });
  }
}

/** The state of one reading: the file's two parts, and the facts found so far. */
export class Table {
  constructor(/** @type {Part} */ body, /** @type {Notes} */ notes, /** @type {Record<string, any>} */ facts) {
    this.body = body;
    this.part = new Part({});
    this.notes = notes;
    this.facts = facts;
    /** @type {Set<string>} */
    this.used = new Set();
  }

  /** Evaluate facts in order; a name in place of rows is a group of facts. @type {(facts: Record<string, any>) => void} */
  run(facts) {
    for (const [name, rows] of Object.entries(facts)) {
      if (typeof rows === "string") this.run(RULES[rows]);
      else this.facts[name] = this.decide(rows);
    }
  }

  /** The value of the first row that holds and has one. @type {(rows: Record<string, any>[]) => any} */
  decide(rows) {
    for (const row of rows) {
      if (!holds(this.value(row.if ?? true))) continue;
      this.speak(row);
      if ("is" in row) return this.value(row.is);
    }
    return null;
  }

  /** Refuse or remark, if the row does. @param {Record<string, any>} row */
  speak(row) {
    if (row.missing) {
      const why = phraseOf(RULES.why_missing[row.missing] ?? RULES.why_missing.rule);
      throw configError("missing", this.path(row.missing), { why });
    }
    const stated = Object.entries(row).filter(([name]) => !RESERVED.includes(name));
    const words = Object.fromEntries(stated.map(([name, word]) => [name, this.value(word)]));
    if (row.refuse) throw configError(row.refuse, this.path(row.at), words);
    if (row.remark) this.notes.add(row.remark, words);
    if (row.lost) this.notes.lost(row.lost, words);
  }

  /** Each place of a field, as the part and the name there. @type {(name: string) => [Part, string][]} */
  places(name) {
    const { place, silent = null } = RULES.fields[name];
    /** @type {[Part, string][]} */
    const found = [];
    for (const [part, elsewhere] of /** @type {[Part, string][]} */ ([[this.part, "file"], [this.body, "rotation"]])) {
      if (place === elsewhere || (found.length && this.part.apart)) continue;
      for (const each of namesOf(name)) if (part.has(each) && !same(part.raw(each), silent)) found.push([part, each]);
    }
    for (const [part, each] of found) this.used.add(part.path(each));
    return found;
  }

  /** How an error names a field. @type {(name: string) => string} */
  path(name) {
    const rule = own(RULES.fields, name);
    if (!rule) return this.part.path(name);
    const usual = [rule.place, rule.missed_in].includes("rotation") ? this.part : this.body;
    const [part, each] = this.places(name)[0] ?? [usual, name];
    return part.path(each);
  }

  /** A field under any of its names, checked, or null; an error where two places disagree. @type {(name: string, agreed?: boolean) => any} */
  get(name, agreed = false) {
    const found = this.places(name).map(([part, each]) => [part.path(each), part.raw(each)]);
    const values = found.map(([path, value]) => checked(name, path, value));
    values.forEach((value, i) => {
      if (same(value, values[0])) return;
      const [field, other] = [found[0][0], found[i][0]];
      const words = { value: values[0], other, other_value: value };
      if (agreed || !RULES.fields[name].may_differ) throw configError("contradiction", field, words);
      this.notes.add("lengths differ", { field, other });
    });
    return values[0] ?? null;
  }

  /** The architecture's own value of a field, or null. @type {(name: string) => any} */
  default(name) {
    return own(own(RULES.defaults, this.facts.model_type) ?? {}, name) ?? null;
  }

  /** A field, or the architecture's own value of it with a remark. @type {(name: string, silently?: boolean) => any} */
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
