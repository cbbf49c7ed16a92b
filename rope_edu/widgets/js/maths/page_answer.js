// What a page asks of the engine, in a worker or on its own thread: train a run up to a step, and say how it stands.
import { Run, runName } from "./page_run.js";

/** A request: the settings of a run and of its reading, the step to reach, and whether its answers are wanted. @typedef {{settings: State, until: number, look: boolean}} Request */

const MOST = 2; // runs that are kept
/** @type {Map<string, Run>} */
const runs = new Map();

/**
 * The run of these settings, begun anew where it has gone farther than `until`: training has no way back.
 * @param {State} settings
 * @param {number} until
 */
function runOf(settings, until) {
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

/**
 * Train up to a step: the losses before each step so far, and the share of right answers at each place.
 * @param {Request} request
 */
export function answer({ settings, until, look }) {
  const run = runOf(settings, until);
  while (run.step < until) run.train();
  return { step: run.step, losses: run.losses.slice(), right: look ? Array.from(run.right(settings)) : undefined };
}
