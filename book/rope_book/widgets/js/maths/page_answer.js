// What a page asks of the engine, in a worker or on its own thread: train a run up to a step, and say how it stands.
import { memo } from "../lib/memo.js";
import { runName } from "./page_plan.js";
import { holdProse } from "./page_prose.js";
import { Run } from "./page_run.js";

/** @import { Kept as FileKept } from "./page_file.js" */

/** A request: the settings of a run and of its reading, the step to reach, whether its answers or all its numbers are wanted, a text for
 * the task that needs one, and what a file has kept. @typedef {{settings: State, until: number, look?: boolean, keep?: boolean, text?: string, kept?: FileKept}} Request */

const MOST = 6; // runs that are kept: two encodings with three seeds each
/** @type {(name: string) => {run?: Run}} */
const place = memo(() => ({}), MOST);

// Train up to a step: the losses before each step so far, the share of right answers at each place, and what a head does.
export function answer(/** @type {Request} */ { settings, until, look, keep, text, kept }) {
  if (text) holdProse(text);
  const here = place(runName(settings));
  if (kept) here.run = new Run(settings).restore(kept);
  if (!here.run || here.run.step > until) here.run = new Run(settings); // training has no way back
  const { run } = here;
  while (run.step < until) run.train();
  return {
    step: run.step,
    losses: run.losses.slice(),
    right: look ? Array.from(run.right(settings)) : undefined,
    inside: look && settings.head ? run.inside(settings) : undefined,
    kept: keep ? run.kept() : undefined,
  };
}
