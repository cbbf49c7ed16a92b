// A control for choosing one of a few named options.
import { html, say } from "../dom.js";
import { textWidth } from "../words.js";

const COLUMN = 230; // in pixels; a select with a longer option gets a full row

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
    const longest = options
      .map(([, words]) => words)
      .reduce((one, other) => (textWidth(other) > textWidth(one) ? other : one));
    const kind = textWidth(longest, 15) > COLUMN ? "rl-control rl-long" : "rl-control";
    const [shown, chosen] = makeShown(longest);
    const box = html("span", { class: "rl-select" }, shown, select);
    return {
      element: html("label", { class: kind }, html("span", {}, label), box),
      show(value) {
        select.value = String(value);
        say(chosen, select.selectedOptions[0]?.textContent ?? "");
      },
    };
  },
};

// Show the selected option as text that wraps, which a select cannot do, in a space that fits the longest option.
/** @type {(longest: string) => [HTMLElement, HTMLElement]} */
function makeShown(longest) {
  const chosen = html("span");
  return [html("span", { "aria-hidden": "true" }, html("span", { class: "rl-room" }, longest), chosen), chosen];
}

/** The same control with one button per option, grouped under headings if there are any. */
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
