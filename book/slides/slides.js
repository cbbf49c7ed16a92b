// The slides of a lecture (slides.html), one at a time, controlled by arrow keys, Page Up and Page Down, Space or the buttons
// below; a slide's answer comes before the next slide. Without this script they are one long page.
(() => {
  "use strict";
  const slides = [...document.querySelectorAll("main > section")].filter((slide) => slide instanceof HTMLElement);
  const place = document.getElementById("place");
  const ON = ["ArrowRight", "ArrowDown", "PageDown", " "];
  const BACK = ["ArrowLeft", "ArrowUp", "PageUp"];
  let [now, told] = [0, false];

  const answerOf = (/** @type {number} */ n) => slides[n].querySelector(".answer");

  /** Set the figure of a slide to the state of its answer. */
  function set(/** @type {HTMLElement} */ slide) {
    const figure = slide.querySelector("rope-figure[data-show]");
    const shown = JSON.parse(figure?.getAttribute("data-show") ?? "{}");
    for (const [name, value] of Object.entries(shown)) figure?.setAttribute(name, String(value));
  }

  function draw() {
    for (const [n, slide] of slides.entries()) slide.classList.toggle("now", n === now);
    const answer = answerOf(now);
    answer?.classList.toggle("told", told);
    if (answer && told) set(slides[now]);
    if (place) place.textContent = `${now + 1} of ${slides.length}`;
    history.replaceState(null, "", `#${now + 1}${told ? "a" : ""}`);
  }

  function go(/** @type {number} */ step) {
    const hidden = answerOf(now) && !told;
    if (step > 0 && hidden) told = true;
    else if (slides[now + step]) {
      now += step;
      told = step < 0;
      scrollTo(0, 0);
    }
    draw();
  }

  function read() {
    const match = /^#(\d+)(a?)$/.exec(location.hash);
    now = Math.min(slides.length, Math.max(1, Number(match?.[1] ?? 1))) - 1;
    told = Boolean(match?.[2]);
    draw();
  }

  addEventListener("keydown", (event) => {
    const target = event.composedPath()[0];
    const busy = target instanceof Element && target.closest("input, select, textarea, button, summary, a, [tabindex]");
    const page = event.key.startsWith("Page"); // these control the slides, whatever has the focus
    if (event.ctrlKey || event.metaKey || event.altKey || (busy && !page)) return;
    if (!ON.includes(event.key) && !BACK.includes(event.key)) return;
    event.preventDefault();
    go(ON.includes(event.key) ? 1 : -1);
  });
  document.getElementById("on")?.addEventListener("click", () => go(1));
  document.getElementById("back")?.addEventListener("click", () => go(-1));
  addEventListener("hashchange", read);
  document.documentElement.classList.add("moving");
  read();
})();
