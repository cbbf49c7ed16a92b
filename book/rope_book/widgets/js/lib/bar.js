// Builds the bar below the controls: Play, changes that no single control makes, Reset, and the state as a line of
// Python.
import { button, html, say } from "./dom.js";
import { makeFiles } from "./files.js";
import { phrase } from "./phrase.js";
import { makePlay } from "./play.js";
import { initialOf, pythonLine } from "./state.js";

/** @typedef {{name: string, rest: string, kind: string, text: () => string, byHand: () => string}} Copy */

// A button that copies a text; without a clipboard, `byHand` shows the text for copying and returns a sentence to
// announce.
/** @type {(copied: Copy, tell: Tell) => HTMLButtonElement} */
function makeCopy({ name, rest, kind, text, byHand }, tell) {
  const word = html("span", {}, name);
  const done = (/** @type {string} */ how) => {
    say(word, how);
    tell(phrase`${how}: ${text()}`);
    setTimeout(() => say(word, name), 1500);
  };
  async function copy() {
    try {
      await navigator.clipboard.writeText(text());
      done(phrase`Copied`);
    } catch {
      done(byHand());
    }
  }
  return button([word, html("span", { class: "rl-spoken" }, rest)], copy, { class: kind });
}

const asPython = (/** @type {HTMLElement} */ code) => ({
  name: phrase`Copy`,
  rest: phrase` this state as Python`,
  kind: "rl-copy",
  text: () => code.textContent ?? "",
  byHand() {
    getSelection()?.selectAllChildren(code);
    return phrase`Selected`;
  },
});

const asLink = (/** @type {Link} */ link) => ({
  name: phrase`Copy link`,
  rest: phrase` to this state`,
  kind: "rl-link",
  text: link.text,
  byHand() {
    link.show();
    return phrase`In the address bar`;
  },
});

// {element, show(state), playing(), stop()}; `rested()` is called when Play stops. A small form has at most Play.
/** @param {Figure} figure @param {Live} state @param {string[] | undefined} only
 * @param {{moved: Moved, leapt: Moved, rested: () => void, tell: Tell, link?: Link}} calls */
export function makeBar({ name, play, files, buttons = [] }, state, only, { moved, leapt, rested, tell, link }) {
  const element = html("div", { class: "rl-bar" });
  const code = html("code");
  const line = html("span", { class: "rl-line" }, html("span", {}, "figure = "), code);
  const isShown = (/** @type {string} */ name) => only?.includes(name) ?? true;
  const player = play && isShown(play.trait) ? makePlay(play, state, moved, rested) : undefined;
  if (player) element.append(...player.elements);
  const copies = [asPython(line), ...(link ? [asLink(link)] : [])].map((copied) => makeCopy(copied, tell));
  const rest = [
    ...buttons.map(({ label, move }) => button(label, () => leapt(move(state.read())))),
    ...(files ? makeFiles(files, state, { moved, tell }) : []),
    button(phrase`Reset`, () => leapt(initialOf(state.controls)), { class: "rl-reset" }),
    html("span", { class: "rl-python" }, line, ...copies),
  ];
  for (const part of rest) part.hidden ||= Boolean(only);
  element.append(...rest);
  element.hidden = Boolean(only) && !player;
  return {
    element,
    show: (/** @type {State} */ values) => say(code, pythonLine(name, state.controls, values, only)),
    playing: () => player?.playing() ?? false,
    stop: () => player?.stop(),
  };
}
