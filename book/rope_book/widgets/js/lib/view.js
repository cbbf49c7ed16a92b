// Keeps figures in view in a page's window.

const SETTLED = 10_000; // ms after which stills are replaced, formulas are typeset and the layout is stable
const HANDS = ["wheel", "touchstart", "pointerdown", "keydown"];
const ENOUGH = 0.7; // fraction of the picture that must be visible for it to count as in view
const GAP = 8; // gap between the held picture and the control in use, in pixels

// Scroll a figure to the top of the window, repeating after each layout shift until the user scrolls.
export function keepInView(/** @type {Element} */ root, /** @type {AbortSignal} */ signal) {
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

// Make the drag handles pulse once when the figure first comes into view, unless the figure has already been moved.
/** @type {(root: Element, picture: Element, signal: AbortSignal) => void} */
export function invite(root, picture, signal) {
  const watch = new IntersectionObserver(
    (seen) => {
      if (!seen.some(({ isIntersecting }) => isIntersecting)) return;
      root.classList.add("rl-seen");
      watch.disconnect();
    },
    { threshold: ENOUGH },
  );
  watch.observe(picture);
  signal.addEventListener("abort", () => watch.disconnect());
}

/** The height of the page header at the top of the window. */
const roof = () => Number.parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;

// A function that returns whether enough of an element is visible. An observer reports this, because measuring
// during a draw would force a second layout.
function watched(/** @type {Element} */ element, /** @type {AbortSignal} */ signal) {
  let share = 1;
  const options = { rootMargin: `-${roof()}px 0px 0px`, threshold: ENOUGH };
  const watch = new IntersectionObserver((seen) => (share = seen[seen.length - 1].intersectionRatio), options);
  watch.observe(element);
  signal.addEventListener("abort", () => watch.disconnect());
  return () => share >= ENOUGH;
}

// While the user moves a control whose picture is out of view, a shrunken picture is held over the page on the side
// away from the control. Scrolling or touching anything else releases the picture. Returns {use(element)}, to be
// called when an element outside the figure has changed the figure.
/** @param {Element} root @param {{element: HTMLElement, hold: (room: number) => void}} picture @param {() => void} paint
 * @param {AbortSignal} signal */
export function keepInSight(root, { element, hold: crop }, paint, signal) {
  const inSight = watched(element, signal);
  /** @type {Element | undefined} */
  let used;
  let room = 0;
  function release() {
    if (!used) return;
    [used, room] = [undefined, 0];
    root.classList.remove("rl-held", "rl-held-below");
    element.style.height = "";
    crop(0);
    paint();
  }
  function hold(/** @type {Element} */ control) {
    if (inSight()) return release();
    if (control === used) return; // nothing has scrolled since; to measure it would force a layout
    const { top, bottom } = control.getBoundingClientRect();
    const [above, below] = [top - roof(), innerHeight - bottom];
    const space = Math.max(above, below) - GAP;
    if (!used) element.style.height = `${element.getBoundingClientRect().height}px`;
    used = control;
    element.style.setProperty("--rl-roof", `${roof()}px`);
    element.style.setProperty("--rl-room", `${space}px`);
    root.classList.add("rl-held");
    root.classList.toggle("rl-held-below", below > above);
    if (space === room) return; // same size; any change to the control has already triggered a repaint
    room = space;
    crop(room);
    paint();
  }
  function use(/** @type {Event} */ { type, target }) {
    if (!(target instanceof Element)) return;
    const control = target.closest(".rl-control, .rl-bar");
    if (control && (type !== "focusin" || target.matches(":focus-visible"))) hold(control);
  }
  function leave(/** @type {Event} */ event) {
    const isSecond = event instanceof PointerEvent && !event.isPrimary; // the first finger may be dragging the picture
    if (used && !isSecond && !root.contains(/** @type {Node} */ (event.target))) release();
  }
  const scrolled = () => used && release();

  for (const type of ["input", "click", "focusin"]) root.addEventListener(type, use, { signal });
  root.addEventListener("pointercancel", release, { signal }); // sent when a touch starts to scroll
  for (const type of ["scroll", "resize"]) addEventListener(type, scrolled, { signal, passive: true });
  for (const type of ["pointerdown", "focusin"]) document.addEventListener(type, leave, { signal });
  return { use: hold };
}
