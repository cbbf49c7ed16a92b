// What a page asks of the engine, in a worker or on its own thread: train a run up to a step, and say how it stands.
import { runName } from "./page_plan.js";
import { holdProse } from "./page_prose.js";
import { Run } from "./page_run.js";

/** @import { Kept as FileKept } from "./page_file.js" */

/** A request: the settings of a run and of its reading, the step to reach, whether its answers or all its numbers are wanted, a text for
 * the task that needs one, and what a file has kept. @typedef {{settings: State, until: number, look?: boolean, keep?: boolean, text?: string, kept?: FileKept}} Request */

const MOST = 6; // runs that are kept: two encodings with three seeds each
/** @type {Map<string, Run>} */
const runs = new Map();

// The run of these settings, begun anew where it has gone farther than `until`: training has no way back.
function runOf(/** @type {State} */ settings, /** @type {number} */ until) {
  const name = runName(settings);
  const known = runs.get(name);
  const run = known && known.step <= until ? known : new Run(settings);
  runs.delete(name); // the last used stands last
  runs.set(name, run);
  for (const oldest of runs.keys()) {
    if (runs.size <= MOST) break;
    runs.delete(oldest);
  }
  return run;
}

// Train up to a step: the losses before each step so far, the share of right answers at each place, and what a head does.
export function answer(/** @type {Request} */ { settings, until, look, keep, text, kept }) {
  if (text) holdProse(text);
  if (kept) runs.set(runName(settings), new Run(settings).restore(kept));
  const run = runOf(settings, until);
  while (run.step < until) run.train();
  return {
    step: run.step,
    losses: run.losses.slice(),
    right: look ? Array.from(run.right(settings)) : undefined,
    inside: look && settings.head ? run.inside(settings) : undefined,
    kept: keep ? run.kept() : undefined,
  };
}
