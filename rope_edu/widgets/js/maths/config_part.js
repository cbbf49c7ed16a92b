// An object of a config and what is noted of it: the same as rope_edu/config/values.py and layers.py.
import { checked, filled, missing, RULES, refuse } from "./config_values.js";

/** An object of a config, and the path that leads to it; null is the same as absent. */
export class Part {
  /**
   * @param {Record<string, any>} values
   * @param {string} [path]
   * @param {{paths?: Record<string, string>, apart?: boolean}} [more]
   */
  constructor(values, path = "", { paths = {}, apart = false } = {}) {
    this.values = Object.fromEntries(
      Object.entries(values).filter(([, value]) => value !== null && value !== undefined),
    );
    this.apart = apart; // states what holds for some layers: what stands beside it may differ
    this.start = path;
    this.paths = paths;
  }

  /** @param {string} name */
  has(name) {
    return Object.hasOwn(this.values, name);
  }

  /** @param {string} name */
  path(name) {
    return this.paths[name] || [this.start, name].filter(Boolean).join(".");
  }

  /**
   * A field, checked, or the default where it is not there.
   * @param {string} name
   * @param {any} [otherwise]
   */
  get(name, otherwise = null) {
    return this.has(name) ? checked(name, this.path(name), this.values[name]) : otherwise;
  }

  /** @param {string} name */
  need(name) {
    if (!this.has(name)) throw missing(this.path(name), name);
    return this.get(name);
  }

  /**
   * A field under any of its names, checked, or null; an error where two names disagree.
   * @param {string} name
   */
  one(name) {
    const found = namesOf(name).filter((each) => this.has(each));
    const values = found.map((each) => checked(name, this.path(each), this.values[each]));
    const odd = values.findIndex((value) => value !== values[0]);
    if (odd > 0) {
      const words = { value: values[0], other: this.path(found[odd]), other_value: values[odd] };
      throw refuse("contradiction", this.path(found[0]), words);
    }
    return values[0] ?? null;
  }

  /** @param {string} name */
  pathOf(name) {
    return this.path(namesOf(name).find((each) => this.has(each)) ?? name);
  }
}

/**
 * All names of a field.
 * @param {string} name
 * @returns {string[]}
 */
export const namesOf = (name) => RULES.names[name] ?? [name];

/** Remarks as [kind, words], each once. */
export class Notes {
  constructor() {
    /** @type {[string, Record<string, any>][]} */
    this.list = [];
  }

  /**
   * @param {string} kind
   * @param {Record<string, any>} [words]
   */
  add(kind, words = {}) {
    const note = JSON.stringify([kind, words]);
    if (!this.list.some((each) => JSON.stringify(each) === note)) this.list.push([kind, words]);
  }

  /**
   * Note that transformers 5 loses θ.
   * @param {string} how
   * @param {Record<string, any>} [words]
   */
  lost(how, words = {}) {
    this.add("theta lost by 5", { detail: filled(RULES.how_lost[how], words) });
  }
}
