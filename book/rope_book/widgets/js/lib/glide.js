// A short animation for changes by a button, a choice or a link: numbers glide to their new values, everything else jumps. Only the
// picture lags behind; the state, the controls and the words have jumped.
import { clamp } from "./numbers.js";
import { settle } from "./rules.js";
import { same } from "./state.js";

const TIME = 400; // ms

const eased = (/** @type {number} */ share) => 1 - (1 - share) ** 3;

// A slider's number on the way; a whole number stays whole, and leaves its start at once.
/** @type {(control: Control, from: number, to: number, share: number, smooth: boolean) => number} */
function numberBetween({ log, whole, low, high }, from, to, share, smooth) {
  const at = log && from > 0 && to > 0 ? from * (to / from) ** share : from + (to - from) * share;
  const held = clamp(at, low, high);
  if (!whole || smooth) return held;
  return to > from ? Math.ceil(held) : Math.floor(held);
}

// A state between two others. Sliders and points glide, other controls have the target's value, and the rules of the controls hold.
// Whole numbers named in `smooth` may take fractions.
/** @type {(controls: Controls, from: State, to: State, share: number, smooth?: string[]) => State} */
export function between(controls, from, to, share, smooth = []) {
  if (share >= 1) return to;
  const now = { ...to };
  for (const [name, control] of Object.entries(controls)) {
    if (same(from[name], to[name])) continue;
    if (control.kind === "slider") {
      now[name] = numberBetween(control, from[name], to[name], share, smooth.includes(name));
    } else if (control.kind === "point") {
      now[name] = to[name].map(
        (/** @type {number} */ v, /** @type {number} */ i) => v * share + from[name][i] * (1 - share),
      );
    }
  }
  const settled = Object.entries(settle(controls, now, {}));
  return { ...now, ...Object.fromEntries(settled.filter(([name]) => controls[name].kind !== "choice")) };
}

/** Whether changes may glide: not for readers who prefer less motion, nor in a hidden page. */
const mayGlide = () => !document.hidden && !matchMedia("(prefers-reduced-motion: reduce)").matches;

// {start(from, to), shown(state), way(), busy(), stop()}: shown returns the state to draw now; `draw()` is called at every frame.
/** @param {Controls} controls @param {{smooth?: string[], time?: number}} figure
 * @param {{draw: () => void, arrived: () => void}} calls */
export function makeGlide(controls, { smooth, time = TIME }, { draw, arrived }) {
  let [frame, since] = [0, 0];
  let from = /** @type {State} */ ({});

  const share = () => clamp((performance.now() - since) / time, 0, 1);
  const shown = (/** @type {State} */ state) =>
    frame ? between(controls, from, state, eased(share()), smooth) : state;
  const way = () => (frame ? { from, share: eased(share()) } : undefined);
  function stop() {
    cancelAnimationFrame(frame);
    frame = 0;
  }
  function tick() {
    if (share() < 1) {
      frame = requestAnimationFrame(tick);
      return draw();
    }
    stop();
    arrived();
  }
  function start(/** @type {State} */ before, /** @type {State} */ after) {
    stop();
    if (same(before, after) || !mayGlide()) return;
    [from, since] = [before, performance.now()];
    frame = requestAnimationFrame(tick);
  }
  return { start, shown, way, busy: () => frame !== 0, stop };
}

// {moved, leapt}: moved applies a drag at once, leapt a jump by a button, a choice or a link, after which the picture glides.
/** @param {Live} state @param {ReturnType<typeof makeGlide>} glide
 * @param {{change: () => void, paint: () => void, isSteady: () => boolean, remember: () => void}} calls */
export function makeHand(state, glide, { change, paint, isSteady, remember }) {
  function moved(/** @type {State} */ changes) {
    glide.stop();
    state.move(changes);
    change();
    remember();
  }
  function leapt(/** @type {State} */ changes) {
    const before = glide.shown(state.read());
    moved(changes);
    if (isSteady()) return;
    glide.start(before, state.read());
    paint();
  }
  return { moved, leapt };
}
