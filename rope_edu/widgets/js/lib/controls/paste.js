// A longer text, typed or pasted. The page's address does not hold it.
import { html } from "../dom.js";

/** @type {ControlKind} */
export const paste = {
  allowed: ({ most }, value) => [...String(value)].slice(0, most).join(""),

  parse: String,

  make(control, move) {
    const area = html("textarea", { rows: "3", autocomplete: "off", spellcheck: "false" });
    area.addEventListener("input", () => move(area.value));
    return {
      element: html("label", { class: "rl-control rl-paste" }, html("span", {}, control.label), area),
      show(value) {
        if (area.value !== value) area.value = value;
      },
    };
  },
};
