// A button that moves a slider by itself.
import { html } from "./dom.js";

const [PLAY, PAUSE] = ["▶ Play", "⏸ Pause"];

/**
 * How far a slider has to go after some milliseconds: {value} or nothing yet. Who asks for less motion gets a step a second.
 * @param {{perSecond: number}} play
 * @param {Control} control
 * @returns {(milliseconds: number, value: number) => number | undefined}
 */
function makeClock({ perSecond }, { low, high, step, whole }) {
  let carried = 0;
  return function after(milliseconds, value) {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    carried += (milliseconds / 1000) * (calm ? 1 : perSecond);
    if (carried < (calm ? 1 : whole ? step : 1e-9)) return undefined;
    const gone = whole ? Math.floor(carried / step) * step : carried;
    carried -= gone;
    return value + gone > high ? low : value + gone;
  };
}

/**
 * {element, playing(), stop()}; play: {trait, perSecond}; `rested()` is called when it stops. It stops by itself when the figure
 * leaves the page.
 * @param {{trait: string, perSecond: number}} play
 * @param {Live} state
 * @param {Moved} moved
 * @param {(() => void)} rested
 */
export function makePlay(play, state, moved, rested) {
  const element = html("button", { type: "button", class: "rl-play" }, PLAY);
  const clock = makeClock(play, state.controls[play.trait]);
  let [playing, last] = [0, 0];

  function stop() {
    cancelAnimationFrame(playing);
    playing = 0;
    element.textContent = PLAY;
  }
  /** @type {FrameRequestCallback} */
  function tick(now) {
    if (!element.isConnected) return stop();
    const value = clock(now - last, state.read()[play.trait]);
    last = now;
    if (value !== undefined) moved({ [play.trait]: value });
    playing = requestAnimationFrame(tick);
  }
  element.addEventListener("click", () => {
    if (playing) {
      stop();
      return rested();
    }
    element.textContent = PAUSE;
    last = performance.now();
    playing = requestAnimationFrame(tick);
  });
  return { element, playing: () => playing !== 0, stop };
}
