// The operators of the rules' expressions. Lazy ones take their operands as they are written, eager ones their values.
import { checked, RULES, same } from "./config_values.js";
import { rampEnds, yarnMscale } from "./scaling.js";
import { sectionAxes } from "./spatial.js";

/** Whether a condition is neither null nor false; 0 holds. @type {(value: any) => boolean} */
export const holds = (value) => value !== null && value !== undefined && value !== false;

/** @type {(table: any, ...operands: any[]) => any} */
const first = (table, ...operands) => operands.reduce((found, each) => found ?? table.value(each), null) ?? null;

/** @type {Record<string, (table: any, ...operands: any[]) => any>} */
export const LAZY = {
  all: (table, ...each) => each.every((one) => holds(table.value(one))),
  any: (table, ...each) => each.some((one) => holds(table.value(one))),
  if: (table, test, then, other) => table.value(holds(table.value(test)) ? then : other),
  or: first,
  has: (table, name) => table.places(name).length > 0,
  given: (table, name) => table.taken(name, true) !== null,
  default: (table, name) => table.taken(name),
  ours: (table, name) => table.taken(name, true),
  agreed: (table, name) => table.get(name, true),
  inside: (table, name) => table.part.has(name),
  named: (table, name) => table.body.has(name),
  list: (table, name) => Array.isArray(table.body.raw(name)),
  in: (table, item, name) => RULES[name].includes(table.value(item)),
  checked: (table, name, item, at) => checked(name, table.path(at ?? name), table.value(item)),
};
/** @type {Record<string, (...operands: any[]) => any>} */
export const EAGER = {
  not: (value) => !holds(value),
  known: (value) => value !== null,
  "=": same,
  "<": (a, b) => a < b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  int: Math.trunc,
  divides: (a, b) => b % a === 0,
  sum: (values) => values && total(values),
  length: (values) => values.length,
  unless: (value, usual) => (same(value, usual) ? null : value),
  dealt: (sections) => {
    const axes = sectionAxes(sections, "interleaved");
    return sections.every((/** @type {number} */ size, /** @type {number} */ axis) => {
      return axes.filter((/** @type {number} */ each) => each === axis).length === size;
    });
  },
  mscale: yarnMscale,
  square: (value) => Math.round(value * value * 1e4) / 1e4,
  backwards: (width, base, trained, betaFast, betaSlow, truncate) => {
    const [low, high] = rampEnds(width, trained, { betaFast, betaSlow, truncate, base });
    return low > high;
  },
};

/** @param {number[]} numbers */
const total = (numbers) => numbers.reduce((sum, each) => sum + each, 0);

/** The coordinate by which each pair turns. @type {(sections: number[], order: string) => number[]} */
export function pairAxes(sections, order) {
  if (order !== "rows and columns first") return sectionAxes(sections, order);
  const both = sections[0] + sections[1]; // ERNIE: rows and columns take turns, then times
  return sectionAxes([total(sections)]).map((_, i) => (i < both ? 1 + (i % 2) : 0));
}
