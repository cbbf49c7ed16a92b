// Words of a question: *a* in italics, `a` as code.
import { html } from "./dom.js";

/**
 * The nodes of a text.
 * @param {string} text
 * @returns {(Node | string)[]}
 */
export const rich = (text) =>
  text.split(/(\*[^*]+\*|`[^`]+`)/).map((part, place) => {
    if (place % 2 === 0) return part;
    return html(part[0] === "*" ? "em" : "code", {}, part.slice(1, -1));
  });

/**
 * The same words for an ear, or a file without italics.
 * @param {string} text
 */
export const bare = (text) => text.replace(/[*`]/g, "");
