// Places a figure's controls beside its picture or below it, whichever makes the figure shorter. Below it, the sentence
// comes first, because it asks or judges. In a narrow figure it follows the first control, so that it stays near
// the picture.

/** @typedef {{element: HTMLElement, parts: HTMLElement[], measure: () => boolean,
 *   settled: () => boolean}} Place */

const ENOUGH = 560; // a figure up to this height fits in a window together with some text
const WIDE = 756; // minimum inner width of a figure at which the controls fit beside the picture
const SIDE = 200; // width of the controls beside a picture, including the gap, as in the style sheet
const NARROW = 520; // maximum width of a figure whose controls form one column
const PADDING = 32; // total padding to the left and right of the parts
const [BELOW, AROUND] = [209, 102]; // height of controls, bar, sentence and margins; height of sentence and margins
const ANSWERS = 152; // height of four rows of answers under a heading

/** @type {(width: number, height: (picture: number) => number, enough: number) => boolean} */
function fitsBeside(width, height, enough) {
  if (width < WIDE) return false;
  const room = width - PADDING;
  const below = height(room) + BELOW;
  return below > enough && height(room - SIDE) + AROUND < below;
}

// Arranges the parts of a figure: {element, parts, measure(), settled()}. `element` is the picture, and `parts` are
// the parts that never shrink. measure arranges everything for the figure's width and returns whether the width has
// changed; settled returns whether the arrangement fits the current width. `height` maps a width to the picture's
// height; without it, the controls stay below the picture. Answers come last, and the sentence is then right below
// the picture.
/** @type {(root: HTMLElement, all: {picture: {element: HTMLElement, measure: () => boolean},
 *   controls: {elements: HTMLElement[], grids: HTMLElement[]}, bar: {element: HTMLElement, folded: HTMLElement},
 *   readout: {elements: HTMLElement[], reserve: () => void}}, height?: (picture: number) => number) => Place} */
export function makePlace(root, { picture, controls, bar, readout }, height) {
  const [lead, more, answers] = controls.elements;
  more.append(bar.folded);
  if (answers) root.append(picture.element, ...readout.elements, lead, bar.element, more, answers);
  else root.append(picture.element, lead, bar.element, more, ...readout.elements);
  const enough = ENOUGH - (answers ? ANSWERS : 0);
  let width = 0;
  function measure() {
    const before = width;
    width = root.clientWidth;
    const isBeside = Boolean(height && fitsBeside(width, height, enough));
    const isSmall = root.classList.contains("rl-small");
    root.classList.toggle("rl-beside", isBeside);
    root.classList.toggle("rl-below", !isBeside && !isSmall);
    root.classList.toggle("rl-narrow", width <= NARROW && !isSmall);
    readout.reserve();
    return picture.measure() || width !== before;
  }
  const parts = [readout.elements[0], ...controls.grids, bar.element];
  return { element: picture.element, parts, measure, settled: () => root.clientWidth === width };
}
