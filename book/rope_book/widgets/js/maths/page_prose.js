// Stores the prose for the "text" task. The worker receives the prose in a message, so that its script needs no copy.

/** The text, the ordered alphabet, the text as numbers, and the character frequencies in the training split. @type {{text: string, alphabet: string, numbers: Int32Array, shares: Vector}} */
const held = { text: "", alphabet: "", numbers: new Int32Array(0), shares: [] };
const PARTS = { train: [0, 8], test: [9, 10] }; // in tenths; the ninth tenth is for validation and not used here

/** Store the text for the task. @type {(text: string) => void} */
export function holdProse(text) {
  if (text === held.text) return;
  const alphabet = [...new Set(text)].sort().join("");
  const number = Object.fromEntries([...alphabet].map((character, n) => [character, n]));
  const numbers = Int32Array.from(text, (character) => number[character]);
  Object.assign(held, { text, alphabet, numbers });
  const seen = partOf("train");
  const counts = new Float64Array(alphabet.length);
  for (const n of seen) counts[n] += 1;
  held.shares = Array.from(counts, (count) => count / seen.length);
}

/** The stored prose and what was derived from it. */
export const prose = () => held;

/** The characters in a split. @type {(split: string) => Int32Array} */
export function partOf(split) {
  const { numbers } = held;
  const [low, high] = PARTS[/** @type {keyof typeof PARTS} */ (split)];
  return numbers.subarray(Math.floor((numbers.length * low) / 10), Math.floor((numbers.length * high) / 10));
}
