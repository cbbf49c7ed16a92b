// The page loader: brings the live figures of a published page to life. It reads the widget state that the
// notebook carries, loads each figure's script once, and gives it a model that lives in the page. No server, no
// kernel, no module system: it works from a folder opened with file://.
(() => {
  "use strict";
  const words = JSON.parse(document.getElementById("page-words")?.textContent ?? "{}"); // of a Chinese page
  const say = (text) => words[text] ?? text;
  const STATE = 'script[type="application/vnd.jupyter.widget-state+json"]';
  const figures = {}; // by class name, as their scripts arrive
  const models = {}; // by id, as the states arrive

  /** The part of a Jupyter widget model that the figures use, without a kernel. */
  function pageModel(state) {
    const values = { ...state };
    const listeners = {};
    return {
      host: "page",
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
      figure.render({ model: pageModel(state), el: place });
    } catch (error) {
      place.remove(); // the still picture stays
      throw error;
    }
    for (const element of still) element.remove();
  }

  /** Bring to life every slot so far whose figure is here. */
  function mount() {
    for (const states of document.querySelectorAll(`${STATE}:not([data-read])`)) {
      states.dataset.read = "";
      Object.assign(models, JSON.parse(states.textContent).state);
    }
    for (const slot of document.querySelectorAll(".live-slot:not([data-alive])")) {
      const { state } = slot.dataset.state ? JSON.parse(slot.dataset.state) : (models[slot.dataset.model] ?? {});
      // a widget of another kind needs Python; its slot says so already
      const figure = figures[state?._anywidget_id?.split(".").pop()];
      if (!figure) continue;
      slot.dataset.alive = "";
      bringToLife(slot, state, figure);
    }
  }

  /** A figure's script stands behind its first slot and calls define(): the text below need not be there yet. */
  window.RopeLive = {
    define(name, figure) {
      figures[name] = figure;
      mount();
    },
  };
  document.addEventListener("DOMContentLoaded", mount); // a second slot of the same figure

  // A still that can be tried in its place: its figure's script is fetched when a hand asks for it.
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
        slot.focus({ preventScroll: true }); // the button that was pressed is gone
      });
      script.addEventListener("error", () => button.remove()); // the still leads to the figure
      script.src = place.dataset.script;
      document.head.append(script);
    });
    place.append(button);
  }
  document.addEventListener("DOMContentLoaded", () => {
    for (const place of document.querySelectorAll(".live-later")) offerToTry(place);
  });

  // A cell that sets the figure above it needs no Python to be tried: its lines are read, and a button does what they say.
  const LINE = /^figure\.(\w+) = (.+)$/gm;
  const WORDS = { True: true, False: false };

  /** A value as Python writes it: a number, a word in quotes, True or False. */
  const literal = (text) => (/^["']/.test(text) ? text.slice(1, -1) : (WORDS[text] ?? Number(text.replace(/_/g, ""))));

  /** The figure that is nearest above an element. */
  function figureAbove(element) {
    const before = (slot) => slot.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING;
    return [...document.querySelectorAll(".live-slot .rope-live")].filter(before).pop();
  }

  function offerToSet(cell) {
    const code = cell.querySelector("pre");
    if (!code || !figureAbove(cell)) return;
    const values = [...code.textContent.matchAll(LINE)].map(([, name, text]) => [name, literal(text.trim())]);
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "live-set", textContent: say("Set the figure so") });
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
