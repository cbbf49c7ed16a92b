// The bar below the controls: play, moves that no single control makes, Reset, and the state as a line of Python.
import { html, say } from "./dom.js";
import { makePlay } from "./play.js";
import { initialOf, pythonLine } from "./state.js";

function button(words, click, attributes = {}) {
  const element = html("button", { type: "button", ...attributes }, words);
  element.addEventListener("click", () => click(element));
  return element;
}

/** Copy the words of an element; where there is no clipboard they are selected, to be copied by hand. */
async function copy(from, element) {
  try {
    await navigator.clipboard.writeText(from.textContent);
    element.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(from);
    element.textContent = "Selected";
  }
  setTimeout(() => (element.textContent = "Copy"), 1500);
}

/** {element, show(state), stop()} */
export function makeBar({ name, play, buttons = [] }, state, moved) {
  const element = html("div", { class: "rl-bar" });
  const code = html("code");
  const player = play && makePlay(play, state, moved);
  if (player) element.append(player.element);
  element.append(
    ...buttons.map(({ label, move }) => button(label, () => moved(move(state.read())))),
    button("Reset", () => moved(initialOf(state.controls)), { class: "rl-reset" }),
    html(
      "span",
      { class: "rl-python" },
      code,
      button("Copy", (self) => copy(code, self), { class: "rl-copy", "aria-label": "Copy this state as Python" }),
    ),
  );
  return {
    element,
    show: (values) => say(code, pythonLine(name, state.controls, values)),
    stop: () => player?.stop(),
  };
}
