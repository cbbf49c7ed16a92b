// Provides the Play button, which animates a slider.
import { button, html, say } from "./dom.js";
import { phrase } from "./phrase.js";

/** @typedef {NonNullable<Figure["play"]>} Play */

const [PLAY, PAUSE] = [phrase`Play`, phrase`Pause`]; // the style sheet adds the icons, which fonts may lack

// The slider's value after the given number of milliseconds, or undefined if unchanged. With reduced motion, the
// slider moves by one step per second.
/** @typedef {(milliseconds: number, value: number, speed: number) => number | undefined} Clock */
/** @type {(play: Play, control: Control) => Clock} */
function makeClock({ perSecond }, { low, high, step, whole }) {
  let carried = 0;
  return function after(milliseconds, value, speed) {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    carried += (milliseconds / 1000) * (calm ? 1 : perSecond) * speed;
    if (carried < (calm ? 1 : whole ? step : 1e-9)) return undefined;
    const gone = whole ? Math.floor(carried / step) * step : carried;
    carried -= gone;
    return value + gone > high ? low : value + gone;
  };
}

/** A speed selector, as {element, speed()}. */
function makeSpeed(/** @type {number[]} */ speeds) {
  const element = html("select", { class: "rl-speed", "aria-label": phrase`Speed of Play` });
  element.append(...speeds.map((speed) => html("option", { value: speed }, `× ${speed}`)));
  return { element, speed: () => Number(element.value) };
}

// Create the Play button and return {elements, playing(), stop()}. Playback stops when the user stops it, which
// calls `rested()`, or when the figure is removed from the page.
/** @param {Play} play @param {Live} state @param {Moved} moved @param {() => void} rested */
export function makePlay(play, state, moved, rested) {
  const element = button(PLAY, toggle, { class: "rl-play" });
  const chosen = play.speeds && makeSpeed(play.speeds);
  const clock = makeClock(play, state.controls[play.trait]);
  let [playing, last] = [0, 0];

  function stop() {
    cancelAnimationFrame(playing);
    playing = 0;
    say(element, PLAY);
    element.classList.remove("rl-plays");
  }
  /** @type {FrameRequestCallback} */
  function tick(now) {
    if (!element.isConnected) return stop();
    const before = state.read()[play.trait];
    const value = clock(now - last, before, chosen?.speed() ?? 1);
    last = now;
    if (value !== undefined) moved({ [play.trait]: value });
    if (value !== undefined && state.read()[play.trait] === before)
      moved({ [play.trait]: state.controls[play.trait].low });
    playing = requestAnimationFrame(tick);
  }
  function toggle() {
    if (playing) {
      stop();
      return rested();
    }
    say(element, PAUSE);
    element.classList.add("rl-plays");
    last = performance.now();
    playing = requestAnimationFrame(tick);
  }
  return { elements: chosen ? [element, chosen.element] : [element], playing: () => playing !== 0, stop };
}
