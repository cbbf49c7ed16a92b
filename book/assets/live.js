// The page loader starts the live figures of a published page. It reads the widget state stored in the notebook,
// and gives every figure's script a model inside the page. It needs no server, kernel or module system, so it works
// from a folder opened with file://.
(() => {
  "use strict";
  const words = JSON.parse(document.getElementById("page-words")?.textContent ?? "{}"); // on a Chinese page
  const say = (text) => words[text] ?? text;
  const STATE = 'script[type="application/vnd.jupyter.widget-state+json"]';
  const figures = {}; // keyed by class name, added as their scripts load
  const models = {}; // keyed by id, added as the states are parsed

  /** The part of a Jupyter widget model that the figures use, without a kernel. */
  function pageModel(state, host = "page") {
    const values = { ...state };
    const listeners = {};
    return {
      host,
      get: (key) => values[key],
      set(key, value) {
        if (JSON.stringify(values[key]) === JSON.stringify(value)) return;
        values[key] = value;
        for (const listener of [...(listeners[`change:${key}`] ?? [])]) listener();
      },
      save_changes() {},
      on(event, listener) {
        listeners[event] ??= new Set();
        listeners[event].add(listener);
      },
      off: (event, listener) => listeners[event]?.delete(listener),
    };
  }

  function bringToLife(slot, state, figure) {
    const place = document.createElement("div");
    const still = [...slot.children];
    slot.append(place);
    try {
      figure.render({ model: pageModel(state, slot.dataset.host), el: place });
    } catch (error) {
      place.remove(); // the still picture stays
      tell(slot, "rl-failed");
      throw error;
    }
    for (const element of still) element.remove();
    tell(slot, "rl-alive");
  }
  const tell = (slot, what) => slot.dispatchEvent(new Event(what, { bubbles: true }));

  const NEAR = "template[data-near]"; // after a slot that waits until the reader comes near

  /** Start the figure in every slot that need not wait, if the figure's script has loaded. */
  function mount() {
    for (const states of document.querySelectorAll(`${STATE}:not([data-read])`)) {
      states.dataset.read = "";
      Object.assign(models, JSON.parse(states.textContent).state);
    }
    for (const slot of document.querySelectorAll(`.live-slot:not([data-alive], :has(+ ${NEAR}))`)) {
      const { state } = slot.dataset.state ? JSON.parse(slot.dataset.state) : (models[slot.dataset.model] ?? {});
      // any other widget needs Python, as its slot says
      const figure = figures[state?._anywidget_id?.split(".").pop()];
      if (!figure) continue;
      slot.dataset.alive = "";
      bringToLife(slot, state, figure);
    }
  }

  function fetchScript(source, arrived = () => {}, failed = () => {}) {
    const script = document.createElement("script");
    script.addEventListener("load", arrived);
    script.addEventListener("error", failed);
    script.src = source;
    document.head.append(script);
  }

  /** Start the figures down to the last one that is asked for, each in a task of its own, with all above it: the
   * text and the questions at a figure refer to others. */
  function wake(isAsked = (_mark) => true) {
    const marks = [...document.querySelectorAll(NEAR)];
    for (const mark of marks.slice(0, marks.findLastIndex(isAsked) + 1)) setTimeout(() => start(mark));
  }
  function start(mark) {
    const [source, slot] = [mark.dataset.near, mark.previousElementSibling];
    mark.remove();
    if ([...document.scripts].some((script) => script.getAttribute("src") === source)) mount();
    else fetchScript(source, undefined, () => tell(slot, "rl-failed")); // it calls define()
  }

  /** Start the figures that the page's address names, wherever they are: #live=RotatePair.2&position=9 */
  function wakeLinked() {
    const names = new URLSearchParams(location.hash.slice(1)).getAll("live").map((name) => name.split(".")[0]);
    wake((mark) => names.some((name) => mark.dataset.near.includes(`/${name}.js`)));
  }

  /** Start what the reader has passed, or comes to within 40 % of the window's height. */
  function wakeNear() {
    const isNear = (slot, seen) => seen.some(({ isIntersecting, target }) => isIntersecting && target === slot);
    const watch = new IntersectionObserver((seen) => wake((mark) => isNear(mark.previousElementSibling, seen)), {
      rootMargin: "9999999px 0px 40%",
    });
    for (const mark of document.querySelectorAll(NEAR)) watch.observe(mark.previousElementSibling);
  }

  /** A figure's script follows the figure's first slot, and may call define() before the rest is parsed. */
  window.RopeLive = {
    define(name, figure) {
      figures[name] = figure;
      mount();
    },
    all: () => wake(),
  };
  for (const act of [mount, wakeNear, wakeLinked]) document.addEventListener("DOMContentLoaded", act);
  addEventListener("hashchange", wakeLinked);

  // A still that can be tried in place: clicking its button fetches the figure's script.
  function offerToTry(place) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "live-try", textContent: say("Try it here") });
    button.addEventListener("click", () => {
      button.disabled = true;
      function arrived() {
        const slot = document.createElement("div");
        Object.assign(slot, { className: "live-slot", tabIndex: -1 });
        slot.dataset.model = place.dataset.model;
        place.replaceChildren(slot);
        mount();
        slot.scrollIntoView({ block: "nearest" });
        slot.focus({ preventScroll: true }); // the pressed button is gone
      }
      fetchScript(place.dataset.script, arrived, () => button.remove()); // the still links to the figure
    });
    place.append(button);
  }
  document.addEventListener("DOMContentLoaded", () => {
    for (const place of document.querySelectorAll(".live-later")) offerToTry(place);
  });

  // A cell that sets the figure above it can be tried without Python: a button applies the cell's lines.
  const LINE = /^(?:# )?figure\.(\w+) = (.+?)(?: {2}# .*)?$/gm;
  const WORDS = { True: true, False: false };

  /** The value of a Python literal: a number, a quoted word, True or False. */
  const literal = (text) => (/^["']/.test(text) ? text.slice(1, -1) : (WORDS[text] ?? Number(text.replace(/_/g, ""))));

  /** The nearest figure above an element. */
  function figureAbove(element) {
    const before = (slot) => slot.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING;
    return [...document.querySelectorAll(".live-slot .rope-live")].filter(before).pop();
  }

  function offerToSet(cell) {
    const code = cell.querySelector("pre");
    const slot = document.querySelector(".live-slot");
    if (!code || !slot || !(slot.compareDocumentPosition(cell) & Node.DOCUMENT_POSITION_FOLLOWING)) return;
    const values = [...code.textContent.matchAll(LINE)].map(([, name, text]) => [name, literal(text.trim())]);
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "live-set", textContent: say("Set the figure like this") });
    button.addEventListener("click", () => {
      const figure = figureAbove(cell);
      figure.take(Object.fromEntries(values));
      const { top, height } = figure.getBoundingClientRect();
      if (top < -height / 2) figure.scrollIntoView({ block: "start" });
    });
    cell.append(button);
  }
  document.addEventListener("DOMContentLoaded", () => {
    for (const cell of document.querySelectorAll(".cell.tag_set-figure")) offerToSet(cell);
  });
})();
