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
    "span.math": "Formula",
    "div.math": "Formula",
    ".highlight pre": "Code or what it prints",
    ".rope-table": "Table",
    ".pst-scrollable-table-container": "Table",
  };

  const AROUND = "p, li, td, dd, h1, h2, h3, div"; // of an inline formula

  // Elements wider than their column scroll, so make them reachable by keyboard and name them. An observer reports each
  // one once it is laid out, when its size is known: reading the size of what is folded away would lay it out.
  const boxes = new Map(); // sets of {box, name}, keyed by the element whose size counts
  function reach(entries) {
    const seen = entries.flatMap(({ target }) => [...boxes.get(target)].map((each) => ({ ...each, target })));
    const measured = seen.map((each) => ({ ...each, wide: isWide(each) })); // read all, then write
    for (const { box, name, wide } of measured) {
      if (box.matches("span.math")) box.classList.toggle("wide", wide);
      if (wide === box.hasAttribute("tabindex")) continue;
      const words = box.querySelector("caption")?.textContent ?? say(name);
      const wanted = { tabindex: "0", role: "group", "aria-label": say("{0}, scrolls sideways", words) };
      for (const [key, value] of Object.entries(wanted)) {
        if (wide) box.setAttribute(key, value);
        else box.removeAttribute(key);
      }
    }
  }
  function isWide({ box, target }) {
    if (box === target) return box.scrollWidth > box.clientWidth;
    return box.firstElementChild?.getBoundingClientRect().width > target.clientWidth;
  }
  addEventListener("load", () => {
    const watch = new ResizeObserver(reach);
    for (const [kind, name] of Object.entries(WIDE)) {
      for (const box of document.querySelectorAll(kind)) {
        const target = box.matches("span.math") ? box.closest(AROUND) : box;
        boxes.set(target, (boxes.get(target) ?? new Set()).add({ box, name }));
      }
    }
    for (const target of boxes.keys()) watch.observe(target);
  });

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
