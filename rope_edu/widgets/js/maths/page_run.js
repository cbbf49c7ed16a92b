// One training run, as rope_edu/training/loop.py does it: batches, a learning rate for each step, a clipped gradient, AdamW.
import { Network } from "./network.js";
import { readingRope, trainedRope } from "./page_doors.js";
import { lookInside } from "./page_look.js";
import { rateOf } from "./page_plan.js";
import { drawTexts, pageTask, placesOf } from "./page_tasks.js";
import { drawWeights, roomFor, weightsOf } from "./page_weights.js";

/** @import { Kept as FileKept } from "./page_file.js" */

const ROWS = 16; // texts a step
const TEST_ROWS = 32;
const [KEEP, KEEP_SQUARE, TINY] = [0.9, 0.98, 1e-8]; // of Adam
const DECAY = 0.01;
const CLIP = 1;

/** A model and its training so far. */
export class Run {
  /** @param {State} settings */
  constructor(settings) {
    const { task, encoding, base, layers, length, seed } = settings;
    const named = weightsOf(task, encoding, layers, length);
    this.settings = settings;
    this.weights = drawWeights(named, seed);
    this.slopes = roomFor(named);
    this.model = { weights: this.weights, slopes: this.slopes, encoding, base, layers };
    this.networks = /** @type {Map<string, Network>} */ (new Map());
    this.means = new Float64Array(this.weights.all.length);
    this.squares = new Float64Array(this.weights.all.length);
    this.powers = [1, 1]; // of what Adam keeps
    this.losses = /** @type {number[]} */ ([]); // before each step
  }

  get step() {
    return this.losses.length;
  }

  /** What a file keeps of the run. */
  kept() {
    const { weights, means, squares, losses } = this;
    return { weights: weights.all.slice(), means: means.slice(), squares: squares.slice(), losses: losses.slice() };
  }

  /** Go on from what a file has kept. @type {(kept: FileKept) => this} */
  restore({ weights, means, squares, losses }) {
    this.weights.all.set(weights);
    this.means.set(means);
    this.squares.set(squares);
    this.losses = Array.from(losses);
    this.powers = [1, 1];
    for (let n = 0; n < losses.length; n++) this.powers = [this.powers[0] * KEEP, this.powers[1] * KEEP_SQUARE];
    return this;
  }

  /** Numbers of the model. */
  get size() {
    return this.weights.all.length;
  }

  /** Whom a head attends to, and by which pairs; `reading` has head, times and rule. */
  inside(/** @type {State} */ reading) {
    const { task, length } = this.settings;
    const rope = readingRope({ ...this.settings, ...reading }, placesOf(task, length) - 1);
    return lookInside(this.model, { task, length, head: reading.head }, rope);
  }

  /** @type {(rows: number, seq: number, rope: Rotation) => Network} */
  network(rows, seq, rope) {
    const name = JSON.stringify([rows, seq, rope]);
    const known = this.networks.get(name);
    if (known) return known;
    if (this.networks.size >= 3 && this.settings.task !== "copy") this.networks.clear(); // copy has texts of many lengths
    const made = new Network(this.model, rows, seq, rope);
    this.networks.set(name, made);
    return made;
  }

  /** One step; returns the loss before it. */
  train() {
    const { task, length, seed, learning_rate: most } = this.settings;
    const texts = drawTexts(task, { split: "train", seed, step: this.step }, ROWS, length);
    const loss = this.network(ROWS, texts.seq, trainedRope(this.settings)).loss(texts);
    this.losses.push(loss);
    this.#descend(rateOf(most, this.step, pageTask(task).steps));
    return loss;
  }

  /** AdamW on the clipped slopes. */
  #descend(/** @type {number} */ rate) {
    const { means, squares } = this;
    const [values, slopes] = [this.weights.all, this.slopes.all];
    let norm = 0;
    for (let i = 0; i < slopes.length; i++) norm += slopes[i] * slopes[i];
    const clip = Math.min(1, CLIP / (Math.sqrt(norm) + 1e-6));
    this.powers = [this.powers[0] * KEEP, this.powers[1] * KEEP_SQUARE];
    const [first, second] = [rate / (1 - this.powers[0]), Math.sqrt(1 - this.powers[1])];
    for (let i = 0; i < values.length; i++) {
      const slope = clip * slopes[i];
      means[i] = KEEP * means[i] + (1 - KEEP) * slope;
      squares[i] = KEEP_SQUARE * squares[i] + (1 - KEEP_SQUARE) * slope * slope;
      values[i] = values[i] * (1 - rate * DECAY) - (first * means[i]) / (Math.sqrt(squares[i]) / second + TINY);
    }
  }

  // The share of right answers at each place of unseen texts, NaN where none counts; `reading` has times and rule.
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
        const said = logits.subarray(t * network.vocab, (t + 1) * network.vocab);
        let best = 0;
        for (let i = 1; i < said.length; i++) if (said[i] > said[best]) best = i;
        asked[t % seq] += 1;
        right[t % seq] += best === targets[first * seq + t] ? 1 : 0;
      }
    }
    return right.map((count, place) => count / asked[place]);
  }
}
