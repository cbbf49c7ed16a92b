// Builds a figure's native controls. Each kind of control defines how to find the nearest allowed value, how to
// parse a value from a URL, and how to create the element.

import { choice } from "./controls/choice.js";
import { numbers } from "./controls/numbers.js";
import { paste } from "./controls/paste.js";
import { point } from "./controls/point.js";
import { sentence } from "./controls/sentence.js";
import { sketch } from "./controls/sketch.js";
import { slider } from "./controls/slider.js";
import { text } from "./controls/text.js";
import { toggle } from "./controls/toggle.js";
import { html } from "./dom.js";
import { placed, withFew } from "./leads.js";
import { phrase } from "./phrase.js";

/** @import { Named } from "./leads.js" */
/** @type {Record<string, ControlKind>} */
const KINDS = { slider, point, choice, toggle, sentence, text, paste, sketch, numbers };

/** The allowed value nearest to `value`, or `current` if `value` is unusable. */
export function allowed(/** @type {Control} */ control, /** @type {any} */ value, /** @type {any} */ current) {
  return KINDS[control.kind].allowed(control, value, current);
}

/** Parse a value from a URL; the result may be out of range. */
export function parsed(/** @type {Control} */ control, /** @type {string} */ text) {
  return KINDS[control.kind].parse?.(text) ?? text;
}

// {elements, grids, show(state, names of the controls in use)}: the elements are the lead controls, "More", and the
// answers, if the figure has any. The first lead control has a grid of its own, since the sentence follows it on a
// phone. `moved` is called when the user moves a slider, and `leapt` when the user sets any other control or a slider
// named in `glides`. A control that has no effect is hidden, but not while it has focus.
/** @param {Controls} controls
 * @param {Named & {only?: string[], unfolds?: boolean, glides?: string[], answers?: string}} asked
 * @param {{moved: Moved, leapt: Moved, tell: Tell}} calls */
export function makeControls(controls, asked, { moved, leapt, tell }) {
  const places = placed(Object.keys(controls), asked);
  const small = Boolean(asked.only);
  const parts = /** @type {Record<string, ReturnType<ControlKind["make"]>>} */ ({});
  const fill = (/** @type {HTMLElement} */ grid, /** @type {string[]} */ names) => {
    for (const name of names) {
      const control = small ? withFew(controls[name], asked.few?.[name]) : controls[name];
      const move = control.kind !== "slider" || asked.glides?.includes(name) ? leapt : moved;
      parts[name] = KINDS[control.kind].make(control, (value) => move({ [name]: value }), tell, small);
      parts[name].element.setAttribute("data-trait", name);
      grid.append(parts[name].element);
    }
    return grid;
  };
  const made = (/** @type {string} */ kind, /** @type {string[]} */ names) => fill(html("div", { class: kind }), names);
  const [first, rest] = [made("rl-first", places[0].slice(0, 1)), made("rl-rest", places[0].slice(1))];
  const lead = small ? made("rl-controls", places[0]) : html("div", { class: "rl-controls rl-lead" }, first, rest);
  const folded = made("rl-controls", places[1]);
  const answers = made("rl-controls rl-answers", places[2]);
  const more = html("details", { class: "rl-more" }, html("summary", {}, phrase`More`), folded);
  // the earlier values, to restore if a touch turns into scrolling
  /** @type {[State, State, string[]]} */
  let [now, before, inUse] = [{}, {}, []];
  for (const grid of [lead, folded, answers]) {
    grid.addEventListener("pointerdown", () => (before = now));
    grid.addEventListener("pointercancel", () => moved(before));
    grid.addEventListener("focusout", ({ relatedTarget }) => hide(relatedTarget));
  }

  function hide(/** @type {EventTarget | null} */ focus) {
    for (const name in parts) {
      const { element } = parts[name];
      const idle = !inUse.includes(name);
      element.classList.toggle("rl-idle", idle);
      element.hidden = idle && !(focus instanceof Node && element.contains(focus));
    }
    lead.hidden = !places[0].some((name) => !parts[name].element.hidden);
    more.hidden = !places[1].some((name) => !parts[name].element.hidden);
  }
  function show(/** @type {State} */ state, /** @type {string[]} */ used) {
    const fresh = used.some((name) => places[1].includes(name) && !inUse.includes(name));
    if (asked.unfolds && inUse.length && fresh) more.open = true;
    [now, inUse] = [state, used];
    for (const name in parts) parts[name].show(state[name]);
    const around = /** @type {Document | ShadowRoot} */ (lead.getRootNode());
    // a detached element's root has no activeElement
    hide(around.activeElement ?? null);
  }
  const elements = places[2].length ? [lead, more, answers] : [lead, more];
  return { elements, grids: [lead, first, rest, folded, answers], show };
}
