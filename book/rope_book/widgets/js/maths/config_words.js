// Formats config values for messages in the same way as Python.
import { phraseOf } from "../lib/phrase.js";

const UNFORMATTED = ["allowed", "why", "detail", "field", "fields", "other", "rule", "nest", "model_type"]; // already text
const CONTROL = /[\p{Cc}\p{Cs}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const SHORT = /** @type {Record<string, string>} */ ({ "\t": "\\t", "\n": "\\n", "\r": "\\r" });

/** Escape control characters as Python does. @param {string} text */
export const visible = (text) =>
  text.replace(CONTROL, (letter) => {
    const code = letter.charCodeAt(0);
    return SHORT[letter] ?? (code < 256 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`);
  });

/** @type {(code: number, digits: number) => string} */
const hex = (code, digits) => code.toString(16).padStart(digits, "0");

/** Format the values that fill a sentence's placeholders. @type {(words: Record<string, any>) => Record<string, string>} */
export function shown(words) {
  const all = Object.entries(words);
  return Object.fromEntries(all.map(([name, word]) => [name, UNFORMATTED.includes(name) ? word : formatValue(word)]));
}

/** Fill in the placeholders of a sentence from the rules. @type {(sentence: string, words: Record<string, any>) => string} */
export const filled = (sentence, words) => phraseOf(sentence).replace(/\{(\w+)\}/g, (_, name) => String(words[name]));

/** Truncate a string to `most` characters. @type {(text: string, most: number) => string} */
export const cut = (text, most) => [...text.slice(0, 2 * most)].slice(0, most).join("");

/** Format a value for a sentence, in at most 60 characters. @type {(value: any) => string} */
export function formatValue(value) {
  let text = String(value);
  if (typeof value === "number") text = formatNumber(value);
  else if (typeof value === "string") text = JSON.stringify(cut(value, 61));
  else if (Array.isArray(value)) {
    const items = value.slice(0, 16).map((item) => (Array.isArray(item) ? "[…]" : formatValue(item)));
    text = `[${items.join(", ")}${value.length > 16 ? ", …]" : "]"}`;
  } else if (value !== null && typeof value === "object") text = "an object";
  return [...text].length <= 60 ? text : `${cut(text, 59)}…`;
}

/** @param {number} value */
function formatNumber(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf"; // as in Python
  return Number.isInteger(value) && Math.abs(value) < 1e15 ? String(value) : general(value, 12);
}

/** Format a number to the given number of significant digits, like Python's "g". @type {(value: number, digits: number) => string} */
export function general(value, digits) {
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  if (Number(power) >= -4 && Number(power) < digits) return String(Number(value.toPrecision(digits)));
  return `${Number(mantissa)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
}

/** Quoted names, separated by commas. @type {(names: string[]) => string} */
export const listed = (names) => names.map((name) => `"${name}"`).join(", ");

/** Format indices as runs: "0–2, 5". @param {number[]} indices */
export function runs(indices) {
  /** @type {[number, number][]} */
  const found = [];
  for (const index of indices) {
    const last = found.at(-1);
    if (last && index === last[1] + 1) last[1] = index;
    else found.push([index, index]);
  }
  const shown = found.slice(0, 6).map(([start, end]) => (start === end ? `${start}` : `${start}–${end}`));
  return [...shown, ...(found.length > 6 ? ["…"] : [])].join(", ");
}
