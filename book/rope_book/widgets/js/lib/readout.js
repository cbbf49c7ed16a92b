// Shows a description of the picture and announces it to screen readers.
import { html, say } from "./dom.js";
import { joined } from "./phrase.js";

const REST = 500; // ms without changes before the text is announced

const WIDTH = 720; // the width, in pixels, to which the declared number of lines applies

// {elements, show(text, moving), tell(text), stop(), reserve()}: reserve keeps room for the longest text, which
// takes `lines` lines on a wide screen. show displays the current text and announces it once nothing has moved for
// a moment, but never while the figure is playing; tell announces its text immediately.
export function makeReadout(/** @type {number} */ lines) {
  const words = html("p", { class: "rl-readout" });
  const spoken = html("p", { class: "rl-spoken", role: "status" });
  let speaking = 0;
  const stop = () => clearTimeout(speaking);
  /** @type {Tell} */
  function tell(text) {
    stop();
    say(spoken, text === spoken.textContent ? `${text}\u00a0` : text); // repeated text is announced too
  }
  /** @type {(text: string, moving?: boolean) => void} */
  function show(sentences, moving = false) {
    const text = joined(sentences);
    say(words, text);
    stop();
    if (!moving) speaking = setTimeout(() => say(spoken, text), REST);
  }
  function reserve() {
    const width = words.clientWidth || WIDTH;
    const needs = width < WIDTH ? Math.ceil((lines * WIDTH) / width) : lines;
    words.style.setProperty("--rl-lines", String(needs));
  }
  return { elements: [words, spoken], show, tell, stop, reserve };
}
