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
      throw error;
    }
    for (const element of still) element.remove();
  }

  /** Start the figure in every slot parsed so far, if the figure's script has loaded. */
  function mount() {
    for (const states of document.querySelectorAll(`${STATE}:not([data-read])`)) {
      states.dataset.read = "";
      Object.assign(models, JSON.parse(states.textContent).state);
    }
    for (const slot of document.querySelectorAll(".live-slot:not([data-alive])")) {
      const { state } = slot.dataset.state ? JSON.parse(slot.dataset.state) : (models[slot.dataset.model] ?? {});
      // any other widget needs Python, as its slot says
      const figure = figures[state?._anywidget_id?.split(".").pop()];
      if (!figure) continue;
      slot.dataset.alive = "";
      bringToLife(slot, state, figure);
    }
  }

  /** A figure's script follows the figure's first slot, and may call define() before the rest is parsed. */
  window.RopeLive = {
    define(name, figure) {
      figures[name] = figure;
      mount();
    },
  };
  document.addEventListener("DOMContentLoaded", mount); // for further slots of the same figure

  // A still that can be tried in place: clicking its button fetches the figure's script.
  function offerToTry(place) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "live-try", textContent: say("Try it here") });
    button.addEventListener("click", () => {
      button.disabled = true;
      const script = document.createElement("script");
      script.addEventListener("load", () => {
        const slot = document.createElement("div");
        Object.assign(slot, { className: "live-slot", tabIndex: -1 });
        slot.dataset.model = place.dataset.model;
        place.replaceChildren(slot);
        mount();
        slot.scrollIntoView({ block: "nearest" });
        slot.focus({ preventScroll: true }); // the pressed button is gone
      });
      script.addEventListener("error", () => button.remove()); // the still links to the figure
      script.src = place.dataset.script;
      document.head.append(script);
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
    if (!code || !figureAbove(cell)) return;
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
