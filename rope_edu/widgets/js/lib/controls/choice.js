// One of a few named options.
import { html } from "../dom.js";

/** @type {ControlKind} */
export const choice = {
  allowed({ options }, value, current) {
    const option = options.find(([v]) => String(v) === String(value));
    return option ? option[0] : current;
  },

  parse: String,

  make({ label, options }, move) {
    const select = html("select", {}, ...options.map(([value, words]) => html("option", { value }, words)));
    select.addEventListener("change", () => move(select.value));
    return {
      element: html("label", { class: "rl-control" }, html("span", {}, label), select),
      show(value) {
        select.value = String(value);
      },
    };
  },
};
