import { button, html } from "../lib/dom.js";
import { CHOICES, PAIRS } from "./choices.js";

// Builds the page's elements, without their behaviour.

export const PROMPT = "A good way to cook rice is to wash it first, then";
const PASTED =
  "In the beginning God created the heaven and the earth. And the earth was without form, and void; and darkness was " +
  "upon the face of the deep. And the Spirit of God moved upon the face of the waters. And God said, Let there be " +
  "light: and there was light. And God saw the light, that it was good: and God divided the light from the darkness.";
export const TOKENS = { least: 1, most: 200, first: 24 };
const FASTEST = 2; // as a multiple of the trained speed

/** Put a control under its label. @type {<Control extends HTMLElement>(words: string, control: Control) => HTMLLabelElement} */
const labelled = (words, control) => html("label", { class: "real-control" }, html("span", {}, words), control);

/** Create a slider for each pair's speed, where 1 is the trained speed and 0 stops the pair. */
function makeHands() {
  const sliders = Array.from({ length: PAIRS }, (_, pair) =>
    html("input", {
      type: "range",
      min: 0,
      max: FASTEST,
      step: 0.05,
      value: 1,
      "aria-label": `Speed of pair ${pair}`,
    }),
  );
  const told = html("output", { class: "real-told" });
  const reset = button("Reset the hands", () => {
    for (const slider of sliders) slider.value = "1";
    sliders[0].dispatchEvent(new Event("input", { bubbles: true }));
  });
  const hands = html(
    "fieldset",
    { class: "real-hands", hidden: "" },
    html("legend", {}, "Speed of each pair, from the fastest to the slowest: down is still, the middle is as trained"),
    html("div", { class: "real-sliders" }, ...sliders),
    html("div", { class: "real-bar" }, reset, told),
  );
  hands.addEventListener("input", ({ target }) => {
    const pair = sliders.indexOf(/** @type {HTMLInputElement} */ (target));
    told.textContent = `Pair ${pair}: ${sliders[pair].value} × its trained speed`;
  });
  return { hands, speeds: () => sliders.map(({ value }) => Number(value)) };
}

/** Create a sheet that shows the text a model writes and the writing speed. @param {string} words */
function makeSheet(words) {
  const [title, text, speed] = [
    html("h2", {}, words),
    html("p", { class: "real-text" }),
    html("p", { class: "real-speed" }),
  ];
  return { sheet: html("section", {}, title, text, speed), title, text, speed };
}

/** @param {number} bytes of the model */
export function makeParts(bytes) {
  const size = `${(bytes / 1e6).toFixed(0)} MB`;
  const get = {
    status: html("p", { class: "real-status", role: "status" }),
    bar: html("progress", { max: bytes, value: 0, hidden: "", "aria-label": "Fetched" }),
    fetch: html("button", { type: "button", class: "real-main" }, `Fetch the model: ${size}`),
    file: html("input", { type: "file", accept: ".gguf" }),
    remove: html("button", { type: "button", hidden: "" }, "Remove the model from this browser"),
  };
  const choose = {
    text: html("textarea", { rows: 2 }, PROMPT),
    choice: html(
      "select",
      {},
      ...Object.entries(CHOICES)
        .filter(([name]) => name !== "right")
        .map(([value, { words }]) => html("option", { value }, words)),
    ),
    means: html("p", { class: "real-means" }),
    tokens: html("input", { type: "number", min: TOKENS.least, max: TOKENS.most, value: TOKENS.first }),
    ...makeHands(),
  };
  const act = {
    write: html("button", { type: "button", class: "real-main", disabled: "" }, "Write"),
    measure: html("button", { type: "button", disabled: "" }, "Measure"),
    save: html("button", { type: "button", disabled: "" }, "Save the changed file"),
    stop: html("button", { type: "button", disabled: "" }, "Stop"),
  };
  const shown = {
    right: makeSheet(CHOICES.right.words),
    wrong: makeSheet(""),
    pasted: html("textarea", { rows: 5 }, PASTED),
    table: html("div", { class: "rope-table", hidden: "" }),
    python: html("pre", { tabindex: 0, "aria-label": "Python" }),
    command: html("pre", { tabindex: 0, "aria-label": "llama.cpp" }),
  };
  return { get, choose, act, shown };
}

/** Arrange all parts for the page, on which the model is offered or has to be on disk. @type {(parts: ReturnType<typeof makeParts>, isOffered: boolean) => HTMLElement[]} */
export function arranged({ get, choose, act, shown }, isOffered) {
  const words = isOffered
    ? "or, instead of fetching it, choose its file on this device"
    : "The model's file, on this device";
  const file = labelled(words, get.file);
  return [
    html(
      "div",
      { class: "real-get" },
      get.status,
      get.bar,
      html("div", { class: "real-bar" }, get.fetch, file, get.remove),
    ),
    labelled("The text to continue", choose.text),
    html(
      "div",
      { class: "real-bar" },
      labelled("The mistake, or the rule", choose.choice),
      labelled("Tokens to write", choose.tokens),
    ),
    choose.means,
    choose.hands,
    html("div", { class: "real-bar" }, act.write, act.save, act.stop),
    html("div", { class: "real-sheets" }, shown.right.sheet, shown.wrong.sheet),
    labelled("A text whose perplexity is measured, by place", shown.pasted),
    html("div", { class: "real-bar" }, act.measure),
    shown.table,
    html("p", { class: "real-caption" }, "The same in Python, in float32:"),
    shown.python,
    html("p", { class: "real-caption" }, "The same in llama.cpp:"),
    shown.command,
  ];
}
