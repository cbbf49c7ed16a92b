// Live figures for other people's pages: <rope-figure name="RotatePair" position="9"></rope-figure>. A figure's
// file begins with this script and then calls RopeFigures.define. Every element has a shadow root, which isolates
// the figure's styles from the page's. The script loads, stores and sends nothing.
(() => {
  "use strict";
  if (window.RopeFigures) return; // another figure's file was loaded first
  const OURS = new Set(["name", "theme", "only"]);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const figures = {}; // by class name

  /** The trait that an attribute sets; key-position and key_position are equivalent. */
  const trait = (attribute) => attribute.replaceAll("-", "_");

  /** The part of a Jupyter widget model that the figures use; `moved` is called when the user moves a control. */
  function foreignModel(state, moved) {
    const values = { ...state };
    const listeners = {};
    return {
      host: "foreign",
      values,
      get: (key) => values[key],
      set(key, value) {
        if (JSON.stringify(values[key]) === JSON.stringify(value)) return;
        values[key] = value;
        for (const listener of [...(listeners[`change:${key}`] ?? [])]) listener();
      },
      save_changes: moved,
      on(event, listener) {
        listeners[event] ??= new Set();
        listeners[event].add(listener);
      },
      off: (event, listener) => listeners[event]?.delete(listener),
    };
  }

  class RopeFigure extends HTMLElement {
    connectedCallback() {
      this.draw();
    }

    disconnectedCallback() {
      this.watch?.disconnect();
      dark.removeEventListener("change", this.paint);
      this.leave?.();
      this.leave = undefined;
    }

    /** Draw the figure once its script has loaded. */
    draw() {
      const figure = figures[this.getAttribute("name")];
      if (!figure || this.leave) return;
      const shadow = this.shadowRoot ?? this.attachShadow({ mode: "open" });
      shadow.adoptedStyleSheets = [figure.sheet];
      this.shell = document.createElement("div");
      this.shell.className = "shell";
      this.shell.lang = "en";
      shadow.replaceChildren(this.shell);
      this.model = foreignModel(this.first(figure), () => this.tell());
      this.paint = () => this.wear();
      dark.addEventListener("change", this.paint);
      this.wear();
      this.leave = figure.script.render({ model: this.model, el: this.shell });
      this.watch = new MutationObserver((changes) => this.take(figure, changes));
      this.watch.observe(this, { attributes: true });
    }

    /** The initial state, to which Reset returns: the figure's defaults, overridden by the attributes. */
    first(figure) {
      const state = structuredClone(figure.state);
      for (const control of state._controls) {
        const text = this.value(control.name);
        if (text === null) continue;
        control.initial = figure.controls.allowed(control, figure.controls.parsed(control, text), control.initial);
        state[control.name] = control.initial;
      }
      const only = this.getAttribute("only");
      if (only) state.only = only.split(/[\s,]+/).filter(Boolean);
      return state;
    }

    /** The text of the attribute that sets a trait, or null. */
    value(name) {
      return this.getAttribute(name) ?? this.getAttribute(name.replaceAll("_", "-"));
    }

    /** Apply the values of attributes that have changed. */
    take(figure, changes) {
      for (const { attributeName } of changes) {
        if (OURS.has(attributeName)) this.wear();
        const control = this.model.values._controls.find(({ name }) => name === trait(attributeName));
        const text = control && this.value(control.name);
        if (!control || text === null) continue;
        const now = this.model.get(control.name);
        this.model.set(control.name, figure.controls.allowed(control, figure.controls.parsed(control, text), now));
      }
    }

    /** Set the theme: light, dark, or auto (the theme of the user's system). */
    wear() {
      const theme = this.getAttribute("theme") ?? "light";
      this.shell.dataset.theme = theme === "auto" ? (dark.matches ? "dark" : "light") : theme;
    }

    /** Tell the page which values the user has set. */
    tell() {
      const detail = Object.fromEntries(this.model.values._controls.map(({ name }) => [name, this.model.get(name)]));
      this.dispatchEvent(new CustomEvent("rope-change", { bubbles: true, detail }));
    }
  }

  window.RopeFigures = {
    define(name, script, { state, style, controls }) {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(style);
      figures[name] = { script, state, sheet, controls };
      for (const element of document.querySelectorAll("rope-figure")) element.draw?.();
    },
  };
  customElements.define("rope-figure", RopeFigure);
})();
