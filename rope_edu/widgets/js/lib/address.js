// The page's address holds the state of a figure, so that it can be linked.
import { allowed, parsed } from "./controls.js";
import { same } from "./state.js";

const REST = 300; // ms after the last move

/** The state as an URL's hash. */
function toHash(figure, controls, state) {
  const query = new URLSearchParams({ live: figure });
  for (const name in controls) {
    if (!same(state[name], controls[name].initial)) query.set(name, String(state[name]));
  }
  return `#${query}`;
}

/** The values in an URL's hash that belong to this figure, or null. */
function fromHash(figure, controls, hash) {
  const query = new URLSearchParams(hash.slice(1));
  if (query.get("live") !== figure) return null;
  const state = {};
  for (const [name, control] of Object.entries(controls)) {
    const text = query.get(name);
    state[name] = text === null ? control.initial : allowed(control, parsed(control, text), control.initial);
  }
  return state;
}

/** {recall(), remember(), stop()} of a figure in a page: recall takes the state from the address and shows the figure. */
export function makeAddress(figure, state, root, signal) {
  let writing;
  let written = "";
  function remember() {
    clearTimeout(writing);
    writing = setTimeout(() => {
      written = toHash(figure, state.controls, state.read());
      history.replaceState(history.state, "", written);
    }, REST);
  }
  function recall() {
    if (location.hash === written) return;
    const linked = fromHash(figure, state.controls, location.hash);
    if (!linked) return;
    state.set(linked);
    root.scrollIntoView({ block: "center" });
  }
  addEventListener("hashchange", recall, { signal });
  return { recall, remember, stop: () => clearTimeout(writing) };
}
