// The interpreter of the rules: rows of conditions and values, tried in order. How a row and an expression are written
// is said in rope_edu/config/table.py.
import { EAGER, holds, LAZY } from "./config_operators.js";
import { Notes, Part } from "./config_part.js";
import { checked, configError, filled, formatValue, missing, namesOf, own, RULES, same } from "./config_values.js";

/** A row of the rules. @typedef {Record<string, any>} Row */

const RESERVED = ["if", "is", "refuse", "missing", "remark", "lost", "at"];
/** @type {Record<string, any>} */
const ABSENT = { no_rope_layers: [] }; // a value that says nothing

/** The state of one reading: the file's two parts, and the facts found so far. */
export class Table {
  constructor(/** @type {Part} */ body, /** @type {Record<string, any>} */ facts) {
    this.body = body;
    this.part = new Part({});
    this.notes = new Notes();
    this.facts = facts;
    /** @type {Set<string>} */
    this.used = new Set();
  }

  /** @param {Record<string, Row[] | string>} facts */
  run(facts) {
    for (const [name, rows] of Object.entries(facts)) {
      if (typeof rows === "string") this.run(RULES[rows]);
      else this.facts[name] = this.decide(rows);
    }
  }

  /** @param {Row[]} rows */
  decide(rows) {
    for (const row of rows) {
      if (!this.applies(row)) continue;
      this.speak(row);
      if ("is" in row) return this.value(row.is);
    }
    return null;
  }

  /** @param {Row} row */
  applies = (row) => !("if" in row) || holds(this.value(row.if));

  /** @param {Row} row */
  speak(row) {
    if (row.missing) {
      const place = RULES.fields[row.missing].place === "rotation" || row.missing.startsWith("original_");
      throw missing((place ? this.part : this.body).path(row.missing), row.missing);
    }
    const words = Object.entries(row).filter(([name]) => !RESERVED.includes(name));
    if (row.refuse) throw this.error(row, Object.fromEntries(words.map(([name, word]) => [name, this.value(word)])));
    const shown = Object.fromEntries(words.map(([name, word]) => [name, this.word(word)]));
    if (row.remark) this.notes.add(row.remark, shown);
    if (row.lost) this.lost(row.lost, shown);
  }

  /** @type {(row: Row, words: Record<string, any>) => Error} */
  error(row, words) {
    const other = row.other && { other_value: this.get(row.other), ...words, other: this.path(row.other) };
    return configError(row.refuse, this.path(row.at), other ?? words);
  }

  /** Note a base that transformers 5 loses. @type {(how: string, words?: Record<string, string>) => void} */
  lost(how, words = {}) {
    const detail = filled(RULES.how_lost[how], { model_type: this.facts.model_type, ...words });
    this.notes.add("theta lost by 5", { detail });
  }

  /** @param {any} word */
  word(word) {
    if (typeof word === "string" && word.startsWith("path ")) return this.path(word.slice(5));
    return typeof word === "string" && word.startsWith("=") ? word.slice(1) : formatValue(this.value(word));
  }

  /** Each place of a field, as the part and the name there. @type {(name: string) => [Part, string][]} */
  places(name) {
    const { place } = RULES.fields[name];
    const said = (/** @type {Part} */ part, /** @type {string} */ each) =>
      part.has(each) && !same(part.raw(each), ABSENT[name]);
    /** @type {(part: Part) => [Part, string][]} */
    const within = (part) => namesOf(name).flatMap((each) => (said(part, each) ? [[part, each]] : []));
    const inside = place === "file" ? [] : within(this.part);
    const alone = place === "rotation" || (inside.length > 0 && this.part.apart);
    const found = alone ? inside : [...inside, ...within(this.body)];
    for (const [part, each] of found) this.used.add(part.path(each));
    return found;
  }

  /** @param {string} name */
  path(name) {
    if (!Object.hasOwn(RULES.fields, name)) return this.part.path(name);
    const [[part, each]] = [
      ...this.places(name),
      [RULES.fields[name].place === "rotation" ? this.part : this.body, name],
    ];
    return /** @type {Part} */ (part).path(/** @type {string} */ (each));
  }

  /** A field under any of its names, checked, or null; an error where two places disagree. */
  get(/** @type {string} */ name, /** @type {boolean} */ agreed = false) {
    const found = this.places(name);
    const values = found.map(([part, each]) => checked(name, part.path(each), part.raw(each)));
    found.forEach(([part, each], i) => {
      if (same(values[i], values[0])) return;
      const [field, other] = [found[0][0].path(found[0][1]), part.path(each)];
      const words = { value: values[0], other, other_value: values[i] };
      if (agreed || !RULES.fields[name].may_differ) throw configError("contradiction", field, words);
      this.notes.add("lengths differ", { field, other });
    });
    return values[0] ?? null;
  }

  /** @param {string} name */
  default(name) {
    return own(own(RULES.defaults, this.facts.model_type) ?? {}, name) ?? null;
  }

  /** A field, or the architecture's own value of it with a remark. */
  taken(/** @type {string} */ name, /** @type {boolean} */ silently = false) {
    const stated = Object.hasOwn(RULES.fields, name) ? this.get(name) : null;
    const value = stated ?? this.default(name);
    if (stated !== null || value === null || silently) return value;
    const words = { field: name.split("_of_a_bare")[0], value: formatValue(value), model_type: this.facts.model_type };
    this.notes.add("default taken", words);
    return value;
  }

  /**
   * The value of an expression.
   * @param {any} expression
   * @returns {any}
   */
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
