// Creates page elements and updates only attributes and text that have changed.

export const SVG = "http://www.w3.org/2000/svg";

// Create an element: html("label", {class: "…"}, child, …). Undefined attributes are omitted.
/** @template {keyof HTMLElementTagNameMap} Tag @param {Tag} tag @param {Attributes} [attributes]
 * @param {(Node | string)[]} children @returns {HTMLElementTagNameMap[Tag]} */
export const html = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);

// Create an SVG element, with the same arguments as html().
/** @template {keyof SVGElementTagNameMap} Tag @param {Tag} tag @param {Attributes} [attributes]
 * @param {(Node | string)[]} children @returns {SVGElementTagNameMap[Tag]} */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** @template {Element} Kind @param {Kind} element @param {Attributes} attributes @param {(Node | string)[]} children
 * @returns {Kind} */
function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

// Create a button, whose label may include elements.
/** @type {(words: string | (Node | string)[], click: () => void, attributes?: Attributes) => HTMLButtonElement} */
export function button(words, click, attributes = {}) {
  const element = html("button", { type: "button", ...attributes }, ...[words].flat());
  element.addEventListener("click", click);
  return element;
}

/** The keys that controls handle themselves, by kind of control. Text boxes also handle every key pressed without a
 * modifier. */
const MOVES = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"];
const PRESSES = [" ", "Enter"];
const EDITS = ["a", "c", "v", "x", "y", "z"]; // editing keys, pressed with Ctrl or Cmd

/** Whether a control handles a key itself. */
function uses(
  /** @type {Element} */ control,
  /** @type {KeyboardEvent} */ { key, ctrlKey, metaKey, altKey, shiftKey },
) {
  const type = control.getAttribute("type") ?? control.localName;
  if (["text", "number", "search", "textarea", "input"].includes(type)) {
    if (ctrlKey || metaKey) return EDITS.includes(key.toLowerCase());
    return !altKey && !(shiftKey && key === "Enter");
  }
  if (ctrlKey || metaKey || altKey || (shiftKey && key === "Enter")) return false;
  if (["range", "radio", "select"].includes(type)) return MOVES.includes(key) || key === " ";
  return PRESSES.includes(key);
}

/** Keep a notebook from handling the keys that a control uses, and only those. JupyterLab listens on the document and
 * checks the control for an attribute, which a listener on the window sets first. The classic Notebook handles no key
 * while a control of an output has the focus, unless its keyboard is turned on again. */
export function keepKeys(/** @type {HTMLElement} */ root) {
  /** @type {(event: KeyboardEvent) => void} */
  function decide(event) {
    const control = event.composedPath()[0];
    if (!root.isConnected)
      removeEventListener("keydown", decide, true); // the control was removed while it had focus
    else if (control instanceof Element && root.contains(control)) {
      const isOurs = uses(control, event);
      const keyboard = window.Jupyter?.keyboard_manager;
      control.toggleAttribute("data-lm-suppress-shortcuts", isOurs);
      if (isOurs) keyboard?.disable();
      else keyboard?.enable();
    }
  }
  root.addEventListener("focusin", () => addEventListener("keydown", decide, true));
  root.addEventListener("focusout", () => removeEventListener("keydown", decide, true));
}

// Write only the attributes that differ, because writing an equal value still triggers a layout.
export function write(/** @type {Element} */ element, /** @type {Attributes} */ attributes) {
  for (const name in attributes) {
    const value = String(attributes[name]);
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  }
}

/** Set a node's text, but only if it differs. @type {(element: Node, text: string) => void} */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Create a function that returns whether the user is still typing in an input, which a repaint must not overwrite.
 */
export function typing(/** @type {HTMLElement} */ input) {
  let busy = false;
  input.addEventListener("input", () => (busy = true));
  for (const done of ["change", "blur"]) input.addEventListener(done, () => (busy = false));
  return () => busy;
}
