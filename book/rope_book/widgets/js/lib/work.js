// Work that takes longer than a move may: done in slices, so that a control answers at once, and the picture fills in.

const SLICE = 10; // ms of work at a time
const SHOW = 90; // ms between two pictures of what is done so far

/** Resolved once somebody can see the page. */
const inSight = () =>
  new Promise((resolve) => {
    if (document.hidden) document.addEventListener("visibilitychange", resolve, { once: true });
    else resolve(undefined);
  });

// {start(state), busy(), finish(), stop()}; `work(state, whole)` gives the steps that are left to do for a state, each far shorter than
// a slice. A step that is a promise is waited for; with `whole` none may be. A new start ends the one before, and nothing is done
// in a hidden page. `shown()` is called when there is more to see.
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
  /** What has to be waited for before the next step. */
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
    const goOn = () => steps === mine && slice();
    if (pause) pause.then(goOn, (error) => steps === mine && stumbled(error));
    else waiting = setTimeout(goOn);
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
