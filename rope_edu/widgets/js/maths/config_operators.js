// The operators of the rules' expressions.
import { phraseOf } from "../lib/phrase.js";
import { range, sum } from "../lib/numbers.js";
import { checked, listed, RULES, same } from "./config_values.js";
import { rampEnds, yarnMscale } from "./scaling.js";
import { sectionAxes } from "./spatial.js";

/** Whether a condition is neither null nor false; 0 holds. @type {(value: any) => boolean} */
export const holds = (value) => value !== null && value !== false;

/** The coordinate by which each pair turns. @type {(sections: number[], order: string) => number[]} */
export function pairAxes(sections, order) {
  if (order !== "rows and columns first") return sectionAxes(sections, order);
  const [rows, columns, times] = sections; // ERNIE: rows and columns take turns, then times
  return [...range(0, rows + columns - 1).map((i) => 1 + (i % 2)), ...Array(times).fill(0)];
}

/** Operators that take their operands as they are written. @type {Record<string, (table: any, ...operands: any[]) => any>} */
export const LAZY = {
  all: (table, ...each) => each.every((one) => holds(table.value(one))),
  any: (table, ...each) => each.some((one) => holds(table.value(one))),
  if: (table, test, then, other) => table.value(holds(table.value(test)) ? then : other),
  or: (table, ...each) => each.reduce((found, one) => found ?? table.value(one), null),
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

/** The names in a list or a table of the rules. @type {(name: string) => string[]} */
const namesIn = (name) => (Array.isArray(RULES[name]) ? RULES[name] : Object.keys(RULES[name]));

/** Operators that take their values. @type {Record<string, (...operands: any[]) => any>} */
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
  unless: (value, usual) => (same(value, usual) ? null : value),
  axes: pairAxes,
  dealt: (sections) => {
    const dealt = pairAxes(sections, "interleaved");
    return sections.every((/** @type {number} */ size, /** @type {number} */ axis) => {
      return dealt.filter((each) => each === axis).length === size;
    });
  },
  "softmax scale": (factor, mscale) => {
    const growth = yarnMscale(factor, mscale);
    return Math.round(growth * growth * 1e4) / 1e4;
  },
  backwards: (width, base, trained, betaFast, betaSlow, truncate) => {
    const [low, high] = rampEnds(width, trained, { betaFast, betaSlow, truncate, base });
    return low > high;
  },
};
