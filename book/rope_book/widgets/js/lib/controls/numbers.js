// A control for a list of numbers separated by commas or spaces, typed or pasted.
import { html, say } from "../dom.js";
import { clamp } from "../numbers.js";
import { phrase } from "../phrase.js";

/** Parse a string, and return the numbers and the parts that are not numbers. @type {(text: string) => [number[], string[]]} */
function found(text) {
  const words = text
    .replace(/−/g, "-")
    .split(/[\s,;[\]]+/)
    .filter(Boolean);
  const isNumber = (/** @type {string} */ word) => Number.isFinite(Number(word));
  return [words.filter(isNumber).map(Number), words.filter((word) => !isNumber(word))];
}

/** @type {ControlKind} */
export const numbers = {
  allowed: ({ most, low, high }, value, current) =>
    Array.isArray(value) && value.every(Number.isFinite)
      ? value.slice(0, most).map((/** @type {number} */ each) => clamp(each, low, high))
      : current,

  parse: (text) => found(text)[0],

  make({ label, most }, move, tell) {
    const input = html("input", { type: "text", autocomplete: "off", spellcheck: "false", inputmode: "text" });
    const note = html("span", { class: "rl-note", "aria-hidden": "true" }); // announced by tell()
    input.addEventListener("input", () => {
      const [values, odd] = found(input.value);
      const out = odd.length ? phrase`No number: ${odd.slice(0, 3).join(" ")}.` : "";
      say(note, values.length > most ? phrase`Cut: at most ${most} numbers.` : out);
      if (note.textContent) tell(note.textContent);
      move(values);
    });
    return {
      element: html("label", { class: "rl-control rl-sentence" }, html("span", {}, label), input, note),
      show(/** @type {number[]} */ value) {
        if (String(found(input.value)[0]) !== String(value)) input.value = value.join(", ");
      },
    };
  },
};
