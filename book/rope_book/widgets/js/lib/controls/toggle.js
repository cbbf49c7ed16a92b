// A checkbox control.
import { html } from "../dom.js";

/** @type {ControlKind} */
export const toggle = {
  allowed: (_, value) => Boolean(value),

  parse: (text) => text === "true",

  make({ label }, move) {
    const input = html("input", { type: "checkbox" });
    input.addEventListener("change", () => move(input.checked));
    return {
      element: html("label", { class: "rl-control rl-toggle" }, input, html("span", {}, label)),
      show(value) {
        input.checked = value;
      },
    };
  },
};
