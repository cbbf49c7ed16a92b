// A figure of a page that is asked by the questions below it.
import { initialOf } from "./state.js";

/**
 * What the questions below a figure of a page ask of it: its state, or to be in another (what differs from the first picture).
 * @param {HTMLElement} root
 * @param {Live} state
 * @param {() => void} remember
 * @param {AbortSignal} signal
 */
export function answerQuestions(root, state, remember, signal) {
  const ask = (/** @type {Event} */ event) => event instanceof CustomEvent && event.detail.take(state.read());
  const show = (/** @type {Event} */ event) => {
    if (!(event instanceof CustomEvent)) return;
    state.set({ ...initialOf(state.controls), ...event.detail });
    remember();
  };
  root.addEventListener("rl-ask", ask, { signal });
  root.addEventListener("rl-show", show, { signal });
}
