// A control for a short text of a few words.
import { html, say, typing } from "../dom.js";
import { phrase } from "../phrase.js";
import { graphemes } from "../words.js";

const LETTERS = 16; // maximum length of a word in code points, as counted by Python

const wordsIn = (/** @type {unknown} */ text) =>
  String(text)
    .split(/[\s\p{Cc}]+/u)
    .filter(Boolean);

// Truncate a word to the maximum length without splitting a grapheme.
function cut(/** @type {string} */ word) {
  let [short, count] = ["", 0];
  for (const letter of graphemes(word)) {
    count += [...letter].length;
    if (count > LETTERS) break;
    short += letter;
  }
  return short || [...word].slice(0, LETTERS).join("");
}

/** @type {ControlKind} */
export const sentence = {
  allowed({ max_words: most }, value, current) {
    const words = wordsIn(value).slice(0, most);
    return words.length ? words.map(cut).join(" ") : current;
  },

  make(control, move, tell) {
    // a textarea, so that the text wraps in a narrow column
    const input = html("textarea", { rows: "1", autocomplete: "off", spellcheck: "false" });
    const note = html("span", { class: "rl-note", "aria-hidden": "true" }); // announced by tell()
    const isTyped = typing(input);
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault(); // no line breaks in a sentence
      input.dispatchEvent(new Event("change"));
    });
    input.addEventListener("change", () => {
      const typed = wordsIn(input.value).join(" ");
      const short = sentence.allowed(control, typed, typed) !== typed;
      move(input.value);
      say(note, short ? phrase`Shortened: at most ${control.max_words} words of ${LETTERS} letters.` : "");
      if (short) tell(note.textContent);
    });
    return {
      element: html("label", { class: "rl-control rl-sentence" }, html("span", {}, control.label), input, note),
      show(value) {
        if (!isTyped() && input.value !== value) input.value = value;
      },
    };
  },
};
