// The tiny transformer of book/rope_book/training/transformer.py as it reads one text, a token at a time.
import { attendOne } from "./attend.js";
import { Kept } from "./block.js";

/** @import { Named } from "./block.js" */
/** @typedef {{of: Named, heads: number}} Model */

/** A text as far as a model has read it, with the queries, keys and values of its tokens. */
export class Reader extends Kept {
  constructor(/** @type {Model} */ { of, heads }, /** @type {Rotation} */ rope) {
    super(of, { rows: 1, seq: 1, heads, wide: of["norm.weight"].length / heads });
    this.rope = rope;
    this.place = 0; // of the token that it reads next
    this.scores = new Float64Array(0); // of one head, used again by the next
    this.past = Array.from({ length: this.layers }, () => new Float64Array(0)); // queries, keys, values
  }

  /** Make room for texts of so many tokens. */
  reserve(/** @type {number} */ places) {
    if (this.scores.length >= places) return;
    this.scores = new Float64Array(places);
    this.past = this.past.map((all) => {
      const more = new Float64Array(3 * this.width * places);
      more.set(all);
      return more;
    });
  }

  /** Read a token: the logits of the next one, until it reads on. @type {(token: number) => Float64Array} */
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

  /** @override @type {Kept["attend"]} */
  attend(name, qkv, mixed) {
    const past = this.past[Number(name.split(".")[1])];
    past.set(qkv, this.place * qkv.length);
    mixed.fill(0);
    for (let head = 0; head < this.shape.heads; head++) {
      attendOne(past, this.place, head, this.scores, mixed, this.shape);
    }
  }

  /** How much the token at a place attended to each up to itself. */
  weights(/** @type {number} */ layer, /** @type {number} */ head, /** @type {number} */ place) {
    const [weights, mixed] = [new Float64Array(place + 1), new Float64Array(this.width)];
    attendOne(this.past[layer], place, head, weights, mixed, this.shape);
    return weights;
  }
}
