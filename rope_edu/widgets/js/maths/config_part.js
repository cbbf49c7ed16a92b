// An object of a config and its path, and a walk over all fields of a file.
import { isObject, own, RULES } from "./config_values.js";

/** An object of a config and its path; null is the same as absent. */
export class Part {
  /**
   * @param {Record<string, any>} values
   * @param {string} [start]
   * @param {{paths?: Record<string, string>, apart?: boolean, added?: string[]}} [more]
   */
  constructor(values, start = "", { paths = {}, apart = false, added = [] } = {}) {
    const stated = Object.entries(values).filter(([, value]) => value !== null && value !== undefined);
    this.values = Object.fromEntries(stated);
    this.apart = apart; // holds for some layers only: the fields beside it may differ
    this.added = added; // fields that do not stand in the object itself
    this.start = start;
    this.paths = paths;
  }

  /** An unchecked value; "attn_config.rope_theta" is a field of an object. */
  raw(/** @type {string} */ name) {
    if (Object.hasOwn(this.values, name) || !name.includes(".")) return own(this.values, name);
    const [outer, inner] = name.split(".", 2);
    const within = own(this.values, outer);
    return isObject(within) ? (own(within, inner) ?? undefined) : undefined;
  }

  /** @param {string} name */
  has(name) {
    return this.raw(name) !== undefined;
  }

  /** @param {string} name */
  path(name) {
    return own(this.paths, name) || [this.start, name].filter(Boolean).join(".");
  }

  /** @returns {Record<string, string>} the path of each field */
  allPaths() {
    return Object.fromEntries(Object.keys(this.values).map((name) => [name, this.path(name)]));
  }
}

/**
 * [path, depth, value] of every field at any depth, without recursion.
 * @type {(config: any) => Generator<[string, number, any]>}
 */
export function* walk(config) {
  /** @type {[string, number, any][]} */
  const stack = [["", 0, config]];
  while (stack.length) {
    const [path, depth, value] = /** @type {[string, number, any]} */ (stack.pop());
    if (path) yield [path, depth, value];
    if (depth > RULES.deepest || value === null || typeof value !== "object") continue;
    const inner = Array.isArray(value)
      ? value.filter((each) => each !== null && typeof each === "object").map((each) => [`${path}[]`, depth + 1, each])
      : Object.entries(value).map(([key, each]) => [path ? `${path}.${key}` : key, depth + 1, each]);
    stack.push(.../** @type {[string, number, any][]} */ (inner.reverse()));
  }
}

/** Remarks as [kind, words], each once. */
export class Notes {
  constructor() {
    /** @type {[string, Record<string, string>][]} */
    this.list = [];
  }

  /** @type {(kind: string, words?: Record<string, string>) => void} */
  add(kind, words = {}) {
    const note = JSON.stringify([kind, words]);
    if (!this.list.some((each) => JSON.stringify(each) === note)) this.list.push([kind, words]);
  }
}
