// A figure that is asked by the questions below it.
import { initialOf } from "./state.js";

// What the questions below a figure ask of it: its state; to be in another (what differs from the first picture); to be clicked at
// one of some places. In a page they ask by events, in a kernel by way of Python.
/** @type {(root: HTMLElement, state: Live,
 *   figure: {model: Model, moved: Moved, picture: {ask: (wanted: Wanted) => boolean}, remember: () => void},
 *   signal: AbortSignal) => void} */
export function answerQuestions(root, state, { model, moved, picture, remember }, signal) {
  const first = (/** @type {State} */ changes) => ({ ...initialOf(state.controls), ...changes });
  function pick(/** @type {Wanted} */ wanted) {
    if (!picture.ask(wanted)) moved(first({})); // a hand has taken away one of the places
  }
  /** @type {Record<string, (detail: any) => void>} */
  const calls = {
    "rl-ask": (detail) => detail.take(state.read()),
    "rl-pick": pick,
    "rl-show": (detail) => {
      state.set(first(detail));
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
