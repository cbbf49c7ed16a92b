import { makeAsk } from "../lib/ask.js";
import { button, html, keepKeys, say } from "../lib/dom.js";
import { keepPicture } from "../lib/keep.js";
import { makeMemory } from "../lib/memory.js";
import { phrase } from "../lib/phrase.js";

// The last figure of the given class before an element in the page.
function above(/** @type {Element} */ element, /** @type {string} */ name) {
  const all = [...document.querySelectorAll(`[data-live="${name}"]`)];
  return all.findLast((figure) => figure.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING);
}

// A button that shows a question's figure, or undefined if the question has none.
/** @type {(asked: Asked, words: string | undefined, look: () => void) => HTMLElement | undefined} */
const lookButton = (asked, words = phrase`See it in the figure`, look) =>
  asked.figure ? button(words, look, { class: "rl-look" }) : undefined;

// Access to the questions' figure in a notebook, through the kernel: {now(asked), show(asked), link(asked, words),
// pick(asked, names, take)}.
/** @param {Model} model */
function ofKernel(model) {
  let turn = 0;
  function show(/** @type {Asked} */ { id, show: state }) {
    turn += 1; // makes an unchanged state count as new, since the user may have moved the figure
    model.set("_show", { id, state, turn });
    model.save_changes();
  }
  /** @type {(asked: Asked, names?: string[], take?: (name: string) => void) => void} */
  function pick({ id }, names, take) {
    takes[id] = take;
    model.send?.({ pick: { id, names } });
  }
  const takes = /** @type {Record<string, ((name: string) => void) | undefined>} */ ({});
  model.on("msg:custom", (content) => takes[content?.picked?.id]?.(content.picked.name));
  const hasFigure = Object.keys(model.get("_now") ?? {}).length > 0;
  /** @type {(asked: Asked, words?: string) => HTMLElement | undefined} */
  const link = (asked, words) =>
    hasFigure ? lookButton(asked, words, () => model.send?.({ look: asked.id })) : undefined;
  return { now: () => model.get("_now"), show, link, pick };
}

// The same interface in a page without a kernel.
/** @param {HTMLElement} root */
function ofPage(root) {
  const figure = (/** @type {Asked} */ asked) => above(root, asked.figure ?? "");
  const tell = (/** @type {Asked} */ asked, /** @type {string} */ type, /** @type {any} */ detail) =>
    figure(asked)?.dispatchEvent(new CustomEvent(type, { detail }));
  function now(/** @type {Asked} */ asked) {
    const states = /** @type {State[]} */ ([]);
    tell(asked, "rl-ask", { take: (/** @type {State} */ state) => states.push(state) });
    return states.at(0);
  }
  /** @type {(asked: Asked, words?: string) => HTMLElement | undefined} */
  const link = (asked, words) => lookButton(asked, words, () => figure(asked)?.scrollIntoView({ block: "start" }));
  /** @type {(asked: Asked, names?: string[], take?: (name: string) => void) => void} */
  const pick = (asked, names, take) => tell(asked, "rl-pick", { id: asked.id, names, take });
  return { now, show: (/** @type {Asked} */ asked) => tell(asked, "rl-show", asked.show), link, pick };
}

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
  const figure = model.host === "page" ? ofPage(root) : ofKernel(model);
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
