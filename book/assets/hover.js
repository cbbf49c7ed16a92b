// Cards beside links that preview a term, a section or a paper. The text of a page's cards is in a separate file
// (book/extensions/hover.py), which is loaded when a reader first points at a link or focuses it.
(() => {
  "use strict";
  const [COMES, GOES] = [350, 250]; // ms: a passing pointer shows no card, and a pointer on its way to the card keeps it
  const GAP = 6; // px between a link and its card
  const main = document.querySelector("main");
  const article = document.querySelector("article.bd-article");
  const script = document.currentScript;
  if (!(main instanceof HTMLElement) || !article || !(script instanceof HTMLScriptElement)) return;

  /** @type {Record<string, [string, string, string]> | undefined} */
  let cards;
  /** @type {HTMLScriptElement | undefined} */
  let asked;
  /** @type {HTMLAnchorElement | undefined} */
  let shown;
  /** @type {HTMLAnchorElement | undefined} */
  let aimed; // the link that the reader points at
  /** @type {number | undefined} */
  let timer;
  let spot = ""; // where the pointer is on the screen

  const card = document.createElement("div");
  card.className = "hover-card";
  card.id = "hover-card";
  card.setAttribute("role", "tooltip");
  card.hidden = true;
  const parts = ["small", "strong", "span"].map((tag) => document.createElement(tag));
  card.append(...parts);
  main.append(card);

  /** @type {any} */ (window).ropeCards = (/** @type {typeof cards} */ given) => (cards = given);

  /** Load the text of this page's cards once, then call `then`. */
  function load(/** @type {() => void} */ then) {
    if (cards) return then();
    if (!asked) {
      const root = new URL(document.documentElement.dataset.content_root ?? "../", location.href).pathname;
      const page = location.pathname.slice(root.length).replace(/\.html$/, ".js");
      asked = document.createElement("script");
      asked.src = new URL(`hover/${page}`, /** @type {HTMLScriptElement} */ (script).src).href;
      document.head.append(asked);
    }
    asked.addEventListener("load", then, { once: true });
  }

  /** Place the card below its link, or above it if there is no room below. */
  function place(/** @type {HTMLAnchorElement} */ link) {
    const around = /** @type {HTMLElement} */ (card.offsetParent ?? document.documentElement).getBoundingClientRect();
    const lines = [...link.getClientRects()];
    const [first, last] = [lines[0], lines[lines.length - 1]];
    const { width, height } = card.getBoundingClientRect();
    const below = last.bottom + GAP + height <= innerHeight || first.top < GAP + height;
    const left = Math.max(8, Math.min(last.left, document.documentElement.clientWidth - width - 8));
    card.style.left = `${left - around.left}px`;
    card.style.top = `${(below ? last.bottom + GAP : first.top - GAP - height) - around.top}px`;
  }

  function show(/** @type {HTMLAnchorElement} */ link) {
    const words = cards?.[link.getAttribute("href") ?? ""];
    if (!words || !link.isConnected) return;
    hide();
    for (const [n, part] of parts.entries()) part.textContent = words[n];
    card.hidden = false;
    shown = link;
    link.setAttribute("aria-describedby", card.id);
    place(link);
  }

  function hide() {
    clearTimeout(timer);
    shown?.removeAttribute("aria-describedby");
    shown = undefined;
    card.hidden = true;
  }

  /** The link in the text on which an event occurred, unless the link sets a figure. */
  function linkOf(/** @type {Event} */ { target }) {
    const link = target instanceof Element && target.closest("a[href]");
    const ours = link instanceof HTMLAnchorElement && article?.contains(link) && !link.matches(".headerlink, .rl-chip");
    return ours ? link : undefined;
  }

  function aim(/** @type {HTMLAnchorElement | undefined} */ link) {
    aimed = link;
    clearTimeout(timer);
    if (link && link !== shown)
      timer = window.setTimeout(() => load(() => link.matches(":hover") && show(link)), COMES);
    else if (!link && !shown?.matches(":focus-visible")) timer = window.setTimeout(hide, GOES);
  }

  // Only a moving pointer selects a link, because scrolling also brings links under a pointer at rest.
  main.addEventListener("pointermove", (event) => {
    const before = spot;
    spot = `${event.screenX} ${event.screenY}`;
    const link = linkOf(event);
    if (link && link !== aimed && spot !== before && event.pointerType !== "touch") aim(link);
  });
  main.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    if (event.target instanceof Node && card.contains(event.target)) clearTimeout(timer);
    else if (!aimed || linkOf(event) !== aimed) aim(undefined);
  });
  main.addEventListener("pointerleave", () => aim(undefined));
  main.addEventListener("focusin", (event) => {
    const link = linkOf(event);
    if (link?.matches(":focus-visible")) load(() => link === document.activeElement && show(link));
  });
  main.addEventListener("focusout", () => !shown?.matches(":hover") && hide());
  addEventListener("keydown", ({ key }) => key === "Escape" && hide());
  addEventListener("pointerdown", ({ target }) => target instanceof Node && !card.contains(target) && hide());
  addEventListener("beforeprint", hide);
})();
