// A control for choosing one of a few named options.
import { html } from "../dom.js";

/** @type {ControlKind} */
export const choice = {
  allowed({ options }, value, current) {
    const option = options.find(([v]) => String(v) === String(value));
    return option ? option[0] : current;
  },

  make(control, move, _, small) {
    if (small || control.buttons) return buttons(control, move);
    const { label, options } = control;
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

/** The same control, with one button per option. */
function buttons(/** @type {Control} */ { label, options }, /** @type {(value: any) => void} */ move) {
  const group = `rl-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`; // unique across figures
  const inputs = options.map(([value]) => html("input", { type: "radio", name: group, value, class: "rl-spoken" }));
  const row = html("div", { class: "rl-row" });
  for (const [i, [, words]] of options.entries()) {
    inputs[i].addEventListener("change", () => move(inputs[i].value));
    row.append(html("label", {}, inputs[i], html("span", {}, words)));
  }
  return {
    element: html("fieldset", { class: "rl-control rl-options" }, html("legend", {}, label), row),
    show(/** @type {any} */ value) {
      for (const input of inputs) input.checked = input.value === String(value);
    },
  };
}
