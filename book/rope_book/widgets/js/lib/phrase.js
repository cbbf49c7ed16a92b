// The language of the page. A page that is not English brings a table of words before the first figure; sentences and labels are
// found there by their English form. Elsewhere, and in a kernel, they are as they are written.

/** The table {English: words of the page}. @returns {Record<string, string> | undefined} */
const table = () => /** @type {any} */ (globalThis).RopeWords;

/** A text from Python in the language of the page. @type {(text: string) => string} */
export const phraseOf = (text) => table()?.[text] ?? text;

// A sentence or a label in the language of the page: phrase`Head ${n}` is found as "Head {0}". A new line in it is a space.
/** @type {(parts: TemplateStringsArray, ...values: unknown[]) => string} */
export function phrase(parts, ...values) {
  const key = parts.reduce((before, part, n) => `${before}{${n - 1}}${part}`).replace(/\s*\n\s*/g, " ");
  return phraseOf(key).replace(/\{(\d)\}/g, (_, n) => String(values[n]));
}

// Sentences that were joined, without the spaces that Chinese does not have between them.
export const joined = (/** @type {string} */ text) => (table() ? text.replace(/([。，、；：！？）])\s+/g, "$1") : text);
