// Fits a figure to the available width, and prevents layout jumps when one of its parts grows.

/** @import { Place } from "./layout.js" */

// Rearrange a figure, redraw the picture and reset the heights of the other parts when the width changes.
/** @type {(root: HTMLElement, place: Place, paint: () => void) => {stop: () => void}} */
export function makeFit(root, { element, parts, measure, settled }, paint) {
  const steady = makeSteady(parts, settled);
  function refit() {
    if (!root.isConnected || !measure()) return;
    steady.release();
    paint();
  }
  const watch = new ResizeObserver(() => requestAnimationFrame(refit)); // a new picture height triggers this again
  watch.observe(element);
  function stop() {
    watch.disconnect();
    steady.stop();
  }
  return { stop };
}

// Never let a part shrink, so that the parts below do not jump when a sentence needs more or fewer lines. Heights
// are ignored until the figure is `settled` at its width.
/** @type {(parts: HTMLElement[], settled: () => boolean) => {release: () => void, stop: () => void}} */
function makeSteady(parts, settled) {
  const observer = new ResizeObserver((entries) => {
    if (!settled()) return;
    for (const { target } of entries) {
      if (!(target instanceof HTMLElement)) continue;
      const least = Number.parseFloat(target.style.minHeight) || 0;
      const { height } = target.getBoundingClientRect(); // unrounded, so that setting the minimum moves nothing
      if (height > least) target.style.minHeight = `${height}px`;
    }
  });
  for (const part of parts) observer.observe(part);
  const release = () => {
    for (const part of parts) part.style.minHeight = "";
  };
  return { release, stop: () => observer.disconnect() };
}
