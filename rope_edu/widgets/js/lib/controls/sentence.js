// A short text.
import { html } from "../dom.js";

export const sentence = {
  allowed(control, value, current) {
    const words = String(value).split(/\s+/).filter(Boolean).slice(0, control.max_words);
    return words.length ? words.map((word) => word.slice(0, 16)).join(" ") : current;
  },

  parse: String,

  make({ label }, move) {
    const input = html("input", { type: "text", autocomplete: "off", spellcheck: "false" });
    input.addEventListener("change", () => move(input.value));
    return {
      element: html("label", { class: "rl-control rl-sentence" }, html("span", {}, label), input),
      show(value) {
        if (input.value !== value) input.value = value;
      },
    };
  },
};
