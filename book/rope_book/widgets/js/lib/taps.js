// Places click targets over a picture: boxes that set controls. Keyboard users have the native controls.
import { svg, write } from "./dom.js";
import { makeLayer, spotOf } from "./overlay.js";

// {element, place(wanted)} over a picture; a click calls `leapt(changes)`. A field, whose effect depends on the spot, is inactive while
// a question asks for a click in it.
export function makeTaps(/** @type {Moved} */ leapt, /** @type {AbortSignal} */ signal) {
  const element = svg("g", { class: "rl-taps" });
  let taps = /** @type {Record<string, Tap>} */ ({});

  function make(/** @type {string} */ name) {
    const box = svg("rect", { rx: 5 });
    box.addEventListener("click", (event) => press(name, event), { signal });
    return box;
  }
  function press(/** @type {string} */ name, /** @type {MouseEvent} */ event) {
    const { set = {}, at } = taps[name];
    const picture = element.ownerSVGElement;
    leapt(at && picture ? at(...spotOf(picture, event)) : set);
  }
  const layer = makeLayer(element, make, (box, /** @type {Tap} */ { x, y, w, h, at }) =>
    write(box, { class: at ? "rl-field" : "rl-tap", x, y, width: w, height: h }),
  );
  function place(/** @type {Record<string, Tap>} */ wanted) {
    taps = wanted;
    layer(wanted);
  }
  return { element, place };
}
