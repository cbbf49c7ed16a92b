import { phrase } from "./phrase.js";

// A state that cannot be drawn: the figure says so in words, dims the picture of the state before, and goes on.

const FAILED = phrase`This figure failed to draw these values; the picture shows an earlier state. Reset brings it back.`;

export const hasFailed = (/** @type {HTMLElement} */ root) => "failed" in root.dataset;

// {attempt(act), fail(error)}: where a state cannot be drawn, words say so; a figure that was never drawn leaves its still.
export function makeAttempt(/** @type {HTMLElement} */ root, /** @type {Tell} */ show) {
  function fail(/** @type {unknown} */ error) {
    if (!root.dataset.ready) throw error;
    root.dataset.failed = "";
    show(`${FAILED} (${error})`);
    reportError(error);
  }
  function attempt(/** @type {() => void} */ act) {
    try {
      act();
    } catch (error) {
      fail(error);
    }
  }
  return { attempt, fail };
}
