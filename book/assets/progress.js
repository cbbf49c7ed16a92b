// Stores the pages that a reader has read and the chosen path, in this browser only. Without storage (in a private
// window or some folders), they last as long as the page.
(() => {
  "use strict";
  const KEY = "rope-turn-by-turn";
  const MOMENT = 1500; // ms for which the end of a page must be visible before the page counts as read

  // Texts in the page's language; a Chinese page has a data block with translations (book/zh/page.toml).
  /** @type {Record<string, string>} */
  const words = JSON.parse(document.getElementById("page-words")?.textContent ?? "{}");
  const say = (/** @type {string} */ text, value = "") => (words[text] ?? text).replace("{0}", value);

  // A page's key is its folder and name, wherever the book is hosted: "notebooks/04_rotate_one_pair".
  const called = (/** @type {string} */ address) =>
    new URL(address, location.href).pathname
      .split("/")
      .slice(-2)
      .join("/")
      .replace(/\.html$/, "");
  const here = called(location.href);

  const texts = (/** @type {unknown} */ list) =>
    Array.isArray(list) ? list.filter((text) => typeof text === "string") : [];

  /** @returns {{ read: string[], seen: string[], path: string }} */
  function stored() {
    try {
      const { read, seen, path } = JSON.parse(localStorage.getItem(KEY) ?? "{}");
      return { read: texts(read), seen: texts(seen), path: typeof path === "string" ? path : "" };
    } catch {
      return { read: [], seen: [], path: "" };
    }
  }
  let state = stored();

  function keep() {
    try {
      if (state.read.length || state.seen.length || state.path) localStorage.setItem(KEY, JSON.stringify(state));
      else localStorage.removeItem(KEY);
    } catch {
      // without storage, the state lasts as long as the page
    }
    show();
  }

  const sidebar = document.querySelector(".bd-sidebar-primary");
  const links = [...(sidebar?.querySelectorAll("nav.bd-links a.reference") ?? [])].filter(
    (link) => link instanceof HTMLAnchorElement,
  );
  const foot = document.createElement("div");
  foot.className = "progress-foot";
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = say("Forget what I have read");
  const status = document.createElement("p");
  status.setAttribute("role", "status");
  status.tabIndex = -1;
  foot.append(button, status);
  sidebar?.append(foot);
  button.addEventListener("click", () => {
    state = { read: [], seen: [], path: "" };
    keep();
    status.textContent = say("Nothing is marked as read, and no path is chosen.");
    status.focus();
  });

  // A tick for sighted readers, and a word for screen readers.
  function tick(/** @type {Element} */ link, /** @type {boolean} */ done, /** @type {string} */ said) {
    link.classList.toggle("is-read", done);
    link.querySelector(".read-word")?.remove();
    if (!done) return;
    const word = document.createElement("span");
    word.className = "read-word visually-hidden";
    word.textContent = said;
    link.append(word);
  }
  const stills = [...document.querySelectorAll("a[data-figure]")];
  function show() {
    for (const link of links) tick(link, state.read.includes(called(link.href)), say(", read"));
    for (const still of stills)
      tick(still, state.seen.includes(still.getAttribute("data-figure") ?? ""), say(", moved"));
    button.hidden = !state.read.length && !state.seen.length && !state.path;
    if (!button.hidden) status.textContent = "";
    showNext();
  }

  function mark() {
    if (state.read.includes(here) || !links.some((link) => called(link.href) === here)) return;
    state = stored(); // another window may have changed it
    state.read.push(here);
    keep();
  }

  // A figure counts as seen once the reader has moved it.
  function moved(/** @type {Event} */ { target }) {
    const figure = target instanceof Element && target.closest("[data-live]")?.getAttribute("data-live");
    if (!figure || state.seen.includes(figure)) return;
    state = stored();
    state.seen.push(figure);
    keep();
  }
  for (const hand of ["input", "click"]) document.addEventListener(hand, moved);

  // The next page on the chosen path, if the path includes this page.
  const steps = [...document.querySelectorAll(".path-next")].filter((step) => step instanceof HTMLElement);
  function showNext() {
    for (const step of steps) step.hidden = step.dataset.path !== state.path;
  }

  const chosen = new URLSearchParams(location.search).get("path");
  if (chosen && steps.some((step) => step.dataset.path === chosen)) {
    state.path = chosen;
    keep();
  } else show();

  // A page counts as read once its end has been visible for a moment, or the reader goes on to the next page.
  const footer = document.querySelector(".prev-next-footer");
  if (footer) {
    let timer = 0;
    new IntersectionObserver(([end]) => {
      clearTimeout(timer);
      if (end.isIntersecting) timer = setTimeout(mark, MOMENT);
    }).observe(footer);
    const goesOn = (/** @type {Event} */ event) => {
      if (event.target instanceof Element && event.target.closest(".right-next, .path-next a")) mark();
    };
    document.addEventListener("click", goesOn, true);
  }
  addEventListener("storage", ({ key }) => {
    if (key !== KEY && key !== null) return;
    state = stored();
    show();
  });
})();
