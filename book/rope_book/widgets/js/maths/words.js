// Generates word vectors and a small head; mirrors book/rope_book/widgets/maths/words.py.
import { WORDS } from "../data/words.js";
import { range } from "../lib/numbers.js";

// A reproducible stream of standard normal numbers (mulberry32 and Box–Muller).
export function normals(/** @type {number} */ seed, /** @type {number} */ count) {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return Array.from({ length: count }, () => {
    const radius = Math.sqrt(-2 * Math.log(1 - uniform()));
    return radius * Math.cos(2 * Math.PI * uniform());
  });
}

/** A vector of normal numbers seeded by a word's letters, ignoring case. @type {(word: string, width?: number) => number[]} */
export function wordVector(word, width = WORDS.width) {
  let seed = 0x811c9dc5;
  for (const letter of word.toLowerCase()) seed = Math.imul(seed ^ Number(letter.codePointAt(0)), 0x01000193);
  return normals(seed, width);
}

/** `count` rows of `width` normal numbers. @type {(seed: number, count: number, width: number) => number[][]} */
const rows = (seed, count, width) => {
  const flat = normals(seed, count * width);
  return range(0, count - 1).map((r) => flat.slice(r * width, (r + 1) * width));
};

/** A square matrix of normal numbers with variance 1/width. @type {(seed: number, width: number) => number[][]} */
export function randomMatrix(seed, width) {
  return rows(seed, width, width).map((row) => row.map((x) => x / Math.sqrt(width)));
}

// The parameters of the head that reads sentences. The tables of T5 (per bucket) and Shaw (per j − i) are invented.
export function readingHead(/** @type {boolean} */ causal) {
  const { width, seeds, clip, slope } = WORDS;
  const far = (/** @type {number} */ bucket) => -Math.log1p(bucket);
  return {
    wQuery: randomMatrix(seeds.query, width),
    wKey: randomMatrix(seeds.key, width),
    shaw: rows(seeds.shaw, 2 * clip + 1, width),
    t5: range(0, 31).map((bucket) => (causal ? far(bucket) : far(bucket % 16) / (bucket < 16 ? 1 : 2))),
    slope,
  };
}
