// Trains a model as in book/rope_book/training/loop.py, with batches, a learning rate per step, gradient clipping
// and AdamW.
import { memo } from "../lib/memo.js";
import { likeliest } from "./long_text.js";
import { Network } from "./network.js";
import { readingRope, trainedRope } from "./page_doors.js";
import { lookInside } from "./page_look.js";
import { rateOf } from "./page_plan.js";
import { drawTexts, pageTask, placesOf } from "./page_tasks.js";
import { drawWeights, roomFor, weightsOf } from "./page_weights.js";

/** @import { Kept as FileKept } from "./page_file.js" */

const ROWS = 16; // texts per step
const TEST_ROWS = 32;
const [KEEP, KEEP_SQUARE, TINY] = [0.9, 0.98, 1e-8]; // β₁, β₂ and ε of Adam
const DECAY = 0.01;
const CLIP = 1;

/** Compute a power by repeated multiplication, because engines round `**` differently. @type {(base: number, times: number) => number} */
const power = (base, times) =>
  Array(times)
    .fill(base)
    .reduce((all, one) => all * one, 1);

/** A model and its training so far. */
export class Run {
  /** @param {State} settings */
  constructor(settings) {
    const { task, encoding, base, layers, length, seed } = settings;
    const named = weightsOf(task, encoding, layers, length);
    this.settings = settings;
    this.weights = drawWeights(named, seed);
    this.gradients = roomFor(named);
    this.model = { weights: this.weights, gradients: this.gradients, encoding, base };
    this.network = memo((seq) => new Network(this.model, ROWS, seq, trainedRope(settings)), Infinity);
    this.means = new Float64Array(this.weights.all.length);
    this.squares = new Float64Array(this.weights.all.length);
    this.losses = /** @type {number[]} */ ([]); // measured before each step
  }

  get step() {
    return this.losses.length;
  }

  /** The run's numbers, to save in a file. */
  kept() {
    const { weights, means, squares, losses } = this;
    return { weights: weights.all.slice(), means: means.slice(), squares: squares.slice(), losses: losses.slice() };
  }

  /** Continue from the numbers in a file. @type {(kept: FileKept) => this} */
  restore({ weights, means, squares, losses }) {
    this.weights.all.set(weights);
    this.means.set(means);
    this.squares.set(squares);
    this.losses = Array.from(losses);
    return this;
  }

  /** A head's attention and the influence of each pair, where `reading` selects head, times and rule. */
  inside(/** @type {State} */ reading) {
    const { task, length } = this.settings;
    const rope = readingRope({ ...this.settings, ...reading }, placesOf(task, length) - 1);
    return lookInside(this.model, { task, length, head: reading.head }, rope);
  }

  /** Take one training step and return the loss before it. */
  train() {
    const { task, length, seed, learning_rate: most } = this.settings;
    const texts = drawTexts(task, { split: "train", seed, step: this.step }, ROWS, length);
    const loss = this.network(texts.seq).loss(texts);
    this.losses.push(loss);
    this.#descend(rateOf(most, this.step, pageTask(task).steps));
    return loss;
  }

  /** Apply AdamW to the clipped gradients. */
  #descend(/** @type {number} */ rate) {
    const { means, squares } = this;
    const [values, gradients] = [this.weights.all, this.gradients.all];
    let norm = 0;
    for (let i = 0; i < gradients.length; i++) norm += gradients[i] * gradients[i];
    const clip = Math.min(1, CLIP / (Math.sqrt(norm) + 1e-6));
    const [first, second] = [rate / (1 - power(KEEP, this.step)), Math.sqrt(1 - power(KEEP_SQUARE, this.step))];
    for (let i = 0; i < values.length; i++) {
      const gradient = clip * gradients[i];
      means[i] = KEEP * means[i] + (1 - KEEP) * gradient;
      squares[i] = KEEP_SQUARE * squares[i] + (1 - KEEP_SQUARE) * gradient * gradient;
      values[i] = values[i] * (1 - rate * DECAY) - (first * means[i]) / (Math.sqrt(squares[i]) / second + TINY);
    }
  }

  // The accuracy at each position of unseen texts, or NaN at positions that are not scored. `reading` selects times
  // and rule.
  right(/** @type {State} */ reading) {
    const { task, length } = this.settings;
    const texts = drawTexts(task, { split: "test", seed: 0, step: 0 }, TEST_ROWS, reading.times * length);
    const { seq, tokens, targets, counts } = texts;
    const rope = readingRope({ ...this.settings, ...reading }, placesOf(task, length) - 1);
    const [right, asked] = [new Float64Array(seq), new Float64Array(seq)];
    for (let first = 0; first < TEST_ROWS; first += ROWS) {
      const network = new Network(this.model, ROWS, seq, rope);
      const logits = network.forward(tokens.subarray(first * seq, (first + ROWS) * seq));
      for (let t = 0; t < ROWS * seq; t++) {
        if (!counts[first * seq + t]) continue;
        const scores = logits.subarray(t * network.vocab, (t + 1) * network.vocab);
        asked[t % seq] += 1;
        right[t % seq] += likeliest(scores) === targets[first * seq + t] ? 1 : 0;
      }
    }
    return right.map((count, place) => count / asked[place]);
  }
}
