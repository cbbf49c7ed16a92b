// The bar below the controls: play, moves that no single control makes, Reset, and the state as a line of Python.
import { html, say } from "./dom.js";
import { makeFiles } from "./files.js";
import { makePlay } from "./play.js";
import { initialOf, pythonLine } from "./state.js";

/**
 * @param {string} words
 * @param {(() => void)} click
 * @param {Attributes} [attributes]
 */
function button(words, click, attributes = {}) {
  const element = html("button", { type: "button", ...attributes }, words);
  element.addEventListener("click", click);
  return element;
}

/**
 * A button that copies the words of an element; where there is no clipboard they are selected, to be copied by hand.
 * @param {HTMLElement} from
 * @param {Tell} tell
 */
function makeCopy(from, tell) {
  const word = html("span", {}, "Copy");
  const done = (/** @type {string} */ text) => {
    say(word, text);
    tell(`${text}: ${from.textContent}`);
    setTimeout(() => say(word, "Copy"), 1500);
  };
  async function copy() {
    try {
      await navigator.clipboard.writeText(from.textContent ?? "");
      done("Copied");
    } catch {
      getSelection()?.selectAllChildren(from);
      done("Selected");
    }
  }
  const element = button("", copy, { class: "rl-copy" });
  element.append(word, html("span", { class: "rl-spoken" }, " this state as Python"));
  return element;
}

/**
 * {element, show(state), playing(), stop()}; `rested()` is called when Play stops, `tell(text)` speaks. A small form has no
 * more than Play, where it has its control.
 * @param {Figure} figure
 * @param {Live} state
 * @param {string[] | undefined} only
 * @param {{moved: Moved, rested: () => void, tell: Tell}} calls
 */
export function makeBar({ name, play, files, buttons = [] }, state, only, { moved, rested, tell }) {
  const element = html("div", { class: "rl-bar" });
  const code = html("code");
  const line = html("span", { class: "rl-line" }, html("span", {}, "figure = "), code);
  const isShown = (/** @type {string} */ name) => only?.includes(name) ?? true;
  const player = play && isShown(play.trait) ? makePlay(play, state, moved, rested) : undefined;
  if (player) element.append(...player.elements);
  const rest = [
    ...buttons.map(({ label, move }) => button(label, () => moved(move(state.read())))),
    ...(files ? makeFiles(files, state, { moved, tell }) : []),
    button("Reset", () => moved(initialOf(state.controls)), { class: "rl-reset" }),
    html("span", { class: "rl-python" }, line, makeCopy(line, tell)),
  ];
  for (const each of rest) each.hidden ||= Boolean(only);
  element.append(...rest);
  element.hidden = Boolean(only) && !player;
  return {
    element,
    show: (/** @type {State} */ values) => say(code, pythonLine(name, state.controls, values, only)),
    playing: () => player?.playing() ?? false,
    stop: () => player?.stop(),
  };
}
