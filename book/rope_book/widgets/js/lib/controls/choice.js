// A control for choosing one of a few named options.
import { html } from "../dom.js";

/** @type {ControlKind} */
export const choice = {
  allowed({ options }, value, current) {
    const option = options.find(([v]) => String(v) === String(value));
    return option ? option[0] : current;
  },

  make(control, move, _, small) {
    if (small || control.buttons || control.groups) return buttons(control, move);
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

/** The same control, with one button per option; in groups under their headings, if it has any. */
function buttons(/** @type {Control} */ { label, options, groups }, /** @type {(value: any) => void} */ move) {
  const name = `rl-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`; // unique across figures
  const inputs = options.map(([value]) => html("input", { type: "radio", name, value, class: "rl-spoken" }));
  const labels = options.map(([, words], i) => {
    inputs[i].addEventListener("change", () => move(inputs[i].value));
    return html("label", {}, inputs[i], html("span", {}, words));
  });
  const named = (/** @type {any} */ value) => labels[options.findIndex(([option]) => option === value)];
  const rows = groups?.map(([heading, values]) =>
    html("div", { class: "rl-group" }, html("span", { class: "rl-note" }, heading), ...values.map(named)),
  );
  const row = rows ? html("div", { class: "rl-groups" }, ...rows) : html("div", { class: "rl-row" }, ...labels);
  return {
    element: html("fieldset", { class: "rl-control rl-options" }, html("legend", {}, label), row),
    show(/** @type {any} */ value) {
      for (const input of inputs) input.checked = input.value === String(value);
    },
  };
}
