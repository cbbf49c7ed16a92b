// Applies rules to the numbers in an answer, or to a figure's controls and results; book/rope_book/check/rows.py sends
// each formula as a tree.
import { phraseOf } from "./phrase.js";

/** @typedef {Record<string, any>} Names */
/** @typedef {(names: Names) => any} Formula */

/** @type {Record<string, (...values: number[]) => any>} */
const CALLS = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "//": (a, b) => Math.floor(a / b),
  "%": (a, b) => a - b * Math.floor(a / b),
  "**": (a, b) => a ** b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "==": (a, b) => String(a) === String(b), // also for lists
  "!=": (a, b) => String(a) !== String(b),
  not: (a) => !a,
  abs: Math.abs,
  min: Math.min,
  max: Math.max,
  cos: Math.cos,
  sin: Math.sin,
  hypot: Math.hypot,
  exp: Math.exp,
  log: Math.log,
};

/** @type {Record<string, (parts: Formula[]) => Formula>} */
const EITHER = {
  and: (parts) => (names) => parts.every((part) => part(names)),
  or: (parts) => (names) => parts.some((part) => part(names)),
  "[": (parts) => (names) => parts.map((part) => part(names)),
};

/** @type {Record<string, (name: string, low: Formula, high: Formula, body: Formula) => Formula>} */
const LOOPS = {
  sum: (name, low, high, body) => (names) => {
    const inside = { ...names };
    let total = 0;
    for (inside[name] = low(names); inside[name] < high(names); inside[name]++) total += body(inside);
    return total;
  },
  any: (name, low, high, body) => (names) => {
    const inside = { ...names };
    for (inside[name] = low(names); inside[name] < high(names); inside[name]++) if (body(inside)) return true;
    return false;
  },
  first: (name, low, high, body) => (names) => {
    const inside = { ...names };
    const from = low(names);
    for (inside[name] = from; inside[name] < high(names); inside[name]++) if (body(inside)) return inside[name] - from;
    return Infinity;
  },
};

/** Compile a tree to a function. @type {(tree: any) => Formula} */
function formula(tree) {
  if (typeof tree === "number") return () => tree;
  if (typeof tree === "string") return (names) => names[tree];
  const [call, ...rest] = tree;
  if (call === "'") return () => rest[0];
  if (call in LOOPS) return LOOPS[call](rest[0], formula(rest[1]), formula(rest[2]), formula(rest[3]));
  const parts = rest.map(formula);
  if (call in EITHER) return EITHER[call](parts);
  const [act, a, b] = [CALLS[call], ...parts];
  return b ? (names) => act(a(names), b(names)) : (names) => act(a(names));
}

const grouped = (/** @type {number} */ value) => String(BigInt(Math.round(value))).replace(/\B(?=(\d{3})+$)/g, ",");

const fixed = (/** @type {number} */ digits) => (/** @type {number} */ value) => value.toFixed(digits);

// Format a number to `digits` significant digits, with an exponent if it is very large or very small.
const general = (/** @type {number} */ digits) => (/** @type {number} */ value) => {
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  if (+power >= -4 && +power < digits) return String(Number(value.toPrecision(digits)));
  return `${Number(mantissa)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
};

/** Python's number formats. @type {Record<string, (value: number) => string>} */
const FORMS = {
  "": String,
  ".0f": fixed(0),
  ".1f": fixed(1),
  ".2f": fixed(2),
  ".3f": fixed(3),
  ".4f": fixed(4),
  ",": grouped,
  ",.0f": grouped,
  ".0%": (value) => `${fixed(0)(100 * value)}%`,
  g: general(6),
  ".4g": general(4),
};

/** A rule's sentence, with the numbers filled in. @type {(rule: Rule, names: Names) => string | null} */
function sentenceOf([, words, numbers], names) {
  const number = (/** @type {string} */ _, /** @type {number} */ n) =>
    FORMS[numbers[n][1]](formula(numbers[n][0])(names));
  return words && phraseOf(words).replace(/\{(\d)\}/g, number);
}

// Judge an answer by the sentence of the first rule that applies to it. A rule without a sentence marks
// right answers; if no rule applies, `shows` is the reply to a right answer. `given` is a list of the numbers in
// `values` or, without `values`, an object keyed by name.
/** @type {(asked: Ruled, given: any) => Verdict} */
export function ruled({ values, rules, shows }, given) {
  const names = values ? Object.fromEntries(values.map((name, at) => [name, given[at]])) : given;
  const met = rules.find(([condition]) => formula(condition)(names)) ?? shows;
  const why = met && sentenceOf(met, names);
  return { right: met === shows || why == null, why: why ?? "" };
}
