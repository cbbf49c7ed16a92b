// A control for a freehand line, drawn with a pencil in the picture or set with two sliders, one for its length and
// one for its end height.
import { html, say, write } from "../dom.js";
import { clamp } from "../numbers.js";
import { phrase } from "../phrase.js";

// Extend a line to position `to` and the given height with a straight segment, or cut it back to that position.
/** @type {(line: number[], to: number, height: number, start: number) => number[]} */
export function drawnTo(line, to, height, start) {
  const before = line.slice(0, Math.max(0, to - 1));
  const from = before.at(-1) ?? start;
  const steps = to - before.length;
  const added = Array.from({ length: steps }, (_, i) => from + ((height - from) * (i + 1)) / steps);
  return [...before, ...added].map((point) => Math.round(point * 100) / 100);
}

/** @type {ControlKind} */
export const sketch = {
  allowed: ({ most }, value, current) =>
    Array.isArray(value) && value.every(Number.isFinite)
      ? value.slice(0, most).map((/** @type {number} */ height) => clamp(height, -1, 1))
      : current,

  parse: (text) => (text.trim() === "" ? [] : text.split(",").map(Number)),

  make({ label, most }, move) {
    let line = /** @type {number[]} */ ([]);
    /** @type {(words: string, low: number, high: number) => [HTMLElement, HTMLInputElement, HTMLElement]} */
    function part(words, low, high) {
      const shown = html("span", { class: "rl-value", "aria-hidden": "true" });
      const input = html("input", { type: "range", min: low, max: high, step: 1, value: 0 });
      write(input, { "aria-label": `${label}, ${words}` });
      return [html("label", {}, html("span", {}, words, " ", shown), input), input, shown];
    }
    const [far, farther, farWords] = part(phrase`how far`, 0, most);
    const [high, higher, highWords] = part(phrase`height`, -100, 100);
    const end = () => line.at(-1) ?? 0;
    farther.addEventListener("input", () => {
      const to = Number(farther.value);
      const height = line.length ? end() : Number(higher.value) / 100;
      move(to <= line.length ? line.slice(0, to) : drawnTo(line, to, height, end()));
    });
    higher.addEventListener("input", () =>
      move(drawnTo(line, Math.max(1, line.length), Number(higher.value) / 100, end())),
    );
    return {
      element: html("fieldset", { class: "rl-control rl-sketch" }, html("legend", {}, label), far, high),
      show(value) {
        line = value;
        const words = [phrase`${line.length} of ${most}`, `${Math.round(100 * end())} %`];
        farther.value = String(line.length);
        higher.value = String(Math.round(100 * end()));
        say(farWords, words[0]);
        say(highWords, words[1]);
        write(farther, { "aria-valuetext": words[0] });
        write(higher, { "aria-valuetext": words[1] });
      },
    };
  },
};
