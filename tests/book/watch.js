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
  const own = (node) => [...node.attributes].filter((a) => a.name !== "data-grip").map((a) => `${a.name}=${a.value}`).sort().join(" ");

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

  /** Bring an element to the middle of the window and give its box in the window: [left, top, width, height]. */
  function place(selector) {
    const element = document.querySelector(selector);
    dispatchEvent(new Event("scroll")); // a frame early: a picture held over the page goes back to its place
    element.scrollIntoView({ block: "center", behavior: "instant" });
    const { left, top, width, height } = element.getBoundingClientRect();
    return [left, top, width, height];
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
  const alive = (name) => // and nothing will move any more
    figure(name)?.dataset.ready === "true" && rests(name) &&
    document.readyState === "complete" && document.fonts.status === "loaded";
  return { errors, figure, picture, controls, place, listen, alive, rests };
})();
