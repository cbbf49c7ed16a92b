// Handles the figure's side of the questions below it.
import { initialOf } from "./state.js";

// Questions read the figure's state, set it, or request a click on one of several targets. They do so through
// events in a page, and through Python in a kernel.
/** @param {HTMLElement} root @param {Live} state
 * @param {{model: Model, moved: Moved, picture: {ask: (wanted: Wanted) => boolean}, remember: () => void}} figure
 * @param {AbortSignal} signal */
export function answerQuestions(root, state, { model, moved, picture, remember }, signal) {
  const fresh = (/** @type {State} */ changes) => ({ ...initialOf(state.controls), ...changes });
  function pick(/** @type {Wanted} */ wanted) {
    if (!picture.ask(wanted)) moved(fresh({})); // the reader's changes have removed one of the targets
  }
  /** @type {Record<string, (detail: any) => void>} */
  const calls = {
    "rl-ask": (detail) => detail.take(state.read()),
    "rl-pick": pick,
    "rl-show": (detail) => {
      state.set(fresh(detail));
      remember();
    },
  };
  for (const [type, call] of Object.entries(calls)) {
    root.addEventListener(type, (event) => event instanceof CustomEvent && call(event.detail), { signal });
  }
  function heard(/** @type {any} */ content) {
    const { id, names } = content?.pick ?? {};
    if (id) pick({ id, names, take: (name) => model.send?.({ picked: { id, name } }) });
  }
  model.on("msg:custom", heard);
  signal.addEventListener("abort", () => model.off("msg:custom", heard));
}
