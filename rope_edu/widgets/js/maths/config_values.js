// Values of a config: their ranges, how a sentence shows them, and the objects that hold them.

import { CONFIG_RULES as WRITTEN } from "../data/config_rules.js";
import { phraseOf } from "../lib/phrase.js";

/** @type {any} */
export const RULES = WRITTEN;
const FIELDS = RULES.fields;
const PLAIN = ["allowed", "why", "detail", "other", "rule", "nest", "fields", "model_type"]; // words shown as they are

/** A config that says too little, too much or two things. */
export class ConfigError extends Error {
  /**
   * @param {string} reason
   * @param {string} field
   * @param {string} sentence
   * @param {string[]} choices
   * @param {Record<string, any>} [words] of the sentence
   */
  constructor(reason, field, sentence, choices, words = {}) {
    super(sentence);
    Object.assign(this, { reason, field, choices, words });
  }
}

/**
 * The error of a reason, its values formatted.
 * @type {(reason: string, field: string, words?: Record<string, any>, choices?: string[]) => ConfigError}
 */
export function configError(reason, field, words = {}, choices = []) {
  const shown = Object.entries(words).map(([name, word]) => [name, PLAIN.includes(name) ? word : formatValue(word)]);
  const told = Object.fromEntries(shown);
  return new ConfigError(reason, field, filled(RULES.refusals[reason], { field, ...told }), choices, told);
}

/** A sentence of the rules with its words. @type {(sentence: string, words: Record<string, any>) => string} */
export const filled = (sentence, words) => phraseOf(sentence).replace(/\{(\w+)\}/g, (_, name) => String(words[name]));

/**
 * The entry of an object under a key of its own, such as a name from a file; undefined where it has none.
 * @param {Record<string, any>} object
 * @param {any} key
 */
export const own = (object, key) => (Object.hasOwn(object, key) ? object[key] : undefined);

/** The error of an absent field. @type {(field: string, name: string) => ConfigError} */
export const missing = (field, name) =>
  configError("missing", field, { why: phraseOf(own(RULES.why_missing, name) ?? RULES.why_missing.rule) });

/** A value as sentences show it, at most 60 characters. @type {(value: any) => string} */
export function formatValue(value) {
  let text = String(value);
  if (typeof value === "number") text = formatNumber(value);
  else if (typeof value === "string") text = JSON.stringify([...value.slice(0, 122)].slice(0, 61).join(""));
  else if (Array.isArray(value)) {
    const items = value.slice(0, 16).map((item) => (Array.isArray(item) ? "[…]" : formatValue(item)));
    text = `[${items.join(", ")}${value.length > 16 ? ", …]" : "]"}`;
  } else if (isObject(value)) text = "an object";
  const letters = [...text];
  return letters.length <= 60 ? text : `${letters.slice(0, 59).join("")}…`;
}

/** @param {number} value */
function formatNumber(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf"; // as Python writes it
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value);
  const [digits, power] = value.toExponential(11).split("e");
  if (Number(power) >= -4 && Number(power) < 12) return String(Number(value.toPrecision(12)));
  return `${Number(digits)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
}

/** Names, quoted, as a sentence lists them. @type {(names: string[]) => string} */
export const listed = (names) => names.map((name) => `"${name}"`).join(", ");

/** A value that its field allows, or the error that names its path. */
export function checked(/** @type {string} */ name, /** @type {string} */ path, /** @type {any} */ value) {
  const rule = FIELDS[name];
  const good = KINDS[rule.kind];
  const whole = rule.list
    ? Array.isArray(value) && value.length >= 1 && value.length <= 65536 && value.every((each) => good(each, rule))
    : good(value, rule);
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

/** All names of a field, the most usual first. @type {(field: string) => string[]} */
export const namesOf = (field) => FIELDS[field].names ?? [field];
