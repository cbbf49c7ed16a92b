// Animates changes made by a button, choice or link: numbers glide to their new values, and everything else changes
// immediately. The animation affects only the picture; the state, the controls and the text change at once.
import { clamp } from "./numbers.js";
import { settle } from "./rules.js";
import { same } from "./state.js";

const TIME = 400; // duration in ms

const eased = (/** @type {number} */ share) => 1 - (1 - share) ** 3;

// A slider's value during a glide. Whole numbers stay whole, and change on the first frame.
/** @type {(control: Control, from: number, to: number, share: number, smooth: boolean) => number} */
function numberBetween({ log, whole, low, high }, from, to, share, smooth) {
  const start = low === 0 ? 1 : 0; // logarithmic sliders that start at 0 use log(1 + value)
  const at = log ? (from + start) * ((to + start) / (from + start)) ** share - start : from + (to - from) * share;
  const held = clamp(at, low, high);
  if (!whole || smooth) return held;
  return to > from ? Math.ceil(held) : Math.floor(held);
}

// Interpolate between two states. Sliders and points are interpolated, other controls take the target's value, and
// the rules between controls are applied. Only whole numbers named in `smooth` may become fractional.
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

/** Whether to animate changes: not in a hidden page, and not for users who prefer reduced motion. */
const mayGlide = () => !document.hidden && !matchMedia("(prefers-reduced-motion: reduce)").matches;

// The state to draw during a drag, in which the dragged trait follows the pointer between whole numbers, along with
// any smooth trait that has moved by the same amount since the drag began.
/** @type {(controls: Controls, smooth: string[], first: State, now: State, trait: string, value: number) => State} */
export function underFinger(controls, smooth, first, now, trait, value) {
  const { low, high } = controls[trait];
  const [moved, beyond] = [now[trait] - first[trait], clamp(value, low, high) - now[trait]];
  const along = smooth.filter((name) => name === trait || (moved !== 0 && now[name] - first[name] === moved));
  return { ...now, ...Object.fromEntries(along.map((name) => [name, now[name] + beyond])) };
}

// {start(from, to), hold(state), shown(state), way(), busy(), land(), stop()}: shown returns the state to draw, hold
// overrides it. `draw()` is called on every frame.
/** @param {Controls} controls @param {{smooth?: string[], time?: number}} figure
 * @param {{draw: () => void, arrived: () => void}} calls */
export function makeGlide(controls, { smooth, time = TIME }, { draw, arrived }) {
  let [frame, since] = [0, 0];
  let from = /** @type {State} */ ({});
  /** @type {State | undefined} */
  let held; // the state during a drag, with fractional values

  const share = () => clamp((performance.now() - since) / time, 0, 1);
  const shown = (/** @type {State} */ state) =>
    held ?? (frame ? between(controls, from, state, eased(share()), smooth) : state);
  const way = () => (frame ? { from, share: eased(share()) } : undefined);
  function stop() {
    cancelAnimationFrame(frame);
    frame = 0;
    held = undefined;
  }
  function hold(/** @type {State} */ state) {
    held = state;
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
  function land() {
    if (!frame) return;
    stop();
    arrived();
  }
  return { start, hold, shown, way, busy: () => frame !== 0, land, stop };
}

// {moved, dragged, dropped, leapt}: moved applies a change immediately, and leapt applies a change from a button,
// choice or link, which the picture then animates. During a drag, the picture shows fractional values for numbers
// named in `smooth`, which glide to whole numbers on release.
/** @param {Live} state @param {ReturnType<typeof makeGlide>} glide @param {Pick<Figure, 'smooth' | 'work'>} figure
 * @param {{change: () => void, paint: () => void, fails: () => boolean, remember: () => void}} calls */
export function makeHand(state, glide, { smooth = [], work }, { change, paint, fails, remember }) {
  const isSteady = () => Boolean(work) || fails();
  /** @type {State | undefined} */
  let first; // the state when the drag began
  function moved(/** @type {State} */ changes) {
    glide.stop();
    state.move(changes);
    change();
    remember();
  }
  function dragged(/** @type {State} */ changes) {
    const [trait, ...others] = Object.keys(changes);
    if (others.length || !smooth.includes(trait)) return moved(changes);
    const { step } = state.controls[trait];
    first ??= state.read();
    moved({ [trait]: Math.round(changes[trait] / step) * step });
    if (isSteady()) return;
    glide.hold(underFinger(state.controls, smooth, first, state.read(), trait, changes[trait]));
    paint();
  }
  function dropped() {
    first = undefined;
    const before = glide.shown(state.read());
    glide.stop();
    glide.start(before, state.read());
    paint();
  }
  function leapt(/** @type {State} */ changes) {
    const before = glide.shown(state.read());
    moved(changes);
    if (isSteady()) return;
    glide.start(before, state.read());
    paint();
  }
  return { moved, dragged, dropped, leapt };
}
