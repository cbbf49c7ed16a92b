// Handles the page's requests, in a worker or on the main thread: trains a run up to a step and returns the
// results.
import { memo } from "../lib/memo.js";
import { runName } from "./page_plan.js";
import { holdProse } from "./page_prose.js";
import { Run } from "./page_run.js";

/** @import { Kept as FileKept } from "./page_file.js" */

/** A request: the settings for training and reading, the step to reach, whether to include answers (`look`) or all numbers (`keep`), the text for the "text" task, and a run loaded from a file. @typedef {{settings: State, until: number, look?: boolean, keep?: boolean, text?: string, kept?: FileKept}} Request */

const MOST = 6; // maximum number of runs in memory: two encodings with three seeds each
/** @type {(name: string) => {run?: Run}} */
const place = memo(() => ({}), MOST);

// Train up to a step. Returns the loss before each step, the accuracy at each position, and one head's attention.
export function answer(/** @type {Request} */ { settings, until, look, keep, text, kept }) {
  if (text) holdProse(text);
  const slot = place(runName(settings));
  if (kept) slot.run = new Run(settings).restore(kept);
  if (!slot.run || slot.run.step > until) slot.run = new Run(settings); // training cannot run backwards
  const { run } = slot;
  while (run.step < until) run.train();
  return {
    step: run.step,
    losses: run.losses.slice(),
    right: look ? Array.from(run.right(settings)) : undefined,
    inside: look && settings.head ? run.inside(settings) : undefined,
    kept: keep ? run.kept() : undefined,
  };
}
