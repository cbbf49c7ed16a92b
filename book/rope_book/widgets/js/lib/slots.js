// Elements of a picture, reused from one drawing to the next.
import { svg } from "./dom.js";

/** @typedef {{group: SVGElement, slots: Slot[], next: number}} Place */
/** @typedef {{tag: string, element: SVGElement, attributes: Attributes, text?: string, inside?: Place}} Slot */

// The elements of an SVG group. Call begin(), put() what is drawn, end(): elements are reused in order, attributes are
// written only when they change, so a redraw costs the number of elements that change.
export class Slots {
  /** @type {Place} */
  #here;
  #whole;

  /** @param {SVGElement} group */
  constructor(group) {
    this.#whole = this.#here = { group, slots: [], next: 0 };
  }

  /** Start anew, also after a drawing that failed half-way. */
  begin() {
    this.#here = this.#whole;
    this.#here.next = 0;
  }

  /** Take away what the last redraw had here and this one has not. */
  end() {
    for (const slot of this.#here.slots.splice(this.#here.next)) slot.element.remove();
  }

  // A part whose number of elements varies: in a group of its own it moves no element that follows.
  part(/** @type {() => void} */ draw) {
    const [around, slot] = [this.#here, this.put("g", {})];
    this.#here = slot.inside ??= { group: slot.element, slots: [], next: 0 };
    this.#here.next = 0;
    draw();
    this.end();
    this.#here = around;
  }

  // The next element, with these attributes and words; an attribute that is undefined is left out.
  /** @type {(tag: keyof SVGElementTagNameMap, attributes: Attributes, text?: string) => Slot} */
  put(tag, attributes, text) {
    const slot = this.#next(tag);
    for (const name in slot.attributes) {
      if (attributes[name] !== undefined) continue;
      slot.element.removeAttribute(name);
      delete slot.attributes[name];
    }
    for (const name in attributes) {
      const value = attributes[name];
      if (value === undefined || slot.attributes[name] === value) continue;
      slot.element.setAttribute(name, String(value));
      slot.attributes[name] = value;
    }
    if (text !== undefined && slot.text !== text) slot.element.textContent = slot.text = text;
    return slot;
  }

  /** @param {keyof SVGElementTagNameMap} tag */
  #next(tag) {
    const here = this.#here;
    let slot = here.slots[here.next];
    if (!slot || slot.tag !== tag) {
      const element = svg(tag);
      if (slot) slot.element.replaceWith(element);
      else here.group.append(element);
      slot = here.slots[here.next] = { tag, element, attributes: {}, text: undefined };
    }
    here.next += 1;
    return slot;
  }
}
