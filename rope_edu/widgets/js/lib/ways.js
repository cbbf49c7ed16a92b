// Ways to answer a question: press a choice, type, put in order, leave a control of the figure, click in the figure.
import { html, say } from "./dom.js";
import { numberOf, numbersOf } from "./judge.js";
import { phrase, phraseOf } from "./phrase.js";
import { bare, rich } from "./rich.js";

const TO_FIGURE = phrase`To the figure`;
const OWN_KEYS = { "data-lm-suppress-shortcuts": "true" }; // for JupyterLab

/** @typedef {{element: HTMLElement, mark?: (given: any, right: boolean) => void, stop?: () => void}} Way */

// A button; JupyterLab leaves its keys alone.
/** @type {(words: string, click: () => void, attributes?: Attributes) => HTMLButtonElement} */
export function button(words, click, attributes = {}) {
  const element = html("button", { type: "button", ...OWN_KEYS, ...attributes }, ...rich(words));
  element.addEventListener("click", click);
  return element;
}

/** @type {(asked: {choices?: string[][]}, give: Give) => {element: HTMLElement, mark: (given: any, right: boolean) => void}} */
function choices({ choices = [] }, give) {
  const buttons = choices.map(([words], place) => button(words, () => give(place), { class: "rl-choice" }));
  const list = html("ul", { class: "rl-choices" }, ...buttons.map((each) => html("li", {}, each)));
  function mark(/** @type {number} */ given, /** @type {boolean} */ right) {
    buttons[given].dataset.verdict = right ? "right" : "wrong";
    const word = html("span", { class: "rl-spoken" }, right ? phrase` (right)` : phrase` (not so)`);
    if (!buttons[given].querySelector(".rl-spoken")) buttons[given].append(word);
  }
  return { element: list, mark };
}

/** A form whose button gives what is in it. @type {(kind: string, parts: HTMLElement[], press: string, give: () => void) => Way} */
function form(kind, parts, press, give) {
  const element = html("form", { class: kind }, ...parts, html("button", { type: "submit" }, press));
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    give();
  });
  return { element };
}

/** @type {(asked: Asked, give: Give) => Way} */
function number({ unit }, give) {
  const input = html("input", { type: "text", inputmode: "decimal", size: 12, ...OWN_KEYS });
  const words = unit ? phrase`Your answer, in ${unit}` : phrase`Your answer`;
  const label = html("label", {}, html("span", {}, words), input);
  return form("rl-number", [label], phrase`Answer`, () => {
    if (input.value.trim()) give(numberOf(input.value));
    else input.focus();
  });
}

/** @type {(asked: Asked, give: Give, around: Around) => Way} */
function row({ numbers = [] }, give, { tell }) {
  const many = numbers.length;
  const input = html("input", { type: "text", size: 24, ...OWN_KEYS });
  const words = many > 1 ? phrase`Your answer, ${many} numbers with spaces between` : phrase`Your answer`;
  const label = html("label", {}, html("span", {}, words), input);
  const several = phrase`The answer is ${many} numbers; spaces between them keep them apart.`;
  return form("rl-number", [label], phrase`Check`, () => {
    const found = numbersOf(input.value);
    if (found.length === many && found.every(Number.isFinite)) give(found);
    else tell(many > 1 ? several : phrase`The answer is one number.`);
  });
}

/** @type {(asked: Asked, give: Give) => Way} */
function several({ items = [] }, give) {
  const boxes = items.map(() => html("input", { type: "checkbox", ...OWN_KEYS }));
  const labels = items.map((item, at) =>
    html("label", { class: "rl-control rl-toggle" }, boxes[at], html("span", {}, phraseOf(item))),
  );
  const chosen = () => items.filter((_, at) => boxes[at].checked);
  return form("rl-several", labels, phrase`Check`, () => give(chosen()));
}

/** @type {(asked: Asked, give: Give) => Way} */
function order({ items = [] }, give) {
  /** @type {string[]} */
  let placed = [];
  const so = html("p", { class: "rl-placed" });
  const buttons = items.map((item) => button(phraseOf(item), () => place(item), { class: "rl-choice" }));
  const again = button(phrase`Begin again`, () => show([]));
  function show(/** @type {string[]} */ names) {
    placed = names;
    const order = phrase`Your order: ${bare(placed.map(phraseOf).join(phrase`, `))}`;
    say(so, placed.length ? order : phrase`Press them in order, the first one first.`);
    for (const [at, each] of buttons.entries()) each.setAttribute("aria-pressed", String(placed.includes(items[at])));
  }
  function place(/** @type {string} */ item) {
    if (placed.length === items.length) show([]);
    if (placed.includes(item)) return;
    show([...placed, item]);
    if (placed.length === items.length) give(placed);
  }
  show([]);
  const list = html("ul", { class: "rl-choices rl-order" }, ...buttons.map((each) => html("li", {}, each)));
  return { element: html("div", {}, so, list, again) };
}

/** A button that leads to the figure, where there is a way. @param {Around["link"]} link */
function to(link) {
  const button = link?.(TO_FIGURE);
  return button ? [button] : [];
}

/** @type {(asked: Asked, give: Give, around: Around) => Way} */
function setting(asked, give, { now, link }) {
  if (!now) return number(asked, give); // no figure is beside it
  const leave = () => give(now()?.[asked.control ?? ""] ?? NaN);
  return { element: html("div", { class: "rl-bar" }, button(phrase`I left it there`, leave), ...to(link)) };
}

/** @type {(asked: Asked, give: Give, around: Around) => Way} */
function place({ places = [] }, give, { link, pick }) {
  const { element: list, mark } = choices({ choices: places.map((name) => [phraseOf(name)]) }, (at) =>
    give(places[at]),
  );
  list.classList.add("rl-order");
  const marked = (/** @type {string} */ name, /** @type {boolean} */ right) => mark(places.indexOf(name), right);
  if (!pick) return { element: list, mark: marked };
  const words = html("p", { class: "rl-placed" }, phrase`Click it in the figure, or press its name:`);
  const element = html("div", {}, words, list, ...to(link));
  function take(/** @type {string} */ name) {
    give(name);
    element.parentElement?.querySelector(".rl-reply")?.scrollIntoView({ block: "nearest" });
  }
  const seen = new IntersectionObserver((entries) => entries.at(-1)?.isIntersecting && pick(places, take));
  const hidden = new ResizeObserver(() => element.offsetParent || pick()); // by another question: out of sight is not enough
  const watches = [seen, hidden];
  for (const watch of watches) watch.observe(element);
  function stop() {
    for (const watch of watches) watch.disconnect();
    pick?.();
  }
  return { element, mark: marked, stop };
}

/** @type {Record<string, (asked: Asked, give: Give, around: Around) => Way>} */
export const WAYS = { choices, number, row, several, order, setting, place };
