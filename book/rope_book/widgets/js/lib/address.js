// Stores the state of a page's figures in the page's URL, with the most recently moved figure first, so that a link
// opens at that figure: #live=RotatePair&position=9&live=Clocks&n=3
import { allowed, parsed } from "./controls.js";
import { initialOf, same } from "./state.js";
import { keepInView } from "./view.js";

/** Values as text, keyed by name. @typedef {Record<string, string>} Texts */

const REST = 300; // ms to wait after the last move

/** Parse the figures in a URL's hash: [[figure, {name: text}], …]. @type {(hash: string) => [string, Texts][]} */
function sections(hash) {
  const figures = /** @type {[string, Texts][]} */ ([]);
  for (const [key, text] of new URLSearchParams(hash.slice(1))) {
    if (key === "live") figures.push([text, {}]);
    else if (figures.length) figures[figures.length - 1][1][key] = text;
  }
  return figures;
}

/** Format figures as a URL's hash, the inverse of sections(). @type {(figures: [string, Texts][]) => string} */
function toHash(figures) {
  const pairs = figures.flatMap(([figure, texts]) => [["live", figure], ...Object.entries(texts)]);
  return `#${new URLSearchParams(pairs)}`;
}

/** Whether a control's value may appear in the URL; pasted text may not. */
const isPublic = (/** @type {Control} */ { kind }) => kind !== "paste";

/**
 * The values that differ from the initial state, as strings.
 * @type {(controls: Controls, state: State) => Texts}
 */
function textsOf(controls, state) {
  const shared = Object.values(controls).filter(isPublic);
  const changed = shared.filter(({ name, initial }) => !same(state[name], initial));
  return Object.fromEntries(changed.map(({ name }) => [name, String(state[name])]));
}

// The initial state with the values from a URL applied.
export function stateOf(/** @type {Controls} */ controls, /** @type {Texts} */ texts) {
  const state = initialOf(controls);
  for (const control of Object.values(controls).filter(isPublic)) {
    const { name, initial } = control;
    if (Object.hasOwn(texts, name)) state[name] = allowed(control, parsed(control, texts[name]), initial);
  }
  return state;
}

// The figure's name in the URL; the second RotatePair on a page is named RotatePair.2.
/** @type {(page: Document | Element, root: Element, figure: string) => string} */
function nameIn(page, root, figure) {
  const place = [...page.querySelectorAll(`[data-live="${figure}"]`)].indexOf(root);
  return place > 0 ? `${figure}.${place + 1}` : figure;
}

/** Whether a click opens a new tab or window. */
const elsewhere = (/** @type {MouseEvent} */ { button, ctrlKey, metaKey, shiftKey, altKey }) =>
  button !== 0 || ctrlKey || metaKey || shiftKey || altKey;

// The element that contains a figure and its surrounding text: the page, or the figure's notebook in JupyterLab.
// For a view detached from its notebook, this is the figure itself.
function around(/** @type {Element} */ root) {
  const isInLab = document.querySelector(".jp-Notebook");
  return root.closest(".jp-Notebook") ?? (isInLab ? root : document);
}

// Clicking a link in the surrounding text sets the figure to the state encoded in the link's URL; `use(link)` then
// scrolls the picture into view.
/** @param {string} figure @param {HTMLElement} root @param {Live} state
 * @param {{leapt: Moved, use?: (link: Element) => void}} calls @param {AbortSignal} signal */
export function followLinks(
  figure,
  root,
  state,
  { leapt, use = () => root.scrollIntoView({ block: "nearest" }) },
  signal,
) {
  function clicked(/** @type {MouseEvent} */ event) {
    const chip = event.target instanceof Element && event.target.closest('a[href^="#live="]');
    const page = around(root);
    if (!(chip instanceof HTMLAnchorElement) || !page.contains(chip) || elsewhere(event)) return;
    const [name, texts] = sections(chip.hash)[0];
    if (name !== nameIn(page, root, figure)) return;
    event.preventDefault();
    leapt(stateOf(state.controls, texts));
    use(chip);
  }
  document.addEventListener("click", clicked, { signal });
}

// {recall(), remember(), link, stop()} for a figure in a page. recall restores the state from the URL and scrolls
// to the figure; remember stores the state in the URL.
/** @param {string} figure @param {Live} state @param {HTMLElement} root @param {AbortSignal} signal */
export function makeAddress(figure, state, root, signal) {
  let writing = 0;
  const stop = () => clearTimeout(writing);
  const name = () => nameIn(document, root, figure);

  const own = () => /** @type {[string, Texts]} */ ([name(), textsOf(state.controls, state.read())]);
  function write() {
    const others = sections(location.hash).filter(([other]) => other !== name());
    history.replaceState(history.state, "", toHash([own(), ...others]));
  }
  const link = { text: () => `${location.href.split("#")[0]}${toHash([own()])}`, show: write };
  function remember() {
    stop();
    writing = setTimeout(write, REST);
  }
  function recall() {
    const linked = sections(location.hash);
    if (!linked.length && location.hash) return; // the hash is an anchor in the page, not the state of a figure
    stop();
    const texts = linked.find(([other]) => other === name())?.[1] ?? {};
    state.set(stateOf(state.controls, texts));
    if (linked[0]?.[0] === name()) keepInView(root, signal);
  }
  addEventListener("hashchange", recall, { signal });
  return { recall, remember, link, stop };
}
