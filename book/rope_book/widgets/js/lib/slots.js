// Reuses SVG elements from one drawing to the next.
import { svg } from "./dom.js";

/** @typedef {{group: SVGElement, slots: Slot[], next: number}} Place */
/** @typedef {{tag: string, element: SVGElement, attributes: Attributes, text?: string, inside?: Place}} Slot */

// An SVG group's elements. Call begin(), put() every element, end(): elements are reused in order, and attributes
// are written only when they change, so the cost of a redraw depends only on what has changed.
export class Slots {
  /** @type {Place} */
  #current;
  #whole;

  /** @param {SVGElement} group */
  constructor(group) {
    this.#whole = this.#current = { group, slots: [], next: 0 };
  }

  /** Start over, even after a drawing that failed halfway. */
  begin() {
    this.#current = this.#whole;
    this.#current.next = 0;
  }

  /** Remove the elements that the last drawing used but this one did not. */
  end() {
    for (const slot of this.#current.slots.splice(this.#current.next)) slot.element.remove();
  }

  // A part with a varying number of elements, in a separate group so that it does not shift the elements after it.
  part(/** @type {() => void} */ draw) {
    const [around, slot] = [this.#current, this.put("g", {})];
    this.#current = slot.inside ??= { group: slot.element, slots: [], next: 0 };
    this.#current.next = 0;
    draw();
    this.end();
    this.#current = around;
  }

  // Write the next element, with these attributes and text; undefined attributes are left out.
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
    const place = this.#current;
    let slot = place.slots[place.next];
    if (!slot || slot.tag !== tag) {
      const element = svg(tag);
      if (slot) slot.element.replaceWith(element);
      else place.group.append(element);
      slot = place.slots[place.next] = { tag, element, attributes: {}, text: undefined };
    }
    place.next += 1;
    return slot;
  }
}
