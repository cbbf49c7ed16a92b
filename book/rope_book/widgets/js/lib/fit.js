// Fits a figure to its width, and keeps the parts below steady when one grows.

// Redraw the picture when its width changes; the other parts then recompute their heights.
/** @type {(root: HTMLElement, picture: {element: HTMLElement, measure: () => boolean}, parts: HTMLElement[],
 *   paint: () => void) => {stop: () => void}} */
export function makeFit(root, picture, parts, paint) {
  const steady = makeSteady(parts);
  function refit() {
    if (!root.isConnected || !picture.measure()) return;
    steady.release();
    paint();
  }
  const watch = new ResizeObserver(() => requestAnimationFrame(refit)); // changing the picture's height triggers this again
  watch.observe(picture.element);
  function stop() {
    watch.disconnect();
    steady.stop();
  }
  return { stop };
}

/** Keep the parts below from jumping when a sentence needs another line, by keeping every part at the greatest
 * height that it has reached. */
function makeSteady(/** @type {HTMLElement[]} */ parts) {
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (!(target instanceof HTMLElement)) continue;
      const least = Number.parseFloat(target.style.minHeight) || 0;
      const { height } = target.getBoundingClientRect(); // not rounded, so that nothing moves at this point
      if (height > least) target.style.minHeight = `${height}px`;
    }
  });
  for (const part of parts) observer.observe(part);
  const release = () => {
    for (const part of parts) part.style.minHeight = "";
  };
  return { release, stop: () => observer.disconnect() };
}
