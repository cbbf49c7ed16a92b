// Reuses SVG elements from one drawing to the next.
import { svg } from "./dom.js";

/** @typedef {{group: SVGElement, slots: Slot[], next: number}} Place */
/** @typedef {{tag: string, element: SVGElement, attributes: Attributes, text?: string, inside?: Place}} Slot */

// The elements of an SVG group. Call begin(), put() for each element, then end(). Elements are reused in order, and
// only changed attributes are written, so that a redraw costs no more than the changes.
export class Slots {
  /** @type {Place} */
  #current;
  #whole;

  /** @param {SVGElement} group */
  constructor(group) {
    this.#whole = this.#current = { group, slots: [], next: 0 };
  }

  /** Start a new drawing, even if the last one failed halfway. */
  begin() {
    this.#current = this.#whole;
    this.#current.next = 0;
  }

  /** Remove elements left over from the previous drawing. */
  end() {
    for (const slot of this.#current.slots.splice(this.#current.next)) slot.element.remove();
  }

  // Draw a part with a varying number of elements in a separate group, so that later elements keep their slots.
  part(/** @type {() => void} */ draw) {
    const [around, slot] = [this.#current, this.put("g", {})];
    this.#current = slot.inside ??= { group: slot.element, slots: [], next: 0 };
    this.#current.next = 0;
    draw();
    this.end();
    this.#current = around;
  }

  // Write the next element with the given attributes and text, omitting undefined attributes.
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
