// Runs the tiny transformer in book/rope_book/training/transformer.py on one text, token by token.
import { attendOne } from "./attend.js";
import { Workspace } from "./block.js";

/** @import { Named } from "./block.js" */
/** @typedef {{of: Named, heads: number}} Model */

/** Reads a text with a model, caching the queries, keys and values of all tokens so far. */
export class Reader extends Workspace {
  constructor(/** @type {Model} */ { of, heads }, /** @type {Rotation} */ rope) {
    super(of, { rows: 1, seq: 1, heads, wide: of["norm.weight"].length / heads });
    this.rope = rope;
    this.place = 0; // position of the next token
    this.scores = new Float64Array(0); // scores of one head; the next head reuses the array
    this.past = Array.from({ length: this.layers }, () => new Float64Array(0)); // queries, keys, values
  }

  /** Grow the buffers for texts of up to `places` tokens. */
  reserve(/** @type {number} */ places) {
    if (this.scores.length >= places) return;
    this.scores = new Float64Array(places);
    this.past = this.past.map((all) => {
      const larger = new Float64Array(3 * this.width * places);
      larger.set(all);
      return larger;
    });
  }

  /** Read a token and return the logits of the next token, in a buffer that the next call overwrites. @type {(token: number) => Float64Array} */
  read(token) {
    const { place, width } = this;
    const { invFreq, attentionFactor } = this.rope;
    if (place >= this.scores.length) this.reserve(2 * place + 16);
    const turns = (/** @type {(angle: number) => number} */ f) =>
      Float64Array.from(invFreq, (frequency) => attentionFactor * f(place * frequency));
    this.doors = { cos: turns(Math.cos), sin: turns(Math.sin) };
    const logits = this.through(this.of["embedding.weight"].slice(token * width, (token + 1) * width));
    this.place += 1;
    return logits;
  }

  /** @override @type {Workspace["attend"]} */
  attend(name, qkv, mixed) {
    const past = this.past[Number(name.split(".")[1])];
    past.set(qkv, this.place * qkv.length);
    mixed.fill(0);
    for (let head = 0; head < this.shape.heads; head++) {
      attendOne(past, this.place, head, this.scores, mixed, this.shape);
    }
  }

  /** The attention weights from the token at a position to all tokens up to and including that one. */
  weights(/** @type {number} */ layer, /** @type {number} */ head, /** @type {number} */ place) {
    const [weights, mixed] = [new Float64Array(place + 1), new Float64Array(this.width)];
    attendOne(this.past[layer], place, head, weights, mixed, this.shape);
    return weights;
  }
}
