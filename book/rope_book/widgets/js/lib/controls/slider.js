// A control for a number, on a native range input.
import { html, say, write } from "../dom.js";
import { clamp, fmt, fromPlace, grouped, placeFromZero } from "../numbers.js";

/** @type {Record<string, number>} */
const KEYS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };

/** A function that formats a slider's numbers. @type {(control: Control) => (value: number) => string} */
function wordsOf({ log, whole, step, unit }) {
  const decimals = (String(step).split(".")[1] ?? "").length;
  return (value) => {
    const number = log || whole ? grouped(value) : fmt(value, decimals);
    return [number, number === "1" ? unit.replace(/s$/, "") : unit].filter(Boolean).join(" ");
  };
}

/** Two functions that map a value to a position on the range input and back. @type {(control: Control) => ((v: number) => number)[]} */
function scaleOf({ log, low }) {
  if (!log) return [(v) => v, (v) => v];
  return low === 0 ? [placeFromZero, fromPlace] : [Math.log10, (v) => 10 ** v];
}

/** @type {ControlKind} */
export const slider = {
  /** The allowed value nearest to `value`, or `current` if `value` is not a number. */
  allowed(control, value, current) {
    if (!Number.isFinite(value)) return current;
    const held = clamp(value, control.low, control.high);
    return control.whole ? Math.round(held) : Number(held.toPrecision(12));
  },

  parse: (text) => (text.trim() === "" ? NaN : Number(text)),

  make(control, move) {
    const { log, whole, low, high, step, label } = control;
    const [to, from] = scaleOf(control);
    const counts = log && (whole || low === 0); // arrow keys step by 1, except at large values
    const shown = html("span", { class: "rl-value", "aria-hidden": "true" }); // repeats aria-valuetext
    const input = html("input", { type: "range", min: to(low), max: to(high), step: log ? 0.01 : step });
    const words = wordsOf(control);
    shown.style.minWidth = `${Math.max(words(low).length, words(high).length)}ch`; // room for longer numbers
    let current = low;
    input.addEventListener("input", () => {
      const value = from(Number(input.value));
      move(log ? Number(value.toPrecision(3)) : value);
    });
    input.addEventListener("keydown", (event) => {
      if (!(counts && KEYS[event.key] && current < 1000)) return;
      event.preventDefault(); // the default step of a logarithmic slider skips whole numbers
      move(clamp(current + KEYS[event.key], low, high));
    });
    return {
      element: html("label", { class: "rl-control" }, html("span", {}, label, " ", shown), input),
      show(value) {
        current = value;
        if (Math.abs(Number(input.value) - to(value)) > (log ? 0.005 : 1e-9)) input.value = String(to(value));
        say(shown, words(value));
        write(input, { "aria-valuetext": words(value) });
      },
    };
  },
};
