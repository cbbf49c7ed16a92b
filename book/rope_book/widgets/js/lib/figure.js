// Creates a live figure from its draw and readout functions. The other modules in this folder provide a pen, native
// controls, a readout, Reset, and the state as a line of Python and as a link; a figure holds no state.
import { followLinks, makeAddress } from "./address.js";
import { answerQuestions } from "./answer.js";
import { makeBar } from "./bar.js";
import { makeControls } from "./controls.js";
import { html, keepKeys } from "./dom.js";
import { makeFit } from "./fit.js";
import { makeGlide, makeHand } from "./glide.js";
import { tellWhenGone } from "./gone.js";
import { keepPicture } from "./keep.js";
import { makePlace } from "./layout.js";
import { namedBy, viewOf } from "./leads.js";
import { phrase } from "./phrase.js";
import { makePicture } from "./picture.js";
import { makeReadout } from "./readout.js";
import { usedBy } from "./rules.js";
import { makeState } from "./state.js";
import { invite, keepInSight } from "./view.js";
import { makeWork } from "./work.js";

/** Create the module that anywidget expects from a figure as described in types.d.ts. */
export function live(/** @type {Figure} */ figure) {
  function render(/** @type {{model: Model, el: HTMLElement}} */ { model, el }) {
    el.classList.toggle("rope-host", !model.host); // with a kernel, styles depend on the width of el
    let unmount = mount(figure, model, el);
    function remount() {
      unmount();
      unmount = mount(figure, model, el);
    }
    model.on("change:only", remount);
    return () => {
      model.off("change:only", remount);
      unmount();
    };
  }
  return { render };
}

/** Mount a figure in an element, and return the function that removes the figure. */
function mount(/** @type {Figure} */ figure, /** @type {Model} */ model, /** @type {HTMLElement} */ el) {
  const stops = new AbortController();
  const state = makeState(model, figure.follow);
  const { only, ...view } = viewOf(model.get("only"), state.names);
  const root = makeRoot(figure, view.small);
  const glide = makeGlide(state.controls, figure, { draw: () => attempt(draw), arrived: paint });
  const remember = () => address?.remember();
  const { moved, ...hand } = makeHand(state, glide, figure, { change, paint, fails: () => hasFailed(root), remember });
  const picture = makePicture(figure, view, hand, stops.signal);
  const readout = makeReadout(figure);
  const { attempt, fail } = makeAttempt(root, readout.show);
  const address = model.host === "page" ? makeAddress(figure.name, state, root, stops.signal) : undefined;
  const calls = { moved, ...hand, rested: paint, tell: readout.tell, link: address?.link, inKernel: !model.host };
  const controls = makeControls(state.controls, { ...figure, ...namedBy(figure.name), only }, calls);
  const bar = makeBar(figure, state, only, calls);
  const place = makePlace(root, { picture, controls, bar, readout }, heightOf(figure, state, view, model));
  const work = makeWork(figure.work, paint, fail);
  const use = address && keepInSight(root, picture, () => attempt(draw), stops.signal).use;
  followLinks(figure.name, root, state, { leapt: hand.leapt, use }, stops.signal);
  invite(root, picture.element, stops.signal);

  const draw = () => picture.paint(glide.shown(state.read()), glide.way());
  function paint() {
    const now = state.read();
    controls.show(now, usedBy(figure, state.controls, now));
    bar.show(now);
    attempt(() => {
      draw();
      if (!hasFailed(root)) readout.show(figure.readout(now, view), !isTouched(root) || work.busy() || bar.playing());
    });
    root.setAttribute("aria-busy", String(work.busy() || glide.busy()));
    root.dataset.ready = "true"; // the figure is drawn and responds, but results may still be pending
  }
  function change() {
    root.classList.add(TOUCHED);
    delete root.dataset.failed;
    work.start(state.read());
    paint();
  }
  stops.signal.addEventListener("abort", state.listen(change));
  answerQuestions(root, state, { model, moved, picture, remember, results: resultsOf(figure, work) }, stops.signal);
  el.append(root);
  address?.recall();
  place.measure();
  change();
  root.classList.remove(TOUCHED);
  readout.stop();
  const fit = makeFit(root, place, paint);
  const keep = lend(root, model, { work, glide }, calls, () => picture.still(figure.readout(state.read(), view)));
  return () => takeAway(root, [{ stop: () => stops.abort() }, glide, fit, bar, readout, address, work, keep]);
}

// A function that maps a width to the picture's height, or undefined if the controls are never beside the picture.
/** @type {(figure: Figure, state: Live, view: View, model: Model) => ((width: number) => number) | undefined} */
function heightOf(figure, state, view, model) {
  if (view.small || model.host === "guided") return undefined;
  return (width) => figure.height(width, state.read(), view);
}

// A function from a state to the results that challenges judge, once all work is done.
/** @type {(figure: Figure, work: {finish: () => void}) => (now: State) => State} */
function resultsOf({ results }, work) {
  if (!results) return () => ({});
  return (now) => {
    work.finish();
    return results(now);
  };
}

const TOUCHED = "rl-touched"; // class of a figure that the user has moved; nothing is announced before then

const isTouched = (/** @type {HTMLElement} */ root) => root.classList.contains(TOUCHED);

// Methods for external scripts: root.still() returns the picture as a file, root.take({position: 7}) sets a control
// as the user would, and root.leap lets the picture glide there. The enclosing notebook stores the picture itself.
/** @param {HTMLElement} root @param {Model} model @param {{work: {finish: () => void}, glide: {land: () => void}}} pending
 * @param {{moved: Moved, leapt: Moved}} calls @param {() => string} draw */
function lend(root, model, { work, glide }, { moved, leapt }, draw) {
  function now(finish = () => {}) {
    finish();
    glide.land(); // show the present state, not one on the way to it
    return draw();
  }
  Object.assign(root, { still: () => now(work.finish), take: moved, leap: leapt });
  const [keep, forget] = [keepPicture(root, model, "_controls", now), tellWhenGone(root, model)];
  function stop() {
    keep.stop();
    forget();
  }
  return { stop };
}

/** @type {(figure: Figure, small: boolean) => HTMLElement} */
function makeRoot({ name, title }, small) {
  const kind = small ? "rope-live rl-small" : "rope-live";
  const root = html("div", { class: kind, role: "group", "aria-label": title, "data-live": name });
  keepKeys(root);
  return root;
}

/** @type {(root: HTMLElement, parts: ({stop: () => void} | undefined)[]) => void} */
function takeAway(root, parts) {
  for (const part of parts) part?.stop();
  root.remove();
}

const FAILED = phrase`This figure failed to draw these values; the picture shows an earlier state. Reset brings it back.`;

const hasFailed = (/** @type {HTMLElement} */ root) => "failed" in root.dataset;

// {attempt(act), fail(error)}: show errors in the readout. A figure that has never been drawn keeps its still
// picture.
function makeAttempt(/** @type {HTMLElement} */ root, /** @type {Tell} */ show) {
  function fail(/** @type {unknown} */ error) {
    if (!root.dataset.ready) throw error;
    root.dataset.failed = "";
    show(`${FAILED} (${error})`);
    reportError(error);
  }
  function attempt(/** @type {() => void} */ act) {
    try {
      act();
    } catch (error) {
      fail(error);
    }
  }
  return { attempt, fail };
}
