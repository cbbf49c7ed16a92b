// A word under a figure whose Python is gone: after a restart of the kernel the figure still moves, but nothing hears it.
import { html } from "./dom.js";
import { phrase } from "./phrase.js";

const ENDS = ["restarting", "autorestarting", "terminating", "dead"];
const GONE = phrase`Python was restarted and no longer knows this figure: run its cell again.`;

// Say so once it happens, where the notebook tells (JupyterLab, Notebook 7); returns what stops listening.
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
