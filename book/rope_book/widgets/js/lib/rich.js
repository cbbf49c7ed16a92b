// Renders the markup in questions: *a* in italics, `a` as code.
import { html } from "./dom.js";

const CHINESE = /[\u3400-\u9fff]/; // Chinese characters get emphasis dots instead of italics

/** The DOM nodes for a string with markup. @type {(text: string) => (Node | string)[]} */
export const rich = (text) =>
  text.split(/(\*[^*]+\*|`.+?`)/).map((part, place) => {
    if (place % 2 === 0) return part;
    const words = part.slice(1, -1);
    return part[0] === "*" ? html("em", CHINESE.test(words) ? {} : { class: "latin" }, words) : html("code", {}, words);
  });

/** Strip the markup, for screen readers and plain files. @type {(text: string) => string} */
export const bare = (text) => text.replace(/[*\u0060]/g, "");
