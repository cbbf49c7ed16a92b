// Moves of a hand and of code in any host that shows figures: for pages that are not ours.
(() => {
  const roots = () => [...document.querySelectorAll('[data-live][data-ready="true"]')];
  const line = (root) => root.querySelector(".rl-python code").textContent.replace(/^figure\.set/, root.dataset.live);
  const slider = (root) => root.querySelector("[data-trait]:not(.rl-idle) input[type=range]");
  window.hosts = {
    /** Figures by name that are alive. */
    alive: () => roots().map((root) => root.dataset.live).sort(),
    /** The state of each figure as a line of Python. */
    lines: () => Object.fromEntries(roots().map((root) => [root.dataset.live, line(root)])),
    /** What each figure draws and says. */
    pictures: () =>
      Object.fromEntries(
        roots().map((root) => [root.dataset.live, root.querySelector("svg").innerHTML + root.querySelector(".rl-readout").textContent]),
      ),
    /** A hand moves the first slider of each figure to the other end: {figure: trait}. */
    hand: () =>
      Object.fromEntries(
        roots().map((root) => {
          const input = slider(root);
          input.value = Number(input.value) === Number(input.max) ? input.min : input.max;
          input.dispatchEvent(new Event("input", { bubbles: true }));
          return [root.dataset.live, input.closest("[data-trait]").dataset.trait];
        }),
      ),
  };
})();
