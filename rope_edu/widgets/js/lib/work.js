// Work that takes longer than a move may: done in slices, so that a control answers at once, and the picture fills in.

const SLICE = 10; // ms of work at a time
const SHOW = 90; // ms between two pictures of what is done so far

/**
 * {start(state), busy(), finish(), stop()}; `work(state)` gives the steps that are left to do for a state, each far shorter than
 * a slice, or is nothing. A new start ends the one before. `shown()` is called when there is more to see,
 * `failed(error)` when a step throws.
 * @param {Figure['work']} work
 * @param {() => void} shown
 * @param {(error: unknown) => void} failed
 */
export function makeWork(work, shown, failed) {
  /** @type {Iterator<unknown> | undefined} */
  let steps;
  /** @type {number | undefined} */
  let waiting;
  let last = 0;

  function step() {
    try {
      if (steps?.next().done) steps = undefined;
    } catch (error) {
      steps = undefined;
      failed(error);
    }
  }
  function slice() {
    const end = performance.now() + SLICE;
    while (steps && performance.now() < end) step();
    if (steps) waiting = setTimeout(slice);
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
    steps = work?.(state);
    step();
    if (steps) waiting = setTimeout(slice);
  }
  function finish() {
    clearTimeout(waiting);
    if (!steps) return;
    while (steps) step();
    shown();
  }
  return { start, finish, stop, busy: () => steps !== undefined };
}
