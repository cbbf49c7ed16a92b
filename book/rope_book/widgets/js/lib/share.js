// Offers a figure's state as a line of Python and as a link, in a panel opened by a single button, so that nothing
// moves when the line grows.
import { button, html, say } from "./dom.js";
import { phrase } from "./phrase.js";
import { pythonLine, setLine } from "./state.js";

/** @typedef {{name: string, rest: string, kind: string, text: () => string, byHand: () => string}} Copy */

// Create a button that copies a string to the clipboard. If there is no clipboard, `byHand` shows the string for
// manual copying and returns a sentence to announce.
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

/** Create a button that opens a panel. Escape, a second press, or moving the focus elsewhere closes the panel. */
function makePopover(/** @type {string} */ name, /** @type {HTMLElement} */ panel) {
  const opener = button([html("span", { class: "rl-spoken" }, name)], () => open(Boolean(panel.hidden)), {
    title: name,
  });
  const element = html("span", { class: "rl-share" }, opener, panel);
  function open(/** @type {boolean} */ now) {
    panel.hidden = !now;
    opener.setAttribute("aria-expanded", String(now));
    if (now) panel.focus({ preventScroll: true });
  }
  open(false);
  element.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape" || panel.hidden) return;
    opener.focus();
    open(false);
  });
  panel.addEventListener("focusout", ({ relatedTarget }) => {
    if (!element.contains(/** @type {Node | null} */ (relatedTarget))) open(false);
  });
  return element;
}

// {element, show(state)}: the button with its panel, whose line of Python and source follow the state. The line makes
// a figure or, in a notebook, sets the one that is there.
/** @type {(figure: Pick<Figure, "name" | "source">, controls: Controls, only: string[] | undefined,
 *   calls: {tell: Tell, link?: Link, inKernel?: boolean}) => {element: HTMLElement, show: (state: State) => void}} */
export function makeShare({ name, source }, controls, only, { tell, link, inKernel }) {
  const code = html("code");
  const line = html("span", { class: "rl-line" }, ...(inKernel ? [] : [html("span", {}, "figure = ")]), code);
  const copies = [asPython(line), ...(link ? [asLink(link)] : [])].map((copied) => makeCopy(copied, tell));
  const origin = html("span", { class: "rl-note" });
  const panel = html("span", { class: "rl-python", tabindex: -1 }, line, ...copies, origin);
  return {
    element: makePopover(phrase`Share this state`, panel),
    show(state) {
      say(code, inKernel ? setLine(controls, state) : pythonLine(name, controls, state, only));
      say(origin, source?.(state) ?? "");
    },
  };
}
