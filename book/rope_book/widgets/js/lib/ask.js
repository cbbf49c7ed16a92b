// Shows a question on the page: the text, the controls for answering and, after an answer, the explanation.
import { button, html, say } from "./dom.js";
import { answerOf, judge } from "./judge.js";
import { joined, phrase, phraseOf } from "./phrase.js";
import { rich } from "./rich.js";
import { WAYS } from "./ways.js";

/** @typedef {(asked: Asked, given: any, right: boolean, first: boolean) => void} Answered */

const TEXTS = ["ask", "because", "otherwise", "unit"];

/** Translate a question into the page's language, except for the names that answers are compared with. @type {(asked: Asked) => Asked} */
function inPage(asked) {
  const translated = (/** @type {any[]} */ [answer, words]) => [answer, phraseOf(words)];
  const texts = TEXTS.map((name) => [name, phraseOf(/** @type {any} */ (asked)[name])]);
  return {
    ...asked,
    ...Object.fromEntries(texts),
    hints: asked.hints?.map(phraseOf),
    choices: asked.choices?.map((pair) => pair.map(phraseOf)),
    slips: /** @type {Asked["slips"]} */ (asked.slips?.map(translated)),
    verdicts: asked.verdicts && Object.fromEntries(Object.entries(asked.verdicts).map(translated)),
  };
}

// Create the element of a question: {element, stop()}. `answered(asked, given, right, first)` is called on every
// answer, `revealed()` when the reader asks for the answer, and `link()` creates the link in a reply.
/** @param {Asked} question @param {Omit<Around, "tell"> & {answered: Answered, revealed?: () => void}} around */
export function makeAsk(question, { answered, revealed, now, link = () => undefined, pick }) {
  const asked = inPage(question);
  const reply = html("div", { class: "rl-reply", role: "status" });
  const reveal = button(phrase`Show the answer`, show, { class: "rl-reveal" });
  const leads = link();
  const after = html("div", { class: "rl-bar", hidden: "" }, reveal, leads ?? "");
  let first = true;
  let failures = 0;
  const way = WAYS[asked.kind](asked, give, { now, link, pick, tell: (words) => say(reply, words) });
  function tell(/** @type {string} */ lead, /** @type {string} */ words, /** @type {boolean} */ open) {
    reply.replaceChildren(html("p", {}, html("strong", {}, phrase`${lead}. `), ...rich(words)));
    reveal.hidden = !open;
    after.hidden = !open && !leads;
  }
  function show() {
    element.focus(); // the focused button is about to be removed
    way.stop?.();
    tell(phrase`The answer`, joined(`${answerOf(asked)} ${asked.because}`), false);
    revealed?.();
  }
  function hinted(/** @type {string} */ why) {
    const hints = asked.hints ?? [];
    if (!hints.length) return why;
    failures = Math.min(hints.length, failures + 1);
    return joined(phrase`${why} Hint ${failures} of ${hints.length}: ${hints[failures - 1]}`.trim());
  }
  function give(/** @type {any} */ answer) {
    const { right, why } = judge(asked, answer);
    way.mark?.(answer, right);
    if (right) way.stop?.();
    answered(asked, answer, right, first);
    first = false;
    if (asked.hints)
      return tell(right ? phrase`Correct` : phrase`Not yet`, right ? asked.because || why : hinted(why), false);
    tell(right ? phrase`Right` : phrase`Not so`, right ? asked.because : why, !right);
  }
  const legend = html("legend", {}, ...rich(asked.ask));
  const attributes = { class: "rl-ask", "data-question": asked.id, tabindex: -1 };
  const element = html("fieldset", attributes, legend, way.element, reply, after);
  return { element, stop: () => way.stop?.() };
}
