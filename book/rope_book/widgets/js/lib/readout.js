// What the picture says in words, for eyes and for screen readers.
import { html, say } from "./dom.js";
import { joined } from "./phrase.js";

const REST = 500; // ms: a screen reader hears the words once the hand rests

// {elements, show(text, moving), tell(text), stop()}: show writes what the picture says now, which is spoken when nothing has moved
// for a moment, and never while it moves by itself; tell speaks at once.
export function makeReadout() {
  const words = html("p", { class: "rl-readout" });
  const spoken = html("p", { class: "rl-spoken", role: "status" });
  let speaking = 0;
  const stop = () => clearTimeout(speaking);
  /** @type {Tell} */
  function tell(text) {
    stop();
    say(spoken, text === spoken.textContent ? `${text}\u00a0` : text); // the same words again are news too
  }
  /** @type {(text: string, moving?: boolean) => void} */
  function show(told, moving = false) {
    const text = joined(told);
    say(words, text);
    stop();
    if (!moving) speaking = setTimeout(() => say(spoken, text), REST);
  }
  return { elements: [words, spoken], show, tell, stop };
}
