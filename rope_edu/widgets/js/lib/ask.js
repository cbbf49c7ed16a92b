// One question in the page: what it asks, a way to answer, and after that, never before, why.
import { html, say } from "./dom.js";
import { answerOf, judge, numberOf, numbersOf } from "./judge.js";
import { bare, rich } from "./rich.js";

/** @typedef {(given: any) => void} Give */
/** @typedef {{element: HTMLElement, mark?: (given: any, right: boolean) => void}} Way */

/**
 * A button; JupyterLab leaves its keys alone.
 * @param {string} words
 * @param {() => void} click
 * @param {Attributes} [attributes]
 */
export function button(words, click, attributes = {}) {
  const element = html(
    "button",
    { type: "button", "data-lm-suppress-shortcuts": "true", ...attributes },
    ...rich(words),
  );
  element.addEventListener("click", click);
  return element;
}

/** @type {(asked: Asked, give: Give) => Way} */
function choices({ choices = [] }, give) {
  const buttons = choices.map(([words], place) => button(words, () => give(place), { class: "rl-choice" }));
  const list = html("ul", { class: "rl-choices" }, ...buttons.map((each) => html("li", {}, each)));
  function mark(/** @type {number} */ given, /** @type {boolean} */ right) {
    buttons[given].dataset.verdict = right ? "right" : "wrong";
    const word = html("span", { class: "rl-spoken" }, right ? " (right)" : " (not so)");
    if (!buttons[given].querySelector(".rl-spoken")) buttons[given].append(word);
  }
  return { element: list, mark };
}

/** @type {(asked: Asked, give: Give) => Way} */
function number({ unit }, give) {
  const input = html("input", { type: "text", inputmode: "decimal", size: 12, "data-lm-suppress-shortcuts": "true" });
  const label = html("label", {}, html("span", {}, unit ? `Your answer, in ${unit}` : "Your answer"), input);
  const element = html("form", { class: "rl-number" }, label, html("button", { type: "submit" }, "Answer"));
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.value.trim()) give(numberOf(input.value));
    else input.focus();
  });
  return { element };
}

/** @type {(asked: Asked, give: Give, now: () => State | undefined, tell: (words: string) => void) => Way} */
function row({ numbers = [] }, give, _, tell) {
  const many = numbers.length;
  const input = html("input", { type: "text", size: 24, "data-lm-suppress-shortcuts": "true" });
  const words = many > 1 ? `Your answer, ${many} numbers with spaces between` : "Your answer";
  const label = html("label", {}, html("span", {}, words), input);
  const element = html("form", { class: "rl-number" }, label, html("button", { type: "submit" }, "Check"));
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    const found = numbersOf(input.value);
    if (found.length === many && !found.some(Number.isNaN)) give(found);
    else
      tell(
        many > 1 ? `The answer is ${many} numbers; spaces between them keep them apart.` : "The answer is one number.",
      );
  });
  return { element };
}

/** @type {(asked: Asked, give: Give) => Way} */
function order({ items = [] }, give) {
  /** @type {string[]} */
  let placed = [];
  const so = html("p", { class: "rl-placed" });
  const buttons = items.map((item) => button(item, () => place(item), { class: "rl-choice" }));
  const again = button("Begin again", () => show([]));
  function show(/** @type {string[]} */ names) {
    placed = names;
    say(so, placed.length ? `Your order: ${bare(placed.join(", "))}` : "Press them in order, the first one first.");
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

/** @type {(asked: Asked, give: Give, now: () => State | undefined) => Way} */
function setting({ control = "" }, give, now) {
  const leave = () => give(now()?.[control] ?? NaN);
  return { element: html("p", {}, button("I left it there", leave)) };
}

/** @type {Record<string, (asked: Asked, give: Give, now: () => State | undefined, tell: (words: string) => void) => Way>} */
const WAYS = { choices, number, row, order, setting };

/**
 * {element}: a question. `answered(asked, given, right, first)` is called at each answer, `now()` has the state of the figure beside it;
 * `link()` makes what leads on from a reply, or nothing.
 * @param {Asked} asked
 * @param {{answered: (asked: Asked, given: any, right: boolean, first: boolean) => void, now?: () => State | undefined, link?: () => HTMLElement | undefined}} around
 */
export function makeAsk(asked, { answered, now = () => undefined, link = () => undefined }) {
  const reply = html("div", { class: "rl-reply", role: "status" });
  const reveal = button("Show the answer", show, { class: "rl-reveal" });
  const after = html("div", { class: "rl-bar" }, reveal);
  /** @type {HTMLElement | undefined} */
  let leads;
  let first = true;
  let failures = 0;
  after.hidden = true;
  const way = WAYS[asked.kind](asked, give, now, (words) => say(reply, words));
  function tell(/** @type {string} */ lead, /** @type {string} */ words, /** @type {boolean} */ open) {
    reply.replaceChildren(html("p", {}, html("strong", {}, `${lead}. `), ...rich(words)));
    reveal.hidden = !open;
    leads ??= link();
    if (leads) after.append(leads);
    after.hidden = !open && !leads;
  }
  function show() {
    element.focus(); // the button goes away
    tell("The answer", `${answerOf(asked)} ${asked.because}`, false);
  }
  function hinted(/** @type {string} */ why) {
    const hints = asked.hints ?? [];
    failures = Math.min(hints.length, failures + 1);
    return `${why} Hint ${failures} of ${hints.length}: ${hints[failures - 1]}`.trim();
  }
  function give(/** @type {any} */ given) {
    const { right, why } = judge(asked, given);
    way.mark?.(given, right);
    answered(asked, given, right, first);
    first = false;
    if (asked.hints) return tell(right ? "Correct" : "Not yet", right ? asked.because : hinted(why), false);
    tell(right ? "Right" : "Not so", right ? asked.because : why, !right);
  }
  const element = html(
    "fieldset",
    { class: "rl-ask", "data-question": asked.id, tabindex: -1 },
    html("legend", {}, ...rich(asked.ask)),
    way.element,
    reply,
    after,
  );
  return { element };
}
