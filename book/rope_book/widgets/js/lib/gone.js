// Shows a note under a figure that has lost its kernel. After a restart, the figure still moves, but Python no
// longer receives the changes.
import { html } from "./dom.js";
import { phrase } from "./phrase.js";

const ENDS = ["restarting", "autorestarting", "terminating", "dead"];
const GONE = phrase`Python was stopped or restarted and no longer knows this figure: run all cells from the top.`;

// Show the note when the notebook reports that the kernel is gone, as JupyterLab and Notebook 7 do. Returns a
// function that stops listening.
/** @type {(root: HTMLElement, model: Model) => () => void} */
export function tellWhenGone(root, model) {
  const session = model.widget_manager?.context?.sessionContext;
  if (!session) return () => {};
  const stop = () => session.statusChanged.disconnect(heard);
  function heard(/** @type {unknown} */ _, /** @type {string} */ status) {
    if (!ENDS.includes(status)) return;
    root.append(html("p", { class: "rl-note rl-gone", role: "status" }, GONE));
    stop();
  }
  session.statusChanged.connect(heard);
  return stop;
}
