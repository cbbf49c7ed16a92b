// What can be clicked in a picture: boxes that lie over it, each sets controls. Keyboards use the native controls.
import { svg, write } from "./dom.js";
import { spotOf } from "./handles.js";

// {element, place(wanted)} over a picture. wanted: {name: {x, y, w, h, set: {trait: value}}}; `leapt(set)` is called by a click. A
// field has at: (px, py) → {trait: value} instead, and is quiet while a question asks for a place in it.
export function makeTaps(/** @type {Moved} */ leapt, /** @type {AbortSignal} */ signal) {
  const element = svg("g", { class: "rl-taps" });
  /** @type {Record<string, {box: SVGRectElement, set?: State, at?: Tap["at"]}>} */
  const taps = {};

  function make(/** @type {string} */ name) {
    const box = svg("rect", { rx: 5 });
    box.addEventListener("click", (event) => press(name, event), { signal });
    return { box };
  }
  function press(/** @type {string} */ name, /** @type {MouseEvent} */ event) {
    const { box, set = {}, at } = taps[name];
    const picture = box.ownerSVGElement;
    leapt(at && picture ? at(...spotOf(picture, event)) : set);
  }
  /** @type {(wanted: Record<string, Tap>) => void} */
  function place(wanted) {
    /** @type {SVGRectElement | null} */
    let next = null; // the order stays, whatever comes and goes
    for (const name of Object.keys(wanted).reverse()) {
      const { x, y, w, h, set, at } = wanted[name];
      const tap = taps[name] ?? make(name);
      if (!taps[name]) element.insertBefore(tap.box, next);
      next = tap.box;
      taps[name] = Object.assign(tap, { set, at });
      write(tap.box, { class: at ? "rl-field" : "rl-tap", x, y, width: w, height: h });
    }
    for (const name in taps) {
      if (wanted[name]) continue;
      taps[name].box.remove();
      delete taps[name];
    }
  }
  return { element, place };
}
