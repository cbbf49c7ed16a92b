// One value of a config, checked against the rules that Python reads too: the same as rope_edu/config/values.py.
import { CONFIG_RULES as WRITTEN } from "../data/config_rules.js";

/** @type {any} */
export const RULES = WRITTEN;

/** A config that says too little, too much or two things. */
export class ConfigError extends Error {
  /**
   * @param {string} reason
   * @param {string} field
   * @param {string} sentence
   */
  constructor(reason, field, sentence) {
    super(sentence);
    Object.assign(this, { reason, field });
  }
}

const PLAIN = ["allowed", "why", "detail", "other", "rule"];

/**
 * The error of a reason; values are shortened.
 * @param {string} reason
 * @param {string} field
 * @param {Record<string, any>} [words]
 */
export function refuse(reason, field, words = {}) {
  const shown = Object.entries(words).map(([name, word]) => [name, PLAIN.includes(name) ? word : said(word)]);
  return new ConfigError(reason, field, filled(RULES.refusals[reason], { field, ...Object.fromEntries(shown) }));
}

/**
 * A sentence of the rules with its words.
 * @param {string} sentence
 * @param {Record<string, any>} words
 */
export const filled = (sentence, words) => sentence.replace(/\{(\w+)\}/g, (_, name) => String(words[name]));

/**
 * The error of a field that is not there.
 * @param {string} field
 * @param {string} name
 */
export function missing(field, name) {
  return refuse("missing", field, { why: RULES.why_missing[name] ?? RULES.why_missing.rule });
}

/**
 * A value as a sentence shows it, at most 60 characters.
 * @param {any} value
 * @returns {string}
 */
export function said(value) {
  let text = String(value);
  if (typeof value === "number") text = numberSaid(value);
  else if (typeof value === "string") text = JSON.stringify(value);
  else if (Array.isArray(value)) {
    text = `[${value.slice(0, 16).map(said).join(", ")}${value.length > 16 ? ", …]" : "]"}`;
  } else if (value && typeof value === "object") text = "an object";
  const letters = [...text];
  return letters.length <= 60 ? text : `${letters.slice(0, 59).join("")}…`;
}

/** @param {number} value */
function numberSaid(value) {
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value);
  const [digits, power] = value.toExponential(11).split("e");
  if (Number(power) >= -4 && Number(power) < 12) return String(Number(value.toPrecision(12)));
  return `${Number(digits)}e${power[0]}${power.slice(1).padStart(2, "0")}`; // as Python writes it
}

/**
 * A value that its field (`name` in the rules) allows, or the error that names its path.
 * @param {string} name
 * @param {string} path
 * @param {any} value
 */
export function checked(name, path, value) {
  const rule = RULES.fields[name];
  const one = KINDS[rule.kind];
  const good = rule.list
    ? Array.isArray(value) && value.length >= 1 && value.length <= 65536 && value.every((each) => one(each, rule))
    : one(value, rule);
  if (!good) throw refuse("out of range", path, { allowed: rule.allowed, value });
  return value;
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

/**
 * Whether two values of a JSON file are equal.
 * @param {any} a
 * @param {any} b
 * @returns {boolean}
 */
export function same(a, b) {
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((each, i) => same(each, b[i]));
  if (!isObject(a) || !isObject(b)) return a === b;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}
