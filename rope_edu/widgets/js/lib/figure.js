// A live figure, from what it draws and says. The rest of this room gives it a pen, native controls, a readout, Reset, the
// state as a line of Python and as a link; the figure itself holds no state.
import { makeAddress } from "./address.js";
import { makeBar } from "./bar.js";
import { makeControls } from "./controls.js";
import { html } from "./dom.js";
import { makePicture } from "./picture.js";
import { makeReadout } from "./readout.js";
import { makeState } from "./state.js";
import { keepInSight } from "./view.js";

/**
 * Make the module of a live figure.
 *
 * name      class name, the same in Python
 * title     what the picture is, in a few words
 * height    (width, state) → height of the picture in pixels
 * draw      (pen, state, {width, height}) → nothing, or {trait: {x, y, at: (px, py) → value}} for what can be dragged
 * readout   (state) → what the picture says, in one to three sentences
 * follow    (state before, changed) → more changes: what else moves when a hand moves a control
 * uses      (state) → names of the controls that mean something now; the others are dimmed (without it none are)
 * play      {trait, perSecond} or nothing: a button that moves a slider by itself
 * buttons   [{label, move: (state) → changes}]: moves that no single control makes
 * @param {Figure} figure
 */
export function live(figure) {
  /** @type {(place: {model: Model, el: HTMLElement}) => () => void} */
  const render = ({ model, el }) => mount(figure, model, el);
  return { render };
}

/**
 * Bring a figure to life in an element; returns the function that takes it away.
 * @param {Figure} figure
 * @param {Model} model
 * @param {HTMLElement} el
 */
function mount(figure, model, el) {
  const stops = new AbortController();
  const root = html("div", { class: "rope-live", role: "group", "aria-label": figure.title, "data-live": figure.name });
  const state = makeState(model, figure.follow);
  const address = model.host === "page" ? makeAddress(figure.name, state, root, stops.signal) : undefined;
  /** @type {Moved} */
  function moved(changes) {
    state.move(changes);
    paint();
    address?.remember();
  }
  const picture = makePicture(figure, moved, stops.signal);
  const readout = makeReadout();
  const controls = makeControls(state.controls, moved, readout.tell);
  const bar = makeBar(figure, state, { moved, rested: paint, tell: readout.tell });
  root.append(picture.element, ...readout.elements, controls.element, bar.element);
  keepKeys(root);
  if (model.host === "page") keepInSight(root, picture.element, stops.signal);

  function paint() {
    const now = state.read();
    picture.paint(now);
    readout.show(figure.readout(now), bar.playing());
    controls.show(now, figure.uses?.(now) ?? state.names);
    bar.show(now);
  }
  const deaf = state.listen(paint);
  const steady = makeSteady([readout.elements[0], controls.element, bar.element]);
  function refit() {
    if (!root.isConnected || !picture.measure()) return;
    steady.release();
    paint();
  }
  const watch = new ResizeObserver(() => requestAnimationFrame(refit)); // a picture that changes its height is observed again

  el.append(root);
  address?.recall();
  picture.measure();
  paint();
  readout.stop(); // nothing has moved yet
  root.dataset.ready = "true";
  watch.observe(picture.element);
  Object.assign(root, { still: () => picture.still(figure.readout(state.read())) });

  return () => {
    stops.abort();
    watch.disconnect();
    for (const part of [steady, bar, readout, ...(address ? [address] : [])]) part.stop();
    deaf();
    root.remove();
  };
}

/**
 * JupyterLab: keys pressed in a control are the control's, not the notebook's (the mark must stand on it).
 * @param {HTMLElement} root
 */
function keepKeys(root) {
  for (const input of root.querySelectorAll("input, select, textarea, button")) {
    input.setAttribute("data-lm-suppress-shortcuts", "true");
  }
}

/**
 * What stands below must not jump when a sentence takes another line: each part keeps its greatest height.
 * @param {HTMLElement[]} parts
 */
function makeSteady(parts) {
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (!(target instanceof HTMLElement)) continue;
      const least = Number.parseFloat(target.style.minHeight) || 0;
      const { height } = target.getBoundingClientRect(); // not rounded, so that it changes nothing now
      if (height > least) target.style.minHeight = `${height}px`;
    }
  });
  for (const part of parts) observer.observe(part);
  const release = () => {
    for (const part of parts) part.style.minHeight = "";
  };
  return { release, stop: () => observer.disconnect() };
}
