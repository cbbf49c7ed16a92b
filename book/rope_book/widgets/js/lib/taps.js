// Places click targets that set controls over a picture. Keyboard users can use the native controls instead.
import { svg, write } from "./dom.js";
import { makeLayer, spotOf } from "./overlay.js";

// {element, place(wanted)}: a click calls `leapt(changes)`. A target whose effect depends on the click position is
// inactive while a question asks for a click.
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
