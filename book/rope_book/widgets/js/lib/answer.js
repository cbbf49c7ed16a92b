// Connects a figure to the questions below it.
import { initialOf } from "./state.js";

// Questions read or set the figure's state, bring it into view, or request a click on one of several targets, by
// events or through Python (see asked_figure.js).
/** @param {HTMLElement} root @param {Live} state
 * @param {{model: Model, moved: Moved, results: (now: State) => State, picture: {ask: (wanted: Wanted) => boolean}, remember: () => void}} figure
 * @param {AbortSignal} signal */
export function answerQuestions(root, state, { model, moved, results, picture, remember }, signal) {
  const fresh = (/** @type {State} */ changes) => ({ ...initialOf(state.controls), ...changes });
  function pick(/** @type {Wanted} */ wanted) {
    if (!picture.ask(wanted)) moved(fresh({})); // changes by the reader have removed a target
  }
  /** @type {Record<string, (detail: any) => void>} */
  const calls = {
    "rl-ask": (detail) => detail.take({ ...state.read(), ...results(state.read()) }),
    "rl-pick": pick,
    "rl-show": (detail) => {
      state.set(fresh(detail));
      model.save_changes();
      remember();
    },
  };
  for (const [type, call] of Object.entries(calls)) {
    root.addEventListener(type, (event) => event instanceof CustomEvent && call(event.detail), { signal });
  }
  function heard(/** @type {any} */ content) {
    if (content?.look) root.scrollIntoView({ block: "start" });
    const { id, names } = content?.pick ?? {};
    if (id) pick({ id, names, take: (name) => model.send?.({ picked: { id, name } }) });
  }
  model.on("msg:custom", heard);
  signal.addEventListener("abort", () => model.off("msg:custom", heard));
}
