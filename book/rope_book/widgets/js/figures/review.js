import { QUESTIONS } from "../data/questions.js";
import { makeAsk } from "../lib/ask.js";
import { deckOf } from "../lib/deck.js";
import { button, html, say } from "../lib/dom.js";
import { dayOf, dueOn, makeMemory } from "../lib/memory.js";
import { phrase } from "../lib/phrase.js";
import { counted } from "../lib/words.js";

const READ = "rope-turn-by-turn"; // the storage key that progress.js uses for the pages read
const MOST = 10; // questions in a session
const SAMPLE = 5; // questions for a reader who has read no chapter

/** @type {Record<string, Asked>} */
const ASKED = QUESTIONS;

/** The names of all questions, of those in the chapters read, or, if no chapter has been read, of a sample.
 * @param {boolean} all */
function namesOf(all) {
  const read = namesRead();
  return all ? Object.keys(ASKED) : read.length ? read : sampled();
}

/** The first multiple-choice question of each of a few chapters spread over the book. */
function sampled() {
  const pages = [...new Set(Object.values(ASKED).map(({ page }) => page))];
  const step = Math.ceil(pages.length / SAMPLE);
  const chosen = pages.filter((_, i) => i % step === 0);
  const names = Object.keys(ASKED).filter((name) => ASKED[name].kind === "choices");
  return chosen.flatMap((page) => names.find((name) => ASKED[name].page === page) ?? []);
}

function namesRead() {
  let read = /** @type {unknown} */ ([]);
  try {
    read = JSON.parse(localStorage.getItem(READ) ?? "{}").read;
  } catch {
    // without storage, no chapter counts as read
  }
  const isRead = (/** @type {Asked} */ { page }) => Array.isArray(read) && read.includes(`notebooks/${page}`);
  return Object.keys(ASKED).filter((name) => isRead(ASKED[name]));
}

/** A card with a question and a picture of its figure. @type {(asked: Asked, ask: HTMLElement) => HTMLElement} */
function cardOf({ figure }, ask) {
  const card = html("div", { class: "rl-card" }, ask);
  if (!figure) return card;
  const picture = html("img", {
    src: `../_static/stills/${figure}.svg`,
    alt: phrase`The figure that the question is about`,
  });
  picture.addEventListener("error", () => picture.remove());
  card.append(picture);
  return card;
}

/**
 * A link to the question's chapter. If the question has a figure, the link puts it in the state that explains the
 * answer.
 * @param {Asked} asked
 */
function linkTo({ page = "", figure, show }) {
  const state = [["live", figure ?? ""], ...Object.entries(show ?? {}).map(([key, value]) => [key, String(value)])];
  const place = figure ? `#${new URLSearchParams(state)}` : "";
  const [number, ...words] = page.split("_");
  const names = { A: phrase`Appendix ${number}`, P: phrase`Page` };
  const name = names[/** @type {"A" | "P"} */ (number[0])] ?? phrase`Chapter ${Number(number)}`;
  return html("a", { class: "rl-look", href: `../notebooks/${page}.html${place}` }, `${name}, “${words.join(" ")}”`);
}

/** Save a string as a text file. @param {string} text @param {string} name */
function save(text, name) {
  const href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  html("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 1000);
}

// A review session: the questions that are due, in order. A question answered wrongly comes back in the same
// session.
/** @param {ReturnType<typeof makeMemory>} memory @param {() => string[]} names */
function makeSitting(memory, names) {
  const today = () => dayOf(new Date());
  let queue = /** @type {string[]} */ ([]);
  function begin() {
    queue = dueOn(names(), memory.cards(), today(), MOST);
  }
  function note(/** @type {string} */ name, /** @type {boolean} */ right) {
    memory.note(name, right);
    queue.shift();
    if (!right) queue.push(name);
  }
  function ending() {
    const cards = memory.cards();
    const days = names().flatMap((name) => (Object.hasOwn(cards, name) ? [cards[name].due - today()] : []));
    return phrase`That is all for today. The next questions come in ${counted(Math.max(1, Math.min(...days)), "day")}.`;
  }
  function status() {
    const left = counted(queue.length, "question");
    if (!queue.length) return ending();
    return namesRead().length
      ? phrase`${left} to go in this sitting.`
      : phrase`No chapter is marked as read in this browser yet, so this is a sample: ${left} to go. A chapter counts once its end has been in sight.`;
  }
  const more = () => !queue.length && dueOn(names(), memory.cards(), today(), 1).length > 0;
  return { begin, note, status, more, next: () => queue[0] };
}

/**
 * Make the page's buttons and lines of text.
 * @param {{show: () => void, begin: () => void, write: () => void, clear: () => void}} calls
 */
function makeParts({ show, begin, write, clear }) {
  const all = html("input", { type: "checkbox" });
  const status = html("p", { class: "rl-readout", role: "status" });
  const place = html("div");
  const next = button(phrase`Next question`, show);
  const again = button(phrase`More questions`, begin);
  const deck = button(phrase`Save the questions for Anki`, write);
  const forget = button(phrase`Forget my answers`, clear);
  const root = html(
    "div",
    { class: "rope-live rl-questions", role: "group", "aria-label": phrase`Review`, "data-live": "Review" },
    status,
    place,
    html("div", { class: "rl-bar" }, next, again),
    html("label", { class: "rl-control rl-toggle" }, all, html("span", {}, phrase`Also chapters that I have not read`)),
    html("div", { class: "rl-bar" }, deck, forget),
  );
  return { root, all, status, place, next, again, deck, forget };
}

function render(/** @type {{el: HTMLElement}} */ { el }) {
  const memory = makeMemory();
  const names = () => namesOf(all.checked);
  const sitting = makeSitting(memory, names);
  const write = () => save(deckOf(names().map((name) => ASKED[name])), "rope-turn-by-turn.txt");
  const { root, all, status, place, next, again, deck, forget } = makeParts({ show, begin, write, clear });
  function begin() {
    sitting.begin();
    show();
  }
  function clear() {
    memory.clear();
    begin();
    say(status, phrase`Every answer is forgotten. ${status.textContent}`);
  }
  /** @type {(asked: Asked, given: any, right: boolean, first: boolean) => void} */
  function answered(asked, _, right, first) {
    if (first) sitting.note(asked.id, right);
    next.hidden = forget.hidden = false;
  }
  function show() {
    const name = sitting.next();
    const moved = root.contains(document.activeElement) && document.activeElement !== all;
    next.hidden = true;
    again.hidden = !sitting.more();
    deck.hidden = !names().length;
    forget.hidden = !Object.keys(memory.cards()).length;
    say(status, sitting.status());
    place.replaceChildren();
    if (!name) return;
    const { element } = makeAsk(ASKED[name], { answered, link: () => linkTo(ASKED[name]) });
    place.append(cardOf(ASKED[name], element));
    if (moved) element.focus();
  }
  all.addEventListener("change", begin);
  begin();
  el.append(root);
  root.dataset.ready = "true";
  return () => root.remove();
}

export default { name: "Review", render };
