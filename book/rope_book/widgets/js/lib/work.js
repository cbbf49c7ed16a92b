// Runs long computations in slices, so that controls stay responsive while the picture fills in.
import { clamp } from "./numbers.js";

const SLICE = 10; // ms of work per slice
const SHOW = 90; // ms between two redraws of partial results

/** The size of the next portion of work if one of `size` took some time and should take `wanted`: at most twice as
 * much or half. @type {(size: number, took: number, wanted: number) => number} */
export const paced = (size, took, wanted) => Math.round(size * clamp(wanted / took, 0.5, 2));

/** A promise that resolves once the page is visible. */
const inSight = () =>
  new Promise((resolve) => {
    if (document.hidden) document.addEventListener("visibilitychange", resolve, { once: true });
    else resolve(undefined);
  });

// {start(state), busy(), finish(), stop()}: `work(state, whole)` iterates over the remaining steps for a state,
// each much shorter than a slice. Promises are awaited, but with `whole` no step may return a promise. Calling
// start again cancels the previous work, and work pauses while the page is hidden. `shown()` is called when there
// are new results to draw.
/** @param {Figure['work']} work @param {() => void} shown @param {(error: unknown) => void} failed */
export function makeWork(work, shown, failed) {
  /** @type {Iterator<unknown> | undefined} */
  let steps;
  let now = /** @type {State} */ ({});
  let [waiting, last] = [0, 0];

  function stumbled(/** @type {unknown} */ error) {
    steps = undefined;
    failed(error);
  }
  /** Run one step, and return a promise to await before the next step, if there is one. */
  function step() {
    try {
      const next = steps?.next();
      if (next?.done) steps = undefined;
      return next?.value instanceof Promise ? next.value : undefined;
    } catch (error) {
      stumbled(error);
    }
  }
  function later(/** @type {Promise<unknown> | undefined} */ pause) {
    const mine = steps;
    const resume = () => steps === mine && slice();
    if (pause) pause.then(resume, (error) => steps === mine && stumbled(error));
    else waiting = setTimeout(resume);
  }
  function slice() {
    const end = performance.now() + SLICE;
    /** @type {Promise<unknown> | undefined} */
    let pause = document.hidden ? inSight() : undefined;
    while (steps && !pause && performance.now() < end) pause = step();
    if (steps) later(pause);
    if (steps && performance.now() - last < SHOW) return;
    last = performance.now();
    shown();
  }
  function stop() {
    clearTimeout(waiting);
    steps = undefined;
  }
  function start(/** @type {State} */ state) {
    stop();
    now = state;
    steps = work?.(state);
    const pause = step();
    if (steps) later(pause);
  }
  function finish() {
    clearTimeout(waiting);
    if (!steps) return;
    steps = work?.(now, true);
    while (steps) step();
    shown();
  }
  return { start, finish, stop, busy: () => steps !== undefined };
}
