// Loads the trained models that run in the page; mirrors book/rope_book/results/page_models.py.
import { PAGE_MODELS } from "../data/page_models.js";
import { memo } from "../lib/memo.js";
import { unpacked } from "./packed.js";

/** @import { Model } from "./transformer.js" */
/** @typedef {{model: Model, length: number, headDim: number, base: number, alphabet: string, texts: Vector[], answers: Vector[], reached: {accuracy: number, loss: number}}} PageModel */

const STORED = /** @type {Record<string, any>} */ (PAGE_MODELS);

/**
 * The token for each character of `text`, or −1 for a character that is not in the alphabet.
 * @type {(text: string, alphabet: string) => number[]}
 */
export const tokensOf = (text, alphabet) => Array.from(text, (character) => alphabet.indexOf(character));

/** The memoised model for a task. @type {(task: string) => PageModel} */
export const pageModel = memo((task) => {
  const { weights, n_heads: heads, head_dim: headDim, ...stored } = STORED[task];
  const named = Object.entries(weights).map(([name, weight]) => [name, unpacked(weight)]);
  const rows = (/** @type {string[]} */ texts) => texts.map((text) => tokensOf(text, stored.alphabet));
  const [texts, answers] = [rows(stored.texts), rows(stored.answers)];
  return { ...stored, headDim, texts, answers, model: { of: Object.fromEntries(named), heads } };
});
