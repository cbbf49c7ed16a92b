// Provides helpers for numbers: formatting, clamping, ranges, and round values for axis ticks.

/** Format a number with fixed decimals and a proper minus sign, but never as negative zero. @type {(value: number, decimals?: number) => string} */
export function fmt(value, decimals = 2) {
  const text = (Math.abs(value) < 0.5 * 10 ** -decimals ? 0 : value).toFixed(decimals);
  return text.replace("-", "−");
}

/** Format a number in little room: −.91, 1, 0. @type {(value: number, decimals: number) => string} */
export function brief(value, decimals) {
  return fmt(value, decimals).replace(/\.0+$/, "").replace("0.", ".");
}

/** Format an integer with commas between thousands: 54,410. @type {(value: number) => string} */
export function grouped(value) {
  return String(Math.round(value))
    .replace(/\B(?=(\d{3})+$)/g, ",")
    .replace("-", "−");
}

/** @type {Record<string, string>} */
const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

/** Format an integer as a superscript: ⁻¹². @type {(power: number) => string} */
export const raised = (power) => [...String(power)].map((character) => RAISED[character]).join("");

/** The decimal logarithm, used as a position on logarithmic axes. @type {(value: number) => number} */
export const powerOf = (value) => Math.log10(value);

/** Map a value to its position on an axis that starts at 0 and is logarithmic for large values, and back. */
export const placeFromZero = (/** @type {number} */ value) => Math.log10(1 + value);
export const fromPlace = (/** @type {number} */ place) => 10 ** place - 1;

/** Format a power of ten: 0.01, 1 or 100 for exponents within [low, high], 10⁻⁹ outside. @type {(power: number, low?: number, high?: number) => string} */
export function decade(power, low = -3, high = 2) {
  if (power < low || power > high) return `10${raised(Math.round(power))}`;
  return String(Number((10 ** power).toPrecision(2)));
}

// Format a non-negative number to `digits` significant digits and between `least` and `most` decimals: 0.0316,
// 2.72·10⁻⁶.
/** @type {(value: number, digits?: number, least?: number, most?: number) => string} */
export function significant(value, digits = 3, least = 0, most = 6) {
  if (value === 0) return "0";
  const power = Math.floor(Math.log10(value));
  if (power < digits - 1 - most) return `${fmt(value / 10 ** power, digits - 1)}·10${raised(power)}`;
  return fmt(value, clamp(digits - 1 - power, least, most));
}

/** Format a number in thousands or millions: 4 k, 1 M. @type {(value: number) => string} */
export function abbreviated(value) {
  if (value >= 1e6) return `${value / 1e6} M`;
  return value >= 1000 ? `${value / 1000} k` : String(value);
}

/** Clamp a value to [low, high]. @type {(value: number, low: number, high: number) => number} */
export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

/** The numbers from `low` to `high` in steps of `step`. @type {(low: number, high: number, step?: number) => number[]} */
export function range(low, high, step = 1) {
  return Array.from({ length: Math.floor((high - low) / step + 1e-9) + 1 }, (_, i) => low + i * step);
}

/** `count` + 1 numbers in geometric progression from `low` to `high`. @type {(low: number, high: number, count: number) => number[]} */
export const geometric = (low, high, count) => range(0, count).map((i) => low * (high / low) ** (i / count));

/** About `count` round numbers in [low, high]. @type {(low: number, high: number, count?: number) => number[]} */
export function ticks(low, high, count = 5) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999) ?? 10 * power;
  return range(Math.ceil(low / step - 1e-9) * step, high, step).map((t) => Number(t.toPrecision(12)));
}

/** The sum of an array. @type {(values: Vector) => number} */
export const sum = (values) => values.reduce((total, value) => total + value, 0);

/** Distinct numbers in ascending order. @type {(values: Iterable<number>) => number[]} */
export const sorted = (values) => [...new Set(values)].sort((a, b) => a - b);

/** The last item of a non-empty list. @template T @param {T[]} list */
export const last = (list) => list[list.length - 1];
