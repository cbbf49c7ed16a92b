// Translates text into the page's language. A page in another language loads a translation table before the first
// figure; sentences and labels are looked up there by their English form. Elsewhere, and in a kernel, they are left
// unchanged.

/** The table {English: translation}, if any. @returns {Record<string, string> | undefined} */
const table = () => /** @type {any} */ (globalThis).RopeWords;

/** A text from Python in the page's language. @type {(text: string) => string} */
export const phraseOf = (text) => table()?.[text] ?? text;

// A sentence or a label in the page's language: phrase`Head ${n}` is looked up as "Head {0}". A line break counts as a space.
/** @type {(parts: TemplateStringsArray, ...values: unknown[]) => string} */
export function phrase(parts, ...values) {
  const key = parts.reduce((before, part, n) => `${before}{${n - 1}}${part}`).replace(/\s*\n\s*/g, " ");
  return phraseOf(key).replace(/\{(\d)\}/g, (_, n) => String(values[n]));
}

// Join sentences: with spaces between them in English, without in Chinese.
export const joined = (/** @type {string} */ text) => (table() ? text.replace(/([。，、；：！？）])\s+/g, "$1") : text);
