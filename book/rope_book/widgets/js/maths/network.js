// Implements the forward pass, the loss and the backward pass of the tiny transformer in
// book/rope_book/training/transformer.py for a batch of texts.
import { blockBack, normBack } from "./back.js";
import { Workspace } from "./block.js";
import { linearBack } from "./layers.js";
import { addedTo, biasOfDistances, bucketsBack, turnsOfPlaces } from "./page_doors.js";
import { HEADS, WIDTH } from "./page_weights.js";
import { steadyExp, steadyLog } from "./steady.js";

/** @import { Texts } from "./page_tasks.js" */
/** @import { Weights } from "./page_weights.js" */
/** @typedef {{weights: Weights, gradients?: Weights, encoding: string, base: number}} Model */

const TABLE = "encodings.0.table";

/** A model that processes batches of a fixed shape. */
export class Network extends Workspace {
  /** @param {Model} model @param {number} rows @param {number} seq @param {Rotation} rope */
  constructor(model, rows, seq, rope) {
    super(model.weights.of, { rows, seq, heads: HEADS, wide: WIDTH / HEADS }, model.gradients?.of);
    this.model = model;
    this.added = addedTo(model.encoding, model.base, seq);
    this.turns = turnsOfPlaces(model.encoding, rope, seq);
    this.vocab = this.of["head.weight"].length / WIDTH;
  }

  /** The logits after each token, row by row. @type {(words: Int32Array) => Float64Array} */
  forward(words) {
    const { tokens, model, shape, of } = this;
    const x = this.room("x", WIDTH);
    const table = model.encoding === "learned" ? of[TABLE] : this.added;
    for (let t = 0; t < tokens; t++) {
      const [word, place] = [words[t] * WIDTH, (t % shape.seq) * WIDTH];
      for (let i = 0; i < WIDTH; i++)
        x[t * WIDTH + i] = of["embedding.weight"][word + i] + (table ? table[place + i] : 0);
    }
    this.doors = { ...this.turns, bias: biasOfDistances(model.encoding, shape.seq, of[TABLE]) };
    return this.through(x);
  }

  /** Compute the mean loss over scored positions, in nats, and the gradients of all weights. */
  loss(/** @type {Texts} */ { tokens: words, targets, counts }) {
    const { vocab } = this;
    const logits = this.forward(words);
    const counted = counts.reduce((sum, one) => sum + one, 0);
    let loss = 0;
    for (let t = 0; t < this.tokens; t++) {
      const [at, weight] = [t * vocab, counts[t] / counted];
      let [top, sum] = [-Infinity, 0];
      for (let i = 0; i < vocab; i++) top = Math.max(top, logits[at + i]);
      if (weight) loss += weight * (top - logits[at + targets[t]]);
      for (let i = 0; i < vocab; i++) sum += logits[at + i] = steadyExp(logits[at + i] - top);
      if (weight) loss += weight * steadyLog(sum);
      for (let i = 0; i < vocab; i++) logits[at + i] *= weight / sum;
      logits[at + targets[t]] -= weight;
    }
    this.#back(words, logits);
    return loss;
  }

  /** Backpropagate the gradient of the logits to all weights. @type {(words: Int32Array, logits: Float64Array) => void} */
  #back(words, logits) {
    const { tokens, model, shape, gradientsOf: of } = this;
    const norm = this.normed("norm");
    const [from, into] = [this.room("from", WIDTH), this.room("into", WIDTH)];
    linearBack(from, logits, norm.out, this.layer("head"), this.gradients("head"), tokens);
    into.fill(0);
    normBack(into, from, this.layer("norm"), norm, this.gradients("norm"), tokens);
    const biasGradient = model.encoding === "t5" ? new Float64Array(HEADS * shape.seq) : undefined;
    for (let n = this.layers - 1; n >= 0; n--) blockBack(this, `blocks.${n}`, into, from, biasGradient);
    if (biasGradient) bucketsBack(of[TABLE], biasGradient, shape.seq);
    of["embedding.weight"].fill(0);
    if (model.encoding === "learned") of[TABLE].fill(0);
    for (let t = 0; t < tokens; t++) {
      const [word, place] = [words[t] * WIDTH, (t % shape.seq) * WIDTH];
      for (let i = 0; i < WIDTH; i++) of["embedding.weight"][word + i] += into[t * WIDTH + i];
      if (model.encoding === "learned") for (let i = 0; i < WIDTH; i++) of[TABLE][place + i] += into[t * WIDTH + i];
    }
  }
}
