// Elements of the page: made, and written to only where something differs.

export const SVG = "http://www.w3.org/2000/svg";

// Create an element: html("label", {class: "…"}, child, …); an attribute that is undefined is left out.
/** @template {keyof HTMLElementTagNameMap} Tag @param {Tag} tag @param {Attributes} [attributes]
 * @param {(Node | string)[]} children @returns {HTMLElementTagNameMap[Tag]} */
export function html(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

// The same for an element of a picture.
/** @template {keyof SVGElementTagNameMap} Tag @param {Tag} tag @param {Attributes} [attributes]
 * @param {(Node | string)[]} children @returns {SVGElementTagNameMap[Tag]} */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** @template {Element} Some @param {Some} element @param {Attributes} attributes @param {(Node | string)[]} children
 * @returns {Some} */
function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

// Write what differs only: the same value written again is laid out again.
/** @type {(element: Element, attributes: Attributes) => void} */
export function write(element, attributes) {
  for (const name in attributes) {
    const value = String(attributes[name]);
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  }
}

/** A function that says whether a box holds half-typed text, which no repaint may overwrite. */
export function typing(/** @type {HTMLInputElement} */ input) {
  let busy = false;
  input.addEventListener("input", () => (busy = true));
  for (const done of ["change", "blur"]) input.addEventListener(done, () => (busy = false));
  return () => busy;
}

/** The same for words. @type {(element: Node, text: string) => void} */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
