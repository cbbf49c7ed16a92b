// Shows a description of the picture and announces it to screen readers.
import { html, say } from "./dom.js";
import { joined } from "./phrase.js";

const REST = 500; // ms without changes before the text is announced

const WIDTH = 720; // the width, in pixels, to which the declared number of lines applies

// {elements, show(text, moving), tell(text), stop(), reserve()}: reserve keeps room for the longest text, which
// takes `lines` lines on a wide screen; if it `scrolls`, a longer text scrolls in that room. show displays the current
// text and announces it once nothing has moved for a moment, but never while the figure is playing; tell announces its
// text immediately.
export function makeReadout(/** @type {Pick<Figure, "lines" | "scrolls">} */ { lines = 3, scrolls = false }) {
  const words = html("p", { class: "rl-readout" });
  words.classList.toggle("rl-scrolls", scrolls);
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
    if (scrolls) scroll(text);
    else say(words, text);
    stop();
    if (!moving) speaking = setTimeout(() => say(spoken, text), REST);
  }
  function scroll(/** @type {string} */ text) {
    if (text !== words.textContent) words.scrollTop = 0;
    say(words, text);
    if (words.scrollHeight > words.clientHeight)
      words.tabIndex = 0; // the arrow keys scroll it
    else words.removeAttribute("tabindex");
  }
  function reserve() {
    const width = words.clientWidth || WIDTH;
    const needs = width < WIDTH ? Math.ceil((lines * WIDTH) / width) : lines;
    words.style.setProperty("--rl-lines", String(needs));
  }
  return { elements: [words, spoken], show, tell, stop, reserve };
}
