// The native controls of a figure. Each kind knows the nearest value that it allows, how an address writes it, and its
// element.
import { choice } from "./controls/choice.js";
import { paste } from "./controls/paste.js";
import { point } from "./controls/point.js";
import { sentence } from "./controls/sentence.js";
import { slider } from "./controls/slider.js";
import { toggle } from "./controls/toggle.js";
import { html } from "./dom.js";

/** @type {Record<string, ControlKind>} */
const KINDS = { slider, point, choice, toggle, sentence, paste };

/**
 * The value nearest to `value` that the control allows; `current` where it is no value at all.
 * @param {Control} control
 * @param {any} value
 * @param {any} current
 */
export function allowed(control, value, current) {
  return KINDS[control.kind].allowed(control, value, current);
}

/**
 * The value that a text in an address stands for, which may not be allowed.
 * @param {Control} control
 * @param {string} text
 */
export function parsed(control, text) {
  return KINDS[control.kind].parse(text);
}

/**
 * All controls of a figure: {element, show(state, names of those in use)}; `moved({name: value})` is called when a hand moves
 * one, `tell(text)` speaks.
 * @param {Controls} controls
 * @param {Moved} moved
 * @param {Tell} tell
 */
export function makeControls(controls, moved, tell) {
  const element = html("div", { class: "rl-controls" });
  /** @type {Record<string, ReturnType<ControlKind["make"]>>} */
  const parts = {};
  for (const [name, control] of Object.entries(controls)) {
    parts[name] = KINDS[control.kind].make(control, (value) => moved({ [name]: value }), tell);
    parts[name].element.setAttribute("data-trait", name);
    element.append(parts[name].element);
  }
  // a touch that turns out to scroll the page moves nothing: all goes back to where it was
  /** @type {[State, State]} */
  let [now, before] = [{}, {}];
  element.addEventListener("pointerdown", () => (before = now));
  element.addEventListener("pointercancel", () => moved(before));

  /** @type {(state: State, used: string[]) => void} */
  function show(state, used) {
    now = state;
    for (const name in parts) {
      parts[name].show(state[name]);
      parts[name].element.classList.toggle("rl-idle", !used.includes(name));
    }
  }
  return { element, show };
}
