// Validates config values, and defines the errors, the remarks, and the objects of a config.
import { CONFIG_RULES as WRITTEN } from "../data/config_rules.js";
import { phraseOf } from "../lib/phrase.js";
import { filled, shown, visible } from "./config_words.js";

/** @type {any} */
export const RULES = WRITTEN;
const FIELDS = RULES.fields;

/** Thrown for a config with a missing, unknown, invalid or contradictory field. */
export class ConfigError extends Error {
  /**
   * @param {string} reason
   * @param {string} field
   * @param {Record<string, string>} words to fill into the sentence
   * @param {string[]} [choices]
   */
  constructor(reason, field, words, choices = []) {
    super(visible(filled(RULES.refusals[reason], { field, ...words })));
    Object.assign(this, { reason, field, words, choices });
  }
}

/**
 * Create a ConfigError for the given reason, with values formatted for display.
 * @type {(reason: string, field: string, words?: Record<string, any>, choices?: string[]) => ConfigError}
 */
export const configError = (reason, field, words = {}, choices) =>
  new ConfigError(reason, field, shown(words), choices);

/**
 * An object's own property, or undefined; safe for keys that come from a file.
 * @type {(object: Record<string, any>, key: any) => any}
 */
export const own = (object, key) => (Object.hasOwn(object, key) ? object[key] : undefined);

/** Return the value if the field allows it, and throw otherwise. @type {(name: string, path: string, value: any) => any} */
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

/** Whether two JSON values are equal. @type {(a: any, b: any) => boolean} */
export function same(a, b) {
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((each, i) => same(each, b[i]));
  if (!isObject(a) || !isObject(b)) return a === b;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}

/** An object in a config, with its path; null counts as absent. */
export class Part {
  /**
   * @param {Record<string, any>} values
   * @param {string} [start]
   * @param {Record<string, string>} [paths] full paths of fields that are not directly under `start`
   * @param {boolean} [apart] whether the object applies only to some layers, so that fields outside it may differ
   * @param {string[]} [added] fields that were added and are not in the file's object
   */
  constructor(values, start = "", paths = {}, apart = false, added = []) {
    this.values = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
    this.start = start;
    this.paths = paths;
    this.apart = apart;
    this.added = added;
  }

  /** A field's unvalidated value, or null. A dotted name such as "attn_config.rope_theta" refers to a nested field. @type {(name: string) => any} */
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

  /** A field's path from the top of the file, for use in error messages. @type {(name: string) => string} */
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

  /** Add a remark that says why transformers 5 does not read the base. @type {(how: string, words?: Record<string, any>) => void} */
  lost(how, words = {}) {
    this.add("theta lost by 5", { detail: filled(RULES.how_lost[how], shown(words)) });
  }
}
