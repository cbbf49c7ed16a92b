// Repair the theme for screen readers and keyboards, on every page.
(() => {
  "use strict";

  // Texts in the page's language; a Chinese page has a data block with translations (book/zh/page.toml).
  const said = JSON.parse(document.getElementById("page-words")?.textContent ?? "{}");
  const say = (text, value = "") => (said[text] ?? text).replace("{0}", value);
  if (typeof Documentation !== "undefined") Object.assign(Documentation.TRANSLATIONS, said); // texts of Sphinx's scripts

  // Make the sidebar, including the logo, a named landmark.
  const sidebar = document.querySelector(".bd-sidebar-primary");
  sidebar?.setAttribute("role", "region");
  sidebar?.setAttribute("aria-label", say("Book"));

  // docutils gives list entries a deprecated role.
  for (const entry of document.querySelectorAll('[role="list"] > [role="doc-biblioentry"]')) {
    entry.setAttribute("role", "listitem");
  }

  // Use the button's text as its name.
  document.querySelector(".search-button-field")?.removeAttribute("aria-label");

  // The theme prints with an inline handler, which the page's security policy forbids.
  for (const button of document.querySelectorAll(".btn-download-pdf-button")) {
    button.addEventListener("click", () => print());
  }

  // Print in light colours, whatever the theme.
  const root = document.documentElement;
  let theme;
  addEventListener("beforeprint", () => {
    theme = root.dataset.theme;
    root.dataset.theme = "light";
  });
  addEventListener("afterprint", () => (root.dataset.theme = theme));

  // In print, the answers come at the end, each below the heading of its question.
  const ANSWERS = /^(?:(?:What you should have seen|Answers?|Solutions?)\b|你应该看到|答案|解答)/;
  const answers = document.createElement("section");
  answers.className = "printed-answers";
  function gather() {
    answers.replaceChildren();
    for (const fold of document.querySelectorAll("article details")) {
      const heading = document.createElement("h3");
      const words = fold.closest("section")?.querySelector(":is(h2, h3, h4)")?.firstChild?.textContent ?? "";
      const said = fold.querySelector("summary")?.textContent.trim() ?? "";
      if (!ANSWERS.test(said) && !fold.closest(".tag_solution")) continue;
      heading.textContent = words.includes(said) ? said : `${words}: ${said}`;
      const copy = fold.cloneNode(true);
      copy.querySelector("summary")?.remove();
      for (const named of copy.querySelectorAll("[id]")) named.removeAttribute("id");
      answers.append(heading, ...copy.childNodes);
      fold.classList.add("answered");
    }
    if (!answers.childElementCount) return;
    const title = document.createElement("h2");
    title.textContent = say("Answers");
    answers.prepend(title);
    document.querySelector("article.bd-article")?.append(answers);
  }
  addEventListener("beforeprint", gather);
  addEventListener("afterprint", () => {
    answers.remove();
    for (const fold of document.querySelectorAll(".answered")) fold.classList.remove("answered");
  });

  // Show one of several variant cells at a time, each named by its first comment.
  const variants = [...document.querySelectorAll(".cell.tag_variant")];
  if (variants.length > 1) {
    const box = document.createElement("fieldset");
    box.className = "variants";
    const legend = document.createElement("legend");
    legend.textContent = say("Layout");
    box.append(legend);
    const show = (chosen) => {
      for (const cell of variants) cell.hidden = cell !== chosen;
    };
    for (const cell of variants) {
      const label = document.createElement("label");
      const input = Object.assign(document.createElement("input"), { type: "radio", name: "variant" });
      input.checked = cell === variants[0];
      input.addEventListener("change", () => show(cell));
      label.append(input, ` ${cell.querySelector(".highlight .c1")?.textContent.replace(/^#\s*/, "") ?? ""}`);
      box.append(label);
    }
    variants[0].before(box);
    show(variants[0]);
  }

  // Show the reading progress as a thin bar at the top of the window.
  const bar = document.createElement("div");
  bar.className = "reading-bar";
  bar.setAttribute("aria-hidden", "true");
  document.body.append(bar);
  function measure() {
    const way = root.scrollHeight - innerHeight;
    bar.style.transform = `scaleX(${way > 0 ? Math.min(1, scrollY / way) : 0})`;
  }
  addEventListener("scroll", measure, { passive: true });
  addEventListener("load", measure);
  addEventListener("resize", measure);

  const WIDE = {
    "div.math": "Formula",
    ".highlight pre": "Code or what it prints",
    ".rope-table": "Table",
    ".pst-scrollable-table-container": "Table",
  };

  /** Whether an inline formula is wider than its paragraph. */
  function isWide(formula) {
    const room = formula.closest("p, li, td, dd, h1, h2, h3, div").clientWidth;
    return formula.firstElementChild?.getBoundingClientRect().width > room;
  }

  // Elements wider than their column scroll, so make them reachable by keyboard and name them. All sizes are read
  // before anything is written, so that the page is laid out only once.
  function reach(within = document) {
    const formulas = [...within.querySelectorAll("span.math")].map((box) => ({
      box,
      wide: isWide(box),
      name: "Formula",
    }));
    const blocks = Object.entries(WIDE).flatMap(([boxes, name]) =>
      [...within.querySelectorAll(boxes)].map((box) => ({ box, wide: box.scrollWidth > box.clientWidth, name })),
    );
    for (const { box, wide } of formulas)
      if (box.classList.contains("wide") !== wide) box.classList.toggle("wide", wide);
    for (const { box, wide, name } of [...formulas, ...blocks]) {
      if (wide === box.hasAttribute("tabindex")) continue;
      const words = box.querySelector("caption")?.textContent ?? say(name);
      const wanted = { tabindex: "0", role: "group", "aria-label": say("{0}, scrolls sideways", words) };
      for (const [key, value] of Object.entries(wanted)) {
        if (wide) box.setAttribute(key, value);
        else box.removeAttribute(key);
      }
    }
  }
  addEventListener("load", () => reach());
  addEventListener("resize", () => reach());
  const opened = ({ target }) => target instanceof HTMLDetailsElement && target.open && reach(target);
  document.addEventListener("toggle", opened, true);

  // A link to a detour, or to a target inside a fold, opens it.
  function unfold() {
    const target = document.getElementById(location.hash.slice(1));
    if (!target) return;
    const around = target.querySelector(":scope > details.detour");
    let opened = false;
    for (let fold = around ?? target.closest("details"); fold; fold = fold.parentElement.closest("details")) {
      opened ||= !fold.open;
      fold.open = true;
    }
    if (opened) target.scrollIntoView();
  }
  addEventListener("DOMContentLoaded", unfold);
  addEventListener("hashchange", unfold);

  // The language switch keeps the reader's place, because the sections of both pages have the same anchors.
  for (const link of document.querySelectorAll("a.language-switch")) {
    link.addEventListener("click", () => (link.hash = location.hash));
  }

  // Announce to screen readers that code was copied, since the button's own text is not announced.
  const status = document.createElement("p");
  status.className = "visually-hidden";
  status.setAttribute("role", "status");
  document.body.append(status);
  const copied = (event) => {
    if (!event.target.closest?.("button.copybtn")) return;
    status.textContent = "";
    setTimeout(() => (status.textContent = say("Copied")), 100);
  };
  document.addEventListener("click", copied, true); // before the button changes its icon
})();
