// Translates text into the page's language. A page in another language loads a translation table before the first
// figure, with the English sentence or label as the key. On English pages and in notebooks, text is left unchanged.

/** The table {English: translation}, if any. @returns {Record<string, string> | undefined} */
const table = () => /** @type {any} */ (globalThis).RopeWords;

/** Translate a string from Python into the page's language. @type {(text: string) => string} */
export const phraseOf = (text) => table()?.[text] ?? text;

// Translate a sentence or a label into the page's language: phrase`Head ${n}` is looked up as "Head {0}". A line
// break counts as a space.
/** @type {(parts: TemplateStringsArray, ...values: unknown[]) => string} */
export function phrase(parts, ...values) {
  const key = parts.reduce((before, part, n) => `${before}{${n - 1}}${part}`).replace(/\s*\n\s*/g, " ");
  return phraseOf(key).replace(/\{(\d)\}/g, (_, n) => String(values[n]));
}

// Remove the spaces between sentences in Chinese text.
export const joined = (/** @type {string} */ text) => (table() ? text.replace(/([。，、；：！？）])\s+/g, "$1") : text);
