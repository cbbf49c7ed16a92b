// Measures, truncates and wraps text, and formats lists for sentences.
import { phrase, phraseOf } from "./phrase.js";

const NARROW = "iljtfrI.,'!:;";
const WIDE = "mwMW@…";
const EMOJI = /\p{Extended_Pictographic}/u;
const FULL_WIDTH = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60]/;
const BOLD = 1.13; // width relative to regular text
const PLAIN = /^[\x20-\x7e]*$/;
// Text in which every code point is one grapheme: Latin, Greek, Cyrillic, Chinese, signs, but no emoji.
const SINGLE =
  /^[\x20-\x7e\xa0-\u02ff\u0370-\u0482\u2010-\u2027\u2030-\u205e\u2070-\u20cf\u2100-\u27bf\u3000-\u3029\u4e00-\u9fff\uff01-\uff60]*$/;
/** @type {Intl.Segmenter | undefined} */
let segmenter; // made on first use, which takes as long as drawing a figure

// Split a string into graphemes, so that an emoji of several code points counts as one character.
export function graphemes(/** @type {string} */ text) {
  if (SINGLE.test(text) || !globalThis.Intl?.Segmenter) return Array.from(text);
  segmenter ??= new Intl.Segmenter();
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/**
 * Approximate rendered width of a string, in pixels.
 * @type {(text: string, size?: number, bold?: boolean) => number}
 */
export function textWidth(text, size = 13, bold = false) {
  let ems = 0;
  for (const character of graphemes(text)) ems += widthOf(character);
  return ems * size * (bold ? BOLD : 1);
}

function widthOf(/** @type {string} */ character) {
  if (NARROW.includes(character)) return 0.36;
  if (WIDE.includes(character)) return 1;
  if (PLAIN.test(character)) return 0.6;
  if (EMOJI.test(character)) return 1.3;
  return FULL_WIDTH.test(character) ? 1 : 0.6;
}

// Truncate a string to the given width, at a word boundary if that keeps more than half, and never inside a
// grapheme.
/** @type {(text: string, space: number, size?: number, bold?: boolean) => string} */
export function shortened(text, space, size = 13, bold = false) {
  if (textWidth(text, size, bold) <= space) return text;
  const characters = graphemes(text);
  const scale = size * (bold ? BOLD : 1);
  let kept = 0;
  for (let ems = widthOf("…"); kept < characters.length; kept++) {
    ems += widthOf(characters[kept]);
    if (ems * scale > space) break;
  }
  const cut = characters.slice(0, Math.max(1, kept)).join("");
  const end = text.startsWith(" ", cut.length) ? cut.length : cut.lastIndexOf(" ");
  return `${(end > cut.length / 2 ? cut.slice(0, end) : cut).trimEnd()}…`;
}

/** Join words as in "a, b and c". @type {(words: (string | number)[]) => string} */
export function listed(words) {
  return words.length < 2 ? words.join("") : phrase`${words.slice(0, -1).join(phrase`, `)} and ${words.at(-1)}`;
}

/** A count with its noun: "1 token", "2 tokens". @type {(count: number, noun: string) => string} */
export function counted(count, noun) {
  return phraseOf(`{0} ${noun}${count === 1 ? "" : "s"}`).replace("{0}", String(count));
}

/** Put a word in quotation marks. @type {(word: string) => string} */
export const quoted = (word) => `“${word}”`;

const BREAK = /(?= )|(?=[\u3400-\u9fff])/; // line breaks are allowed before spaces and Chinese characters

// Wrap a string to the given width, breaking at spaces and before Chinese characters.
/** @type {(text: string, space: number, size?: number) => string[]} */
export function wrapped(text, space, size = 13) {
  const lines = /** @type {string[]} */ ([]);
  for (const piece of text.split(BREAK)) {
    const last = lines.length - 1;
    const longer = last < 0 ? piece : lines[last] + piece;
    if (last >= 0 && textWidth(longer, size) <= space) lines[last] = longer;
    else lines.push(shortened(piece.trimStart(), space, size));
  }
  return lines;
}
