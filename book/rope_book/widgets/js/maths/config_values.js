// Values of a config: their ranges, their form in sentences, and the objects that hold them.
import { CONFIG_RULES as WRITTEN } from "../data/config_rules.js";
import { phraseOf } from "../lib/phrase.js";

/** @type {any} */
export const RULES = WRITTEN;
const FIELDS = RULES.fields;
const UNFORMATTED = ["allowed", "why", "detail", "field", "fields", "other", "rule", "nest", "model_type"]; // already text

/** A config with a missing, unknown, invalid or contradictory field. */
const CONTROL = /[\p{Cc}\p{Cs}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const SHORT = /** @type {Record<string, string>} */ ({ "\t": "\\t", "\n": "\\n", "\r": "\\r" });

/** Text with its control characters escaped, as Python escapes them. @param {string} text */
export const visible = (text) =>
  text.replace(CONTROL, (letter) => {
    const code = letter.charCodeAt(0);
    return SHORT[letter] ?? (code < 256 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`);
  });

/** @type {(code: number, digits: number) => string} */
const hex = (code, digits) => code.toString(16).padStart(digits, "0");

export class ConfigError extends Error {
  /**
   * @param {string} reason
   * @param {string} field
   * @param {Record<string, string>} words of the sentence
   * @param {string[]} [choices]
   */
  constructor(reason, field, words, choices = []) {
    super(visible(filled(RULES.refusals[reason], { field, ...words })));
    Object.assign(this, { reason, field, words, choices });
  }
}

/**
 * The error for a reason, with its values formatted.
 * @type {(reason: string, field: string, words?: Record<string, any>, choices?: string[]) => ConfigError}
 */
export const configError = (reason, field, words = {}, choices) =>
  new ConfigError(reason, field, shown(words), choices);

/** The words of a sentence, with values formatted. @type {(words: Record<string, any>) => Record<string, string>} */
export function shown(words) {
  const all = Object.entries(words);
  return Object.fromEntries(all.map(([name, word]) => [name, UNFORMATTED.includes(name) ? word : formatValue(word)]));
}

/** A sentence of the rules with its words. @type {(sentence: string, words: Record<string, any>) => string} */
export const filled = (sentence, words) => phraseOf(sentence).replace(/\{(\w+)\}/g, (_, name) => String(words[name]));

/**
 * The entry of an object under a key of its own, such as a name from a file; undefined where it has none.
 * @type {(object: Record<string, any>, key: any) => any}
 */
export const own = (object, key) => (Object.hasOwn(object, key) ? object[key] : undefined);

/** The first letters of a text, at most so many. @type {(text: string, most: number) => string} */
export const cut = (text, most) => [...text.slice(0, 2 * most)].slice(0, most).join("");

/** A value as text for a sentence, at most 60 characters. @type {(value: any) => string} */
export function formatValue(value) {
  let text = String(value);
  if (typeof value === "number") text = formatNumber(value);
  else if (typeof value === "string") text = JSON.stringify(cut(value, 61));
  else if (Array.isArray(value)) {
    const items = value.slice(0, 16).map((item) => (Array.isArray(item) ? "[…]" : formatValue(item)));
    text = `[${items.join(", ")}${value.length > 16 ? ", …]" : "]"}`;
  } else if (isObject(value)) text = "an object";
  return [...text].length <= 60 ? text : `${cut(text, 59)}…`;
}

/** @param {number} value */
function formatNumber(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf"; // as Python writes it
  return Number.isInteger(value) && Math.abs(value) < 1e15 ? String(value) : general(value, 12);
}

/** A number with so many digits, as Python's "g" has it. @type {(value: number, digits: number) => string} */
export function general(value, digits) {
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  if (Number(power) >= -4 && Number(power) < digits) return String(Number(value.toPrecision(digits)));
  return `${Number(mantissa)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
}

/** Quoted names, separated by commas. @type {(names: string[]) => string} */
export const listed = (names) => names.map((name) => `"${name}"`).join(", ");

/** A value that its field allows, or an error. @type {(name: string, path: string, value: any) => any} */
export function checked(name, path, value) {
  const rule = FIELDS[name];
  const good = (/** @type {any} */ each) => KINDS[rule.kind](each, rule);
  const whole = rule.list
    ? Array.isArray(value) && value.length >= 1 && value.length <= 65536 && value.every(good)
    : good(value);
  if (!whole) throw configError("out of range", path, { allowed: phraseOf(rule.allowed), value });
  return own(rule.same_as ?? {}, value) ?? value;
}

/** @type {(value: any, rule: any) => boolean} */
const isNumber = (value, { above = -Infinity, least = -Infinity, most }) =>
  Number.isFinite(value) && value > above && value >= least && value <= most;

/** @param {any} value */
export const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** @type {Record<string, (value: any, rule: any) => boolean>} */
const KINDS = {
  number: isNumber,
  whole: (value, rule) => isNumber(value, rule) && Number.isInteger(value),
  flag: (value) => typeof value === "boolean",
  text: (value) => typeof value === "string",
  object: isObject,
};

/** Whether two values of a JSON file are equal. @type {(a: any, b: any) => boolean} */
export function same(a, b) {
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((each, i) => same(each, b[i]));
  if (!isObject(a) || !isObject(b)) return a === b;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}

/** An object of a config, with its path; null counts as absent. */
export class Part {
  /**
   * @param {Record<string, any>} values
   * @param {string} [start]
   * @param {Record<string, string>} [paths] of fields that come from elsewhere
   * @param {boolean} [apart] applies to some layers only, so the fields outside it may differ
   * @param {string[]} [added] fields that the object itself does not have
   */
  constructor(values, start = "", paths = {}, apart = false, added = []) {
    this.values = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
    this.start = start;
    this.paths = paths;
    this.apart = apart;
    this.added = added;
  }

  /** An unchecked value, or null; "attn_config.rope_theta" is a field of an object. @type {(name: string) => any} */
  raw(name) {
    if (Object.hasOwn(this.values, name) || !name.includes(".")) return own(this.values, name) ?? null;
    const [outer, inner] = name.split(".", 2);
    const within = own(this.values, outer);
    return isObject(within) ? (own(within, inner) ?? null) : null;
  }

  /** @type {(name: string) => boolean} */
  has(name) {
    return this.raw(name) !== null;
  }

  /** The name of a field in an error: its path from the top of the file. @type {(name: string) => string} */
  path(name) {
    return own(this.paths, name) || [this.start, name].filter(Boolean).join(".");
  }

  /** @returns {Record<string, string>} the path of each field */
  allPaths() {
    return Object.fromEntries(Object.keys(this.values).map((name) => [name, this.path(name)]));
  }
}

/** All names of a field, the most common first. @type {(field: string) => string[]} */
export const namesOf = (field) => FIELDS[field].names ?? [field];

/** Remarks as [kind, sentence], without duplicates. @extends {Array<[string, string]>} */
export class Notes extends Array {
  /** @type {(kind: string, words?: Record<string, any>) => void} */
  add(kind, words = {}) {
    const text = visible(filled(RULES.remarks[kind], shown(words)));
    if (!this.some(([, other]) => other === text)) this.push([kind, text]);
  }

  /** Add a remark on a base that transformers 5 loses. @type {(how: string, words?: Record<string, any>) => void} */
  lost(how, words = {}) {
    this.add("theta lost by 5", { detail: filled(RULES.how_lost[how], shown(words)) });
  }
}
