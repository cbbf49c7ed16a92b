// The engine's answer to a page, in a worker or on the main thread: train a run up to a step and report on it.
import { memo } from "../lib/memo.js";
import { runName } from "./page_plan.js";
import { holdProse } from "./page_prose.js";
import { Run } from "./page_run.js";

/** @import { Kept as FileKept } from "./page_file.js" */

/** A request: the settings of a run and of its reading, the step to reach, whether its answers or all its numbers are wanted, a text for
 * the task that needs one, and the run of a file. @typedef {{settings: State, until: number, look?: boolean, keep?: boolean, text?: string, kept?: FileKept}} Request */

const MOST = 6; // runs in memory: two encodings with three seeds each
/** @type {(name: string) => {run?: Run}} */
const place = memo(() => ({}), MOST);

// Train up to a step: the loss before every step so far, the share of right answers at each place, and the inside of a head.
export function answer(/** @type {Request} */ { settings, until, look, keep, text, kept }) {
  if (text) holdProse(text);
  const slot = place(runName(settings));
  if (kept) slot.run = new Run(settings).restore(kept);
  if (!slot.run || slot.run.step > until) slot.run = new Run(settings); // training cannot go back
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
