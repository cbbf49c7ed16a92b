// Runs a model on its texts step by step, with the same results as book/rope_book/widgets/maths/long_text.py.
import { memo } from "../lib/memo.js";
import { likeliest, lossOf } from "./long_text.js";
import { pageModel, tokensOf } from "./page_models.js";
import { Reader } from "./transformer.js";

/** The largest weight in each block of `size` queries and `size` keys, where `rows` counts the queries so far.
 * @typedef {{size: number, cells: number, rows: number, values: Float64Array}} Field */

const CELLS = 128; // maximum number of cells across an attention picture
const FIELDS = 6; // number of pictures kept in memory

/** Create an empty attention picture of a head. @type {(places: number, layer: number, head: number) => Field} */
function blank(places) {
  const size = Math.ceil(places / CELLS);
  const cells = Math.ceil(places / size);
  return { size, cells, rows: 0, values: new Float64Array(cells * cells) };
}

/** Reads a model's texts with a fixed rotation, only as far as requested. */
export class Reading {
  constructor(/** @type {string} */ task, /** @type {Rotation} */ rope) {
    const { model, texts, answers } = pageModel(task);
    const empty = () => new Float64Array(texts[0].length).fill(NaN);
    this.answers = answers;
    this.texts = texts.map((tokens) => ({ tokens, reader: new Reader(model, rope), loss: empty(), right: empty() }));
    this.said = /** @type {number[]} */ ([]); // the most likely token after each position in the first text
    this.field = memo(blank, FIELDS); // attention pictures of the first text, possibly incomplete
  }

  /** Continue reading up to `places` tokens, one token or one row of the attention picture per step: first the first
   * text, then its attention picture, then the other texts. */
  *steps(/** @type {number} */ places, /** @type {number} */ layer, /** @type {number} */ head) {
    for (const n of this.texts.keys()) {
      this.texts[n].reader.reserve(places);
      for (; this.texts[n].reader.place < places; yield) this.#step(n);
      if (n === 0) yield* this.#paint(places, layer, head);
    }
  }

  #step(/** @type {number} */ n) {
    const { tokens, reader, loss, right } = this.texts[n];
    const { place } = reader;
    const logits = reader.read(tokens[place]);
    const answer = this.answers[n][place];
    if (n === 0) this.said.push(likeliest(logits));
    if (answer < 0) return;
    loss[place] = lossOf(logits, answer);
    right[place] = likeliest(logits) === answer ? 1 : 0;
  }

  // A measure's values, in one row per text and one column per position after the first, with NaN where nothing is
  // measured.
  /** @type {(measure: "right" | "loss", places: number) => Float64Array[]} */
  rows(measure, places) {
    return this.texts.map((text) => text[measure].subarray(1, places));
  }

  // A head's attention from a position in the first text to all positions up to and including that one, or
  // undefined if the model has not read that far.
  /** @type {(layer: number, head: number, place: number) => Float64Array | undefined} */
  attention(layer, head, place) {
    const { reader } = this.texts[0];
    return place < reader.place ? reader.weights(layer, head, place) : undefined;
  }

  /** Record the largest weight in each block of queries and keys, one query per step. */
  *#paint(/** @type {number} */ places, /** @type {number} */ layer, /** @type {number} */ head) {
    const field = this.field(places, layer, head);
    for (; field.rows < places; yield) {
      const weights = this.texts[0].reader.weights(layer, head, field.rows);
      const start = Math.floor(field.rows / field.size) * field.cells;
      for (let key = 0; key < weights.length; key++) {
        const cell = start + Math.floor(key / field.size);
        field.values[cell] = Math.max(field.values[cell], weights[key]);
      }
      field.rows += 1;
    }
  }
}

/** Reads the user's own text. `said` contains the most likely token after each position, beginning after the first
 * token. */
class OwnText {
  constructor(/** @type {string} */ task, /** @type {Rotation} */ rope, /** @type {string} */ text) {
    const { model, alphabet } = pageModel(task);
    this.tokens = [alphabet.length - 1, ...tokensOf(text, alphabet)];
    this.reader = new Reader(model, rope);
    this.said = /** @type {number[]} */ ([]);
  }

  /** Continue reading, one token per step. */
  *steps() {
    for (; this.said.length < this.tokens.length; yield)
      this.said.push(likeliest(this.reader.read(this.tokens[this.said.length])));
  }

  /** For each letter, whether the model predicted it from the preceding letters, which is false for the first. */
  foretold() {
    const [, ...letters] = this.tokens;
    return letters.map((letter, n) => n > 0 && this.said[n] === letter);
  }
}

/** The OwnText for a task, a rotation and a text, memoised so that undoing an edit costs nothing. @type {(task: string, rope: Rotation, text: string) => OwnText} */
export const ownTextOf = memo((task, rope, text) => new OwnText(task, rope, text), 12);

/** The Reading for a task and a rotation, memoised so that switching back costs nothing. @type {(task: string, rope: Rotation) => Reading} */
export const readingOf = memo((task, rope) => new Reading(task, rope), 12);
