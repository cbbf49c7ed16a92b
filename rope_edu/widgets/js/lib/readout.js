// What the picture says in words, for eyes and for screen readers.
import { html, say } from "./dom.js";

const REST = 500; // ms: a screen reader hears the words once the hand rests

/** {elements, show(text), stop()} */
export function makeReadout() {
  const words = html("p", { class: "rl-readout" });
  const spoken = html("p", { class: "rl-spoken", role: "status" });
  let speaking;
  const stop = () => clearTimeout(speaking);
  function show(text) {
    say(words, text);
    stop();
    speaking = setTimeout(() => say(spoken, text), REST);
  }
  return { elements: [words, spoken], show, stop };
}
