// Served by the tests before a page's own scripts: what went wrong, and what a test asks of a figure in every engine.
window.book = (() => {
  const errors = [];
  addEventListener("error", ({ message, target }) => {
    if (message) errors.push(message);
    else if (target.matches("script, img, link[rel~=stylesheet]")) errors.push(`${target.outerHTML} did not load`);
  }, true);
  addEventListener("unhandledrejection", (event) => errors.push(String(event.reason)));
  addEventListener("securitypolicyviolation", (event) => errors.push(`${event.violatedDirective}: ${event.blockedURI}`));
  const { error } = console;
  console.error = (...words) => {
    errors.push(words.join(" "));
    error.apply(console, words);
  };

  const figure = (name) => document.querySelector(`[data-live="${name}"]`);
  const own = (node) => [...node.attributes].map((a) => `${a.name}=${a.value}`).sort().join(" ");
  const rects = (element) => element.getClientRects().length;
  /** Resolved once the page was drawn. */
  const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));

  /** What is drawn and said; the order of an element's attributes does not count. */
  function picture(name) {
    const drawn = [...figure(name).querySelectorAll("svg *")].map(
      (node) => `<${node.tagName} ${own(node)}>${node.children.length ? "" : node.textContent}`);
    const said = [".rl-readout", ".rl-python code"].map((part) => figure(name).querySelector(part).textContent);
    return [...drawn, ...said].join("\n");
  }

  /** The figure's native controls, folded ones too: [trait, kind of its element, its value]. */
  function controls(name) {
    for (const fold of figure(name).querySelectorAll(".rl-more")) fold.open = true;
    return [...figure(name).querySelectorAll("[data-trait]")].map((box) => {
      const target = box.querySelector("input, select, textarea");
      return [box.dataset.trait, target.type, target.value];
    });
  }

  let seen = "";
  /** Remember what is drawn and said. */
  function look(name) {
    seen = picture(name);
  }
  /** What a figure does after a move, in two frames at most: [whether it answers, its line of Python before it and now]. */
  async function answer(name) {
    const before = seen;
    for (let frames = 0; frames <= 2; frames += 1) { // the browser may not have come to it yet
      look(name);
      if (seen !== before) break;
      await drawn();
    }
    return [seen !== before, ...[before, seen].map((all) => all.slice(all.lastIndexOf("\n") + 1))];
  }

  const BACK = { range: "ArrowLeft", "select-one": "ArrowUp" };
  const KEYS = { range: "ArrowRight", radio: "ArrowRight", checkbox: "Space", "select-one": "ArrowDown", number: "ArrowUp" };
  const atEnd = (el) => (el.type === "range" ? el.value === el.max : el.selectedIndex === el.options?.length - 1);
  /** Give a control the focus: the key that moves it, "text" where one writes, nothing if it is not shown. */
  function focus(name, trait) {
    const box = figure(name).querySelector(`[data-trait="${trait}"]`);
    if (!rects(box)) return null; // it has no effect in this state
    const el = box.querySelector("input, select, textarea");
    el.focus();
    if (!KEYS[el.type]) el.select();
    return (atEnd(el) ? BACK : KEYS)[el.type] ?? "text";
  }
  /** Which control has the focus: that one, in two frames at most. */
  async function focused(trait) {
    const now = () => document.activeElement?.closest("[data-trait]")?.dataset.trait;
    for (let frames = 0; frames < 2 && now() !== trait; frames += 1) await drawn();
    return now();
  }

  /** Bring an element to the middle of the window and give its box there, once it stands still: [left, top, width, height]. */
  async function place(element) {
    for (let before; element && rects(element);) {
      dispatchEvent(new Event("scroll")); // a frame early: a picture held over the page goes back to its place
      element.scrollIntoView({ block: "center", behavior: "instant" });
      const { left, top, width, height } = element.getBoundingClientRect();
      const now = [left, top, width, height];
      if (String(now) === before) return now;
      before = String(now);
      await drawn();
    }
    return null; // it is not shown
  }
  const part = (name, trait, selector) => figure(name).querySelector(`[data-trait="${trait}"] :is(${selector})`);
  const handle = (name, number) => figure(name).querySelectorAll(".rl-handle")[number];

  /** Press what is below the controls: Play until the page was drawn, Reset at the end. */
  async function press(name) {
    for (const button of figure(name).querySelectorAll(".rl-bar button:not(.rl-reset)")) button.click();
    await drawn();
    figure(name).querySelector(".rl-play")?.click();
    figure(name).querySelector(".rl-reset").click();
  }

  /** Count how often live regions change from now on; the result has the count so far. */
  function listen() {
    const heard = { count: 0 };
    const regions = 'output, [role="status"], [role="alert"], [role="log"], [aria-live="polite"], [aria-live="assertive"]';
    const watcher = new MutationObserver((records) => {
      heard.count += new Set(records.map(({ target }) => (target.closest ?? target.parentElement.closest).call(
        target.closest ? target : target.parentElement, regions))).size;
    });
    for (const region of document.querySelectorAll(regions)) {
      watcher.observe(region, { childList: true, characterData: true, subtree: true });
    }
    return heard;
  }

  const rests = (name) => figure(name).getAttribute("aria-busy") !== "true";
  /** Whether a figure is there, wherever it is in the page, and nothing will move any more. */
  const alive = (name) => {
    window.RopeLive?.all?.();
    return figure(name)?.dataset.ready === "true" && rests(name) &&
    document.readyState === "complete" && document.fonts.status === "loaded";
  };
  return {
    errors, figure, picture, look, answer, controls, focus, focused, place, part, handle, press, listen, drawn, alive, rests,
  };
})();
