// Implements SmolLM2's tokenizer, which splits off digits and then applies byte-level BPE with the tokens and
// merges in the user's file.

const WORDS = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

/** The character for each byte as in GPT-2: printable bytes map to themselves, and all others to code points from
 * 256 up. */
const LETTERS = (() => {
  const printable = (/** @type {number} */ byte) =>
    (byte > 32 && byte < 127) || (byte > 160 && byte < 256 && byte !== 173);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++));
})();

/** Split a text into pieces that are tokenized separately. @type {(text: string) => string[]} */
export function pieces(text) {
  return text.split(/(\p{N})/u).flatMap((part) => part.match(WORDS) ?? []);
}

/** Create a function that maps a piece to token ids, using a file's tokens and merges. @type {(tokens: string[], merges: string[]) => (piece: string) => number[]} */
export function makeTokenizer(tokens, merges) {
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const ranks = new Map(merges.map((pair, rank) => [pair, rank]));
  return (piece) => {
    const letters = Array.from(new TextEncoder().encode(piece), (byte) => LETTERS[byte]);
    return merged(letters, ranks).map((part) => ids.get(part) ?? 0);
  };
}

/** Merge neighbouring parts, lowest-ranked pair first. @type {(parts: string[], ranks: Map<string, number>) => string[]} */
function merged(parts, ranks) {
  for (;;) {
    const each = parts.slice(1).map((part, i) => ranks.get(`${parts[i]} ${part}`) ?? Infinity);
    const best = Math.min(...each);
    if (best === Infinity) return parts;
    const at = each.indexOf(best);
    parts = [...parts.slice(0, at), parts[at] + parts[at + 1], ...parts.slice(at + 2)];
  }
}

/** Split a text into the first piece, which is the model's prompt, and the ids of all following tokens. @type {(text: string, tokenize: (piece: string) => number[]) => {first: string, ids: number[]}} */
export function begun(text, tokenize) {
  const [first = "", ...rest] = pieces(text);
  return { first, ids: rest.flatMap(tokenize) };
}
