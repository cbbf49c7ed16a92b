// Provides the ways to answer a question: choosing an option, typing, ordering items, setting a control of the
// figure, or clicking in the figure.
import { button, html, say } from "./dom.js";
import { numberOf, numbersOf } from "./judge.js";
import { phrase, phraseOf } from "./phrase.js";
import { bare, rich } from "./rich.js";

/** @typedef {(given: any, right: boolean) => void} Mark */
/** @typedef {{element: HTMLElement, mark?: Mark, stop?: () => void}} Way */
/** @typedef {(asked: Asked, give: Give, around: Around) => Way} Make */

const TO_FIGURE = phrase`To the figure`;

/** @type {(asked: {choices?: string[][]}, give: Give) => {element: HTMLElement, mark: Mark}} */
function choices({ choices = [] }, give) {
  const buttons = choices.map(([words], place) => choice(words, () => give(place)));
  function mark(/** @type {number} */ given, /** @type {boolean} */ right) {
    buttons[given].dataset.verdict = right ? "right" : "wrong";
    const word = html("span", { class: "rl-spoken" }, right ? phrase` (right)` : phrase` (not so)`);
    if (!buttons[given].querySelector(".rl-spoken")) buttons[given].append(word);
  }
  return { element: listOf(buttons), mark };
}

/** @type {(words: string, press: () => void) => HTMLButtonElement} */
const choice = (words, press) => button(rich(words), press, { class: "rl-choice" });

/** @type {(buttons: HTMLElement[]) => HTMLElement} */
const listOf = (buttons) => html("ul", { class: "rl-choices" }, ...buttons.map((item) => html("li", {}, item)));

/** Create a form whose button submits its content. @type {(kind: string, parts: HTMLElement[], press: string, give: () => void) => Way} */
function form(kind, parts, press, give) {
  const element = html("form", { class: kind }, ...parts, html("button", { type: "submit" }, press));
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    give();
  });
  return { element };
}

// Create a labelled text box, whose button calls `take(text)`.
/** @type {(words: string, attributes: Attributes, press: string, take: (text: string, input: HTMLElement) => void) => Way} */
function box(words, attributes, press, take) {
  const input = html("input", { type: "text", ...attributes });
  const label = html("label", {}, html("span", {}, words), input);
  return form("rl-number", [label], press, () => take(input.value, input));
}

/** @type {Make} */
function number({ unit }, give) {
  const words = unit ? phrase`Your answer, in ${unit}` : phrase`Your answer`;
  return box(words, { inputmode: "decimal", size: 12 }, phrase`Answer`, (text, input) => {
    if (text.trim()) give(numberOf(text));
    else input.focus();
  });
}

/** @type {Make} */
function row({ numbers = [] }, give, { tell }) {
  const many = numbers.length;
  const words = many > 1 ? phrase`Your answer, ${many} numbers with spaces between` : phrase`Your answer`;
  const several = phrase`The answer is ${many} numbers; spaces between them keep them apart.`;
  return box(words, { size: 24 }, phrase`Check`, (text) => {
    const typed = numbersOf(text);
    if (typed.length === many && typed.every(Number.isFinite)) give(typed);
    else tell(many > 1 ? several : phrase`The answer is one number.`);
  });
}

/** @type {Make} */
function several({ items = [] }, give) {
  const boxes = items.map(() => html("input", { type: "checkbox" }));
  const labels = items.map((item, at) =>
    html("label", { class: "rl-control rl-toggle" }, boxes[at], html("span", {}, phraseOf(item))),
  );
  const chosen = () => items.filter((_, at) => boxes[at].checked);
  return form("rl-several", labels, phrase`Check`, () => give(chosen()));
}

/** @type {Make} */
function order({ items = [] }, give) {
  let placed = /** @type {string[]} */ ([]);
  const so = html("p", { class: "rl-placed" });
  const buttons = items.map((item) => choice(phraseOf(item), () => place(item)));
  const again = button(phrase`Begin again`, () => show([]));
  function show(/** @type {string[]} */ names) {
    placed = names;
    const order = phrase`Your order: ${bare(placed.map(phraseOf).join(phrase`, `))}`;
    say(so, placed.length ? order : phrase`Press them in order, the first one first.`);
    for (const [at, item] of buttons.entries()) item.setAttribute("aria-pressed", String(placed.includes(items[at])));
  }
  function place(/** @type {string} */ item) {
    if (placed.length === items.length) show([]);
    if (placed.includes(item)) return;
    show([...placed, item]);
    if (placed.length === items.length) give(placed);
  }
  show([]);
  const list = listOf(buttons);
  list.classList.add("rl-order");
  return { element: html("div", {}, so, list, again) };
}

/** A button that leads to the figure, or "" if the figure cannot be reached. @param {Around["link"]} link */
const to = (link) => link?.(TO_FIGURE) ?? "";

/** @type {Make} */
function setting(asked, give, around) {
  const { now, link } = around;
  if (!now) return number(asked, give, around); // without a figure, ask for a number
  const leave = () => give(now()?.[asked.control ?? ""] ?? NaN);
  return { element: html("div", { class: "rl-bar" }, button(phrase`I left it there`, leave), to(link)) };
}

/** Take the figure's controls and results as the answer. @type {Make} */
function state(_, give, { now, link }) {
  const check = button(phrase`Check the figure`, () => now?.() && give(now()));
  return { element: html("div", { class: "rl-bar" }, check, to(link)) };
}

/** @type {Make} */
function place({ places = [] }, give, { link, pick }) {
  const names = places.map((name) => [phraseOf(name)]);
  const { element: list, mark: markAt } = choices({ choices: names }, (at) => give(places[at]));
  list.classList.add("rl-order");
  /** @type {Mark} */
  const mark = (name, right) => markAt(places.indexOf(name), right);
  if (!pick) return { element: list, mark };
  const words = html("p", { class: "rl-placed" }, phrase`Click it in the figure, or press its name:`);
  const element = html("div", {}, words, list, to(link));
  function take(/** @type {string} */ name) {
    give(name);
    element.parentElement?.querySelector(".rl-reply")?.scrollIntoView({ block: "nearest" });
  }
  const seen = new IntersectionObserver((entries) => entries.at(-1)?.isIntersecting && pick(places, take));
  const hidden = new ResizeObserver(() => element.offsetParent || pick()); // end the request when hidden
  const watches = [seen, hidden];
  for (const watch of watches) watch.observe(element);
  function stop() {
    for (const watch of watches) watch.disconnect();
    pick?.();
  }
  return { element, mark, stop };
}

/** @type {Record<string, Make>} */
export const WAYS = { choices, number, row, several, order, setting, state, place };
