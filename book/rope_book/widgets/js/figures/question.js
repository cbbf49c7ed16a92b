import { makeAsk } from "../lib/ask.js";
import { askedFigure } from "../lib/asked_figure.js";
import { button, html, keepKeys, say } from "../lib/dom.js";
import { keepPicture } from "../lib/keep.js";
import { makeMemory } from "../lib/memory.js";
import { phrase } from "../lib/phrase.js";

/** Show several questions one at a time, with Previous and Next buttons. @param {HTMLElement[]} asks @param {(at: number) => void} turned */
function makeTurns(asks, turned) {
  let at = 0;
  const word = html("span", { class: "rl-note" });
  const back = button(phrase`Back`, () => turn(-1));
  const next = button(phrase`Next question`, () => turn(1));
  function show() {
    for (const [place, ask] of asks.entries()) ask.hidden = place !== at;
    say(word, phrase`Question ${at + 1} of ${asks.length}`);
    back.disabled = at === 0;
    next.disabled = at === asks.length - 1;
  }
  function turn(/** @type {number} */ by) {
    at += by;
    show();
    turned(at);
    asks[at].focus();
  }
  show();
  return html("div", { class: "rl-bar" }, back, next, word);
}

function render(/** @type {{model: Model, el: HTMLElement}} */ { model, el }) {
  /** @type {Asked[]} */
  const questions = model.get("questions");
  const label = questions.length > 1 ? phrase`Questions` : phrase`A question`;
  const names = { "aria-label": label, "data-live": "Question" };
  const root = html("div", { class: "rope-live rl-questions", role: "group", ...names });
  const memory = model.host === "page" ? makeMemory() : undefined;
  const figure = askedFigure(root, model);
  // A figure that is itself the answer opens as the question says, and keeps a wrong answer until the right one is shown
  function turned(/** @type {number} */ at) {
    const asked = questions[at];
    if (asked.kind === "setting" && !(asked.id in model.get("given"))) figure.show({ ...asked, show: {} });
  }
  /** @type {(asked: Asked, given: any, right: boolean, first: boolean) => void} */
  function answered(asked, given, right, first) {
    if (first && asked.page) memory?.note(asked.id, right);
    model.set("given", { ...model.get("given"), [asked.id]: [Number.isNaN(given) ? null : given, right] });
    model.save_changes();
    if (asked.show && (right || asked.kind !== "setting")) figure.show(asked);
  }
  const asks = questions.map((asked) =>
    makeAsk(asked, {
      answered,
      revealed: () => asked.show && figure.show(asked),
      now: () => figure.now(asked),
      link: (words) => figure.link(asked, words),
      pick: (names, take) => figure.pick(asked, names, take),
    }),
  );
  const elements = asks.map(({ element }) => element);
  root.append(...elements, ...(asks.length > 1 ? [makeTurns(elements, turned)] : []));
  keepKeys(root);
  el.append(root);
  root.dataset.ready = "true";
  const keep = keepPicture(root, model, "questions");
  return () => {
    keep.stop();
    for (const { stop } of asks) stop();
    root.remove();
  };
}

export default { name: "Question", render };
