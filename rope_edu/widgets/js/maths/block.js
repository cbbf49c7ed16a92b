// A block of the tiny transformer over a batch of texts, forward and back, and what a step keeps between the two.
import { attendAll, attendBack, turnAll } from "./attend.js";
import { normAll, normBack } from "./norms.js";
import { HEADS, HIDDEN, WIDTH } from "./page_weights.js";
import { addBias, along, down, product, sumTokens } from "./products.js";
import { geluAll } from "./steady.js";

/** @import { Doors, Shape } from "./attend.js" */
/** @import { Weights } from "./page_weights.js" */
/** @typedef {{weights: Weights, slopes: Weights, encoding: string, base: number, layers: number}} Model */

/** A model's buffers for texts of one shape, used again at every step. */
export class Kept {
  constructor(/** @type {Model} */ model, /** @type {Shape} */ shape) {
    this.model = model;
    this.shape = shape;
    this.doors = /** @type {Doors} */ ({});
    this.kept = /** @type {Map<string, Float64Array>} */ (new Map());
  }

  /** Numbers that a step leaves for the next part of it. @type {(name: string, size: number) => Float64Array} */
  room(name, size) {
    const known = this.kept.get(name);
    if (known) return known;
    const made = new Float64Array(size);
    this.kept.set(name, made);
    return made;
  }

  get tokens() {
    return this.shape.rows * this.shape.seq;
  }

  /** A norm's weights, and what it keeps of a step. */
  norm(/** @type {string} */ name, /** @type {Weights} */ { of } = this.model.weights) {
    const size = this.tokens * WIDTH;
    return {
      of: { gain: of[`${name}.weight`], shift: of[`${name}.bias`] },
      kept: {
        out: this.room(`${name}.out`, size),
        normed: this.room(`${name}.normed`, size),
        scale: this.room(`${name}.scale`, this.tokens),
      },
    };
  }
}

// A block's way forward: adds to x what attention and the network between attentions say.
/** @type {(kept: Kept, name: string, x: Float64Array) => void} */
export function blockForward(kept, name, x) {
  const { tokens, shape } = kept;
  const { of } = kept.model.weights;
  const [size, part] = [tokens * WIDTH, kept.room("part", tokens * WIDTH)];
  const add = () => {
    for (let i = 0; i < size; i++) x[i] += part[i];
  };
  const [first, second] = [kept.norm(`${name}.norm_1`), kept.norm(`${name}.norm_2`)];
  const [qkv, mixed] = [kept.room(`${name}.qkv`, 3 * size), kept.room(`${name}.mixed`, size)];
  const weights = kept.room(`${name}.weights`, tokens * shape.seq * HEADS);
  normAll(x, first.of, first.kept, tokens);
  const wqkv = of[`${name}.attention.w_qkv.weight`];
  product(qkv, tokens, 3 * WIDTH, WIDTH, along(first.kept.out, WIDTH), along(wqkv, WIDTH));
  turnAll(qkv, kept.doors, shape, 1);
  attendAll(qkv, weights, mixed, kept.doors, shape);
  product(part, tokens, WIDTH, WIDTH, along(mixed, WIDTH), along(of[`${name}.attention.w_o.weight`], WIDTH));
  add();
  const [up, active] = [kept.room("up", tokens * HIDDEN), kept.room(`${name}.active`, tokens * HIDDEN)];
  normAll(x, second.of, second.kept, tokens);
  product(up, tokens, HIDDEN, WIDTH, along(second.kept.out, WIDTH), along(of[`${name}.mlp.0.weight`], WIDTH));
  addBias(up, of[`${name}.mlp.0.bias`], tokens);
  geluAll(up, active, kept.room(`${name}.slope`, tokens * HIDDEN), tokens * HIDDEN);
  product(part, tokens, WIDTH, HIDDEN, along(active, HIDDEN), along(of[`${name}.mlp.2.weight`], HIDDEN));
  addBias(part, of[`${name}.mlp.2.bias`], tokens);
  add();
}

// The way back through a block: `into` holds the slopes of what leaves it, and then of what enters it.
/** @type {(kept: Kept, name: string, into: Float64Array, from: Float64Array, biasSlope?: Float64Array) => void} */
export function blockBack(kept, name, into, from, biasSlope) {
  const { tokens, shape, model } = kept;
  const [weights, slopes] = [model.weights.of, model.slopes.of];
  const part = (/** @type {string} */ suffix) => kept.room(`${name}.${suffix}`, 0);
  const [first, second] = [kept.norm(`${name}.norm_1`), kept.norm(`${name}.norm_2`)];
  const weight = (/** @type {string} */ of) => `${name}.${of}.weight`;
  const [mlp0, mlp2, wo, wqkv] = ["mlp.0", "mlp.2", "attention.w_o", "attention.w_qkv"].map(weight);
  const up = kept.room("up", tokens * HIDDEN);
  sumTokens(slopes[`${name}.mlp.2.bias`], into, tokens);
  product(slopes[mlp2], WIDTH, HIDDEN, tokens, down(into, WIDTH), down(part("active"), HIDDEN));
  product(up, tokens, HIDDEN, WIDTH, along(into, WIDTH), down(weights[mlp2], HIDDEN));
  const bend = part("slope");
  for (let i = 0; i < tokens * HIDDEN; i++) up[i] *= bend[i];
  sumTokens(slopes[`${name}.mlp.0.bias`], up, tokens);
  product(slopes[mlp0], HIDDEN, WIDTH, tokens, down(up, HIDDEN), down(second.kept.out, WIDTH));
  product(from, tokens, WIDTH, HIDDEN, along(up, HIDDEN), down(weights[mlp0], WIDTH));
  const slopesOf = (/** @type {string} */ norm) => kept.norm(`${name}.${norm}`, model.slopes).of;
  normBack(into, from, second.of.gain, second.kept, slopesOf("norm_2"), tokens);
  product(slopes[wo], WIDTH, WIDTH, tokens, down(into, WIDTH), down(part("mixed"), WIDTH));
  product(from, tokens, WIDTH, WIDTH, along(into, WIDTH), down(weights[wo], WIDTH));
  const wide = kept.room("wide", 3 * tokens * WIDTH);
  attendBack(wide, from, { qkv: part("qkv"), weights: part("weights"), biasSlope }, shape);
  turnAll(wide, kept.doors, shape, -1);
  product(slopes[wqkv], 3 * WIDTH, WIDTH, tokens, down(wide, 3 * WIDTH), down(first.kept.out, WIDTH));
  product(from, tokens, WIDTH, 3 * WIDTH, along(wide, 3 * WIDTH), down(weights[wqkv], WIDTH));
  normBack(into, from, first.of.gain, first.kept, slopesOf("norm_1"), tokens);
}
