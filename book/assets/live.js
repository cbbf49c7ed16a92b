// The page loader: brings the live figures of a published page to life. It reads the widget state that the
// notebook carries, loads each figure's script once, and gives it a model that lives in the page. No server, no
// kernel, no module system: it works from a folder opened with file://.
(() => {
  "use strict";
  const STATE = 'script[type="application/vnd.jupyter.widget-state+json"]';
  const folder = new URL("live/", document.currentScript.src);
  const figures = {};

  /** The figure of that name: {promise, resolve, reject}; it is asked for and defined in any order. */
  function entry(name) {
    if (!figures[name]) {
      figures[name] = {};
      figures[name].promise = new Promise((resolve, reject) => Object.assign(figures[name], { resolve, reject }));
    }
    return figures[name];
  }

  /** A figure's script calls define() when it runs. */
  window.RopeLive = { define: (name, figure) => entry(name).resolve(figure) };

  function load(name) {
    const path = `live/${name}.js`;
    if (!figures[name] && !document.querySelector(`script[src*="${path}"]`)) {
      const script = document.createElement("script");
      script.src = new URL(`${name}.js`, folder);
      script.onerror = () => entry(name).reject(new Error(`${path} did not load`));
      document.head.append(script);
    }
    return entry(name).promise;
  }

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
      on: (event, listener) => (listeners[event] ??= new Set()).add(listener),
      off: (event, listener) => listeners[event]?.delete(listener),
    };
  }

  async function bringToLife(slot, { state }) {
    const name = state._anywidget_id.split(".").pop();
    const figure = await load(name);
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

  const store = document.querySelector(STATE);
  const models = store ? JSON.parse(store.textContent).state : {};
  for (const slot of document.querySelectorAll(".live-slot")) {
    const model = models[slot.dataset.model];
    // a widget of another kind needs Python; its slot says so already
    if (model?.state?._anywidget_id) bringToLife(slot, model);
  }
})();
