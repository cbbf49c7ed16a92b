// The blocks of the tiny transformer of book/rope_book/training/transformer.py, and what a step keeps for the way back.
import { attendAll, turnAll } from "./attend.js";
import { linearAll, normAll } from "./layers.js";
import { geluAll } from "./steady.js";

/** @import { Doors, Shape } from "./attend.js" */
/** Numbers by torch's name of a weight. @typedef {Record<string, Float64Array>} Named */

/** A model's weights, their slopes, and buffers for texts of one shape, used again at every step. */
export class Kept {
  constructor(/** @type {Named} */ weights, /** @type {Shape} */ shape, /** @type {Named} */ slopes = {}) {
    this.of = weights;
    this.slopesOf = slopes;
    this.shape = shape;
    this.tokens = shape.rows * shape.seq;
    this.width = shape.heads * shape.wide;
    this.layers = Object.keys(weights).filter((name) => name.endsWith(".norm_1.weight")).length;
    this.doors = /** @type {Doors} */ ({});
    this.kept = /** @type {Map<string, Float64Array>} */ (new Map());
  }

  /** So many numbers of each token, kept for later. @type {(name: string, each: number) => Float64Array} */
  room(name, each) {
    const room = this.kept.get(name) ?? new Float64Array(this.tokens * each);
    this.kept.set(name, room);
    return room;
  }

  layer(/** @type {string} */ name, of = this.of) {
    return { weight: of[`${name}.weight`], bias: of[`${name}.bias`] };
  }

  slopes(/** @type {string} */ name) {
    return this.layer(name, this.slopesOf);
  }

  /** What a norm keeps of a step. */
  normed(/** @type {string} */ name) {
    const [out, normed] = [this.room(`${name}.out`, this.width), this.room(`${name}.normed`, this.width)];
    return { out, normed, scale: this.room(`${name}.scale`, 1) };
  }

  /** What the heads of a block mix. @type {(name: string, qkv: Float64Array, mixed: Float64Array) => void} */
  attend(name, qkv, mixed) {
    const { heads, seq } = this.shape;
    attendAll(qkv, this.room(`${name}.weights`, seq * heads), mixed, this.doors, this.shape);
  }

  /** From the embedded tokens through all blocks to the logits. */
  through(/** @type {Float64Array} */ x) {
    for (let n = 0; n < this.layers; n++) blockForward(this, `blocks.${n}`, x);
    const kept = this.normed("norm");
    normAll(x, this.layer("norm"), kept, this.tokens);
    const logits = this.room("logits", this.of["head.weight"].length / this.width);
    linearAll(logits, kept.out, this.layer("head"), this.tokens);
    return logits;
  }
}

// A block's way forward: adds to x what attention and the network between attentions say.
/** @type {(kept: Kept, name: string, x: Float64Array) => void} */
export function blockForward(kept, name, x) {
  const { tokens, width } = kept;
  const room = (/** @type {string} */ of, /** @type {number} */ each) => kept.room(`${name}.${of}`, each);
  const layer = (/** @type {string} */ of) => kept.layer(`${name}.${of}`);
  const [first, second] = ["norm_1", "norm_2"].map((norm) => kept.normed(`${name}.${norm}`));
  const hidden = layer("mlp.0").bias.length;
  const [part, up] = [kept.room("part", width), kept.room("up", hidden)];
  const add = () => {
    for (let i = 0; i < x.length; i++) x[i] += part[i];
  };
  normAll(x, layer("norm_1"), first, tokens);
  const [qkv, mixed] = [room("qkv", 3 * width), room("mixed", width)];
  linearAll(qkv, first.out, layer("attention.w_qkv"), tokens);
  turnAll(qkv, kept.doors, kept.shape, 1);
  kept.attend(name, qkv, mixed);
  linearAll(part, mixed, layer("attention.w_o"), tokens);
  add();
  normAll(x, layer("norm_2"), second, tokens);
  linearAll(up, second.out, layer("mlp.0"), tokens);
  const active = room("active", hidden);
  geluAll(up, active, room("slope", hidden), up.length);
  linearAll(part, active, layer("mlp.2"), tokens);
  add();
}
