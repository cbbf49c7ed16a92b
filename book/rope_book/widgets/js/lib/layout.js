// Places a figure's controls beside its picture or below it, whichever makes the figure lower.

/** @typedef {{element: HTMLElement, parts: HTMLElement[], measure: () => boolean,
 *   settled: () => boolean}} Place */

const ENOUGH = 560; // a figure of this height fits into a window together with some text
const WIDE = 756; // least width of a figure, inside its border, that has room for both
const SIDE = 200; // width of the controls beside a picture, with the gap, as in the style sheet
const PADDING = 32; // left and right of a figure's parts
const [BELOW, AROUND] = [209, 102]; // height of controls, bar, sentence and margins, and the same without the first two

/** @type {(width: number, height: (picture: number) => number) => boolean} */
function fitsBeside(width, height) {
  if (width < WIDE) return false;
  const room = width - PADDING;
  const below = height(room) + BELOW;
  return below > ENOUGH && height(room - SIDE) + AROUND < below;
}

// Puts the parts of a figure in order: {element, parts, measure(), settled()} are the picture, the parts that keep their greatest
// height, and a function that arranges them for the figure's width and returns whether that has changed, and whether it is
// arranged for the width that it has. Without `height`, which is the picture's at a width, controls stay below.
/** @type {(root: HTMLElement, all: {picture: {element: HTMLElement, measure: () => boolean},
 *   controls: {elements: HTMLElement[], grids: HTMLElement[]}, bar: {element: HTMLElement},
 *   readout: {elements: HTMLElement[], reserve: () => void}}, height?: (picture: number) => number) => Place} */
export function makePlace(root, { picture, controls, bar, readout }, height) {
  const [lead, more] = controls.elements;
  root.append(picture.element, lead, bar.element, more, ...readout.elements);
  let width = 0;
  function measure() {
    const before = width;
    width = root.clientWidth;
    root.classList.toggle("rl-beside", Boolean(height && fitsBeside(width, height)));
    readout.reserve();
    return picture.measure() || width !== before;
  }
  const parts = [readout.elements[0], ...controls.grids, bar.element];
  return { element: picture.element, parts, measure, settled: () => root.clientWidth === width };
}
