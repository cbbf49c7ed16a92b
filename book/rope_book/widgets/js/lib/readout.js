// Shows the description of the picture, for sighted readers and for screen readers.
import { html, say } from "./dom.js";
import { joined } from "./phrase.js";

const REST = 500; // ms without a move before the text is announced

// {elements, show(text, moving), tell(text), stop()}: show writes the current text, which is announced once nothing
// has moved for a moment, and never while the figure plays; tell announces a text at once.
export function makeReadout() {
  const words = html("p", { class: "rl-readout" });
  const spoken = html("p", { class: "rl-spoken", role: "status" });
  let speaking = 0;
  const stop = () => clearTimeout(speaking);
  /** @type {Tell} */
  function tell(text) {
    stop();
    say(spoken, text === spoken.textContent ? `${text}\u00a0` : text); // so that repeated text is announced again
  }
  /** @type {(text: string, moving?: boolean) => void} */
  function show(sentences, moving = false) {
    const text = joined(sentences);
    say(words, text);
    stop();
    if (!moving) speaking = setTimeout(() => say(spoken, text), REST);
  }
  return { elements: [words, spoken], show, tell, stop };
}
