// The texts of a model as it reads them, a step at a time: the numbers of book/rope_book/widgets/maths/long_text.py.
import { memo } from "../lib/memo.js";
import { likeliest, lossOf } from "./long_text.js";
import { pageModel, tokensOf } from "./page_models.js";
import { Reader } from "./transformer.js";

/** The largest weights of blocks of `size` queries by `size` keys, `rows` queries so far. @typedef {{size: number, cells: number, rows: number, values: Float64Array}} Field */

const CELLS = 128; // across a picture of attention, at most
const FIELDS = 6; // pictures that are kept

/** A picture of a head's attention, blank. @type {(places: number, layer: number, head: number) => Field} */
function blank(places) {
  const size = Math.ceil(places / CELLS);
  const cells = Math.ceil(places / size);
  return { size, cells, rows: 0, values: new Float64Array(cells * cells) };
}

/** The texts of a model, read under one rotation as far as anybody has asked. */
export class Reading {
  constructor(/** @type {string} */ task, /** @type {Rotation} */ rope) {
    const { model, texts, answers } = pageModel(task);
    const empty = () => new Float64Array(texts[0].length).fill(NaN);
    this.answers = answers;
    this.texts = texts.map((tokens) => ({ tokens, reader: new Reader(model, rope), loss: empty(), right: empty() }));
    this.said = /** @type {number[]} */ ([]); // of the first text, the likeliest token after each place
    this.field = memo(blank, FIELDS); // of the first text, as far as it is painted
  }

  /** Read on, a token a step: the first text, its picture of attention, then the others. */
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

  // What was measured at each place of each text after the first token, NaN where nothing is known.
  /** @type {(measure: "right" | "loss", places: number) => Float64Array[]} */
  rows(measure, places) {
    return this.texts.map((text) => text[measure].subarray(1, places));
  }

  // How much a head attends, at a place of the first text, to each place so far; nothing where it has not read.
  /** @type {(layer: number, head: number, place: number) => Float64Array | undefined} */
  attention(layer, head, place) {
    const { reader } = this.texts[0];
    return place < reader.place ? reader.weights(layer, head, place) : undefined;
  }

  /** The largest weights of blocks of queries and keys, a query a step. */
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

/** A text of the reader's own, as far as it is read: `said` has the likeliest token after each place, the first token's among them. */
class OwnText {
  constructor(/** @type {string} */ task, /** @type {Rotation} */ rope, /** @type {string} */ text) {
    const { model, alphabet } = pageModel(task);
    this.tokens = [alphabet.length - 1, ...tokensOf(text, alphabet)];
    this.reader = new Reader(model, rope);
    this.said = /** @type {number[]} */ ([]);
  }

  /** Read on, a token a step. */
  *steps() {
    for (; this.said.length < this.tokens.length; yield)
      this.said.push(likeliest(this.reader.read(this.tokens[this.said.length])));
  }

  /** Whether the model said each letter from those before it; the first one has none before it. */
  foretold() {
    const [, ...letters] = this.tokens;
    return letters.map((letter, n) => n > 0 && this.said[n] === letter);
  }
}

/** What a model says of a text, kept while a reader types. @type {(task: string, rope: Rotation, text: string) => OwnText} */
export const ownTextOf = memo((task, rope, text) => new OwnText(task, rope, text), 12);

/** The reading of a task under a rotation, kept while a reader goes back and forth. @type {(task: string, rope: Rotation) => Reading} */
export const readingOf = memo((task, rope) => new Reading(task, rope), 12);
