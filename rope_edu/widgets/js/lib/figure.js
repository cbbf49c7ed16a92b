// A live figure, from what it draws and says. The rest of this room gives it a pen, native controls, a readout, Reset, the
// state as a line of Python and as a link; the figure itself holds no state.
import { makeAddress } from "./address.js";
import { hasFailed, makeAttempt } from "./attempt.js";
import { makeBar } from "./bar.js";
import { makeControls } from "./controls.js";
import { html } from "./dom.js";
import { makePicture } from "./picture.js";
import { makeReadout } from "./readout.js";
import { inUse } from "./rules.js";
import { makeState } from "./state.js";
import { keepInSight } from "./view.js";
import { makeWork } from "./work.js";

/**
 * Make the module of a live figure.
 *
 * name      class name, the same in Python
 * title     what the picture is, in a few words
 * height    (width, state) → height of the picture in pixels
 * draw      (pen, state, {width, height}) → nothing, or {trait: {x, y, at: (px, py) → value}} for what can be dragged
 * readout   (state) → what the picture says, in one to three sentences
 * follow    (state before, changed) → more changes: what else moves when a hand moves a control and no rule of the controls
 *           (rules.js) says so
 * uses      (state) → names of the controls that mean something now, where no rule of the controls says so
 * work      (state) → an iterator: steps that bring nearer what draw and readout show of a state; done in slices
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
  let touched = false; // nothing is spoken before something has moved
  function moved(/** @type {State} */ changes) {
    state.move(changes);
    change();
    address?.remember();
  }
  const picture = makePicture(figure, moved, stops.signal);
  const readout = makeReadout();
  const { attempt, fail } = makeAttempt(root, readout.show);
  const controls = makeControls(state.controls, moved, readout.tell);
  const bar = makeBar(figure, state, { moved, rested: paint, tell: readout.tell });
  const work = makeWork(figure.work, paint, fail);
  root.append(picture.element, ...readout.elements, controls.element, bar.element);
  keepKeys(root);
  if (model.host === "page") keepInSight(root, picture.element, stops.signal);

  function paint() {
    const now = state.read();
    controls.show(now, figure.uses?.(now) ?? inUse(state.controls, now));
    bar.show(now);
    attempt(() => {
      picture.paint(now);
      if (!hasFailed(root)) readout.show(figure.readout(now), !touched || work.busy() || bar.playing());
    });
    root.setAttribute("aria-busy", String(work.busy()));
    root.dataset.ready = "true"; // it is drawn and answers, though results may still fill in
  }
  function change() {
    touched = true;
    delete root.dataset.failed;
    work.start(state.read());
    paint();
  }
  stops.signal.addEventListener("abort", state.listen(change));

  el.append(root);
  address?.recall();
  picture.measure();
  change();
  touched = false;
  readout.stop();
  const fit = makeFit(root, picture, [readout.elements[0], controls.element, bar.element], paint);
  function still() {
    work.finish();
    return picture.still(figure.readout(state.read()));
  }
  Object.assign(root, { still });

  return () => takeAway(root, [{ stop: () => stops.abort() }, fit, bar, readout, address, work]);
}

/** @type {(root: HTMLElement, parts: ({stop: () => void} | undefined)[]) => void} */
function takeAway(root, parts) {
  for (const part of parts) part?.stop();
  root.remove();
}

/**
 * The picture is drawn anew when it has another width; the other parts then find their heights again.
 * @param {HTMLElement} root
 * @param {ReturnType<typeof makePicture>} picture
 * @param {HTMLElement[]} parts
 * @param {() => void} paint
 */
function makeFit(root, picture, parts, paint) {
  const steady = makeSteady(parts);
  function refit() {
    if (!root.isConnected || !picture.measure()) return;
    steady.release();
    paint();
  }
  const watch = new ResizeObserver(() => requestAnimationFrame(refit)); // a picture that changes its height is observed again
  watch.observe(picture.element);
  function stop() {
    watch.disconnect();
    steady.stop();
  }
  return { stop };
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
