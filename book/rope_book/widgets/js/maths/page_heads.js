// Loads the SmolLM2 heads that the page shows; mirrors book/rope_book/results/page_heads.py.
import { PAGE_HEADS } from "../data/page_heads.js";
import { memo } from "../lib/memo.js";
import { unpacked } from "./packed.js";

/** A head's queries and keys for one sentence, before rotation. @typedef {{layer: number, head: number, tokens: string[], q: Matrix, k: Matrix}} PageHead */

/** The queries and keys of the head for a job, for the sentence at the given index. @type {(job: string, sentence: number) => PageHead} */
export const pageHead = memo((job, sentence) => {
  const { layer, head, q, k } = PAGE_HEADS.heads.filter((/** @type {{job: string}} */ each) => each.job === job)[0];
  const tokens = PAGE_HEADS.sentences[sentence];
  const columns = tokens.length * PAGE_HEADS.sentences.length; // all sentences have the same number of tokens
  const rows = (/** @type {{scales: string, codes: string}} */ stored) => {
    const values = unpacked(stored); // one row per feature
    const feature = (/** @type {number} */ at) =>
      Array.from({ length: values.length / columns }, (_, f) => values[f * columns + at]);
    return tokens.map((/** @type {string} */ _, /** @type {number} */ m) => feature(sentence * tokens.length + m));
  };
  return { layer, head, tokens, q: rows(q), k: rows(k) };
}, 24);
