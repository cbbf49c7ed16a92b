// Where a figure stands in the window.

const SETTLED = 10_000; // ms after which a page is laid out: stills are replaced, formulas set
const HANDS = ["wheel", "touchstart", "pointerdown", "keydown"];

/** Bring a figure's picture to the top of the window, and again whenever the page moves, until a hand takes over. */
export function keepInView(root, signal) {
  const stops = new AbortController();
  const show = () => root.scrollIntoView({ block: "start", behavior: "instant" });
  const watch = new ResizeObserver(show);
  const stop = () => {
    watch.disconnect();
    stops.abort();
  };
  show();
  watch.observe(document.body);
  for (const hand of HANDS) addEventListener(hand, stop, { signal: stops.signal, passive: true });
  setTimeout(stop, SETTLED);
  signal.addEventListener("abort", stop, { signal: stops.signal });
}
