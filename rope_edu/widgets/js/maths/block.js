// A block of the tiny transformer over a batch of texts, forward and back, and what a step keeps between the two.
import { attendAll, attendBack, turnAll } from "./attend.js";
import { normAll, normBack } from "./norms.js";
import { HEADS, HIDDEN, WIDTH } from "./page_weights.js";
import { linearAll, linearBack } from "./products.js";
import { geluAll } from "./steady.js";

/** @import { Doors, Shape } from "./attend.js" */
/** @import { Weights } from "./page_weights.js" */
/** @typedef {{weights: Weights, slopes: Weights, encoding: string, base: number, layers: number}} Model */

/** A model's buffers for texts of one shape, used again at every step. */
export class Kept {
  constructor(/** @type {Model} */ model, /** @type {Shape} */ shape) {
    this.model = model;
    this.shape = shape;
    this.tokens = shape.rows * shape.seq;
    this.doors = /** @type {Doors} */ ({});
    this.kept = /** @type {Map<string, Float64Array>} */ (new Map());
  }

  /** So many numbers of each token, which a step leaves for the next part of it. @type {(name: string, each: number) => Float64Array} */
  room(name, each) {
    const room = this.kept.get(name) ?? new Float64Array(this.tokens * each);
    this.kept.set(name, room);
    return room;
  }

  /** The weight and the bias of a layer, or their slopes. */
  layer(/** @type {string} */ name, /** @type {Weights} */ { of } = this.model.weights) {
    return { weight: of[`${name}.weight`], bias: of[`${name}.bias`] };
  }

  /** What a norm keeps of a step. */
  normed(/** @type {string} */ name) {
    const [out, normed] = [this.room(`${name}.out`, WIDTH), this.room(`${name}.normed`, WIDTH)];
    return { out, normed, scale: this.room(`${name}.scale`, 1) };
  }
}

// A block's way forward: adds to x what attention and the network between attentions say.
/** @type {(kept: Kept, name: string, x: Float64Array) => void} */
export function blockForward(kept, name, x) {
  const { tokens, shape, doors } = kept;
  const room = (/** @type {string} */ of, /** @type {number} */ each) => kept.room(`${name}.${of}`, each);
  const layer = (/** @type {string} */ of) => kept.layer(`${name}.${of}`);
  const [first, second] = ["norm_1", "norm_2"].map((norm) => kept.normed(`${name}.${norm}`));
  const [part, up] = [kept.room("part", WIDTH), kept.room("up", HIDDEN)];
  const add = () => {
    for (let i = 0; i < x.length; i++) x[i] += part[i];
  };
  normAll(x, layer("norm_1"), first, tokens);
  const [qkv, mixed] = [room("qkv", 3 * WIDTH), room("mixed", WIDTH)];
  linearAll(qkv, first.out, layer("attention.w_qkv"), tokens);
  turnAll(qkv, doors, shape, 1);
  attendAll(qkv, room("weights", shape.seq * HEADS), mixed, doors, shape);
  linearAll(part, mixed, layer("attention.w_o"), tokens);
  add();
  normAll(x, layer("norm_2"), second, tokens);
  linearAll(up, second.out, layer("mlp.0"), tokens);
  const active = room("active", HIDDEN);
  geluAll(up, active, room("slope", HIDDEN), up.length);
  linearAll(part, active, layer("mlp.2"), tokens);
  add();
}

// The way back through a block: `into` holds the slopes of what leaves it, and then of what enters it.
/** @type {(kept: Kept, name: string, into: Float64Array, from: Float64Array, biasSlope?: Float64Array) => void} */
export function blockBack(kept, name, into, from, biasSlope) {
  const { tokens, shape, model } = kept;
  const left = (/** @type {string} */ of) => kept.room(`${name}.${of}`, 0);
  const layer = (/** @type {string} */ of) => kept.layer(`${name}.${of}`);
  const slopes = (/** @type {string} */ of) => kept.layer(`${name}.${of}`, model.slopes);
  const [first, second] = ["norm_1", "norm_2"].map((norm) => kept.normed(`${name}.${norm}`));
  /** @type {(of: string, x: Float64Array, out: Float64Array, back: Float64Array) => void} */
  const linear = (of, x, out, back) => linearBack(back, out, x, layer(of), slopes(of), tokens);
  const up = kept.room("up", HIDDEN);
  linear("mlp.2", left("active"), into, up);
  const bend = left("slope");
  for (let i = 0; i < up.length; i++) up[i] *= bend[i];
  linear("mlp.0", second.out, up, from);
  normBack(into, from, layer("norm_2"), second, slopes("norm_2"), tokens);
  linear("attention.w_o", left("mixed"), into, from);
  const wide = kept.room("wide", 3 * WIDTH);
  attendBack(wide, from, { qkv: left("qkv"), weights: left("weights"), biasSlope }, shape);
  turnAll(wide, kept.doors, shape, -1);
  linear("attention.w_qkv", first.out, wide, from);
  normBack(into, from, layer("norm_1"), first, slopes("norm_1"), tokens);
}
