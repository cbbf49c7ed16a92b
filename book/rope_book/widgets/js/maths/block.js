// Runs the blocks of the tiny transformer in book/rope_book/training/transformer.py, and allocates buffers for the
// backward pass.
import { attendAll, turnAll } from "./attend.js";
import { linearAll, normAll } from "./layers.js";
import { geluAll } from "./steady.js";

/** @import { Doors, Shape } from "./attend.js" */
/** Arrays keyed by torch's weight names. @typedef {Record<string, Float64Array>} Named */

/** A model's weights and gradients, with buffers for texts of a fixed shape that are reused at each step. */
export class Workspace {
  constructor(/** @type {Named} */ weights, /** @type {Shape} */ shape, /** @type {Named} */ gradients = {}) {
    this.of = weights;
    this.gradientsOf = gradients;
    this.shape = shape;
    this.tokens = shape.rows * shape.seq;
    this.width = shape.heads * shape.wide;
    this.layers = Object.keys(weights).filter((name) => name.endsWith(".norm_1.weight")).length;
    this.doors = /** @type {Doors} */ ({});
    this.buffers = /** @type {Map<string, Float64Array>} */ (new Map());
  }

  /** A named buffer with `perToken` numbers per token, allocated on first use. @type {(name: string, perToken: number) => Float64Array} */
  room(name, perToken) {
    const room = this.buffers.get(name) ?? new Float64Array(this.tokens * perToken);
    this.buffers.set(name, room);
    return room;
  }

  layer(/** @type {string} */ name, of = this.of) {
    return { weight: of[`${name}.weight`], bias: of[`${name}.bias`] };
  }

  gradients(/** @type {string} */ name) {
    return this.layer(name, this.gradientsOf);
  }

  /** The buffers for a LayerNorm's output and for its backward pass. */
  normed(/** @type {string} */ name) {
    const [out, normed] = [this.room(`${name}.out`, this.width), this.room(`${name}.normed`, this.width)];
    return { out, normed, scale: this.room(`${name}.scale`, 1) };
  }

  /** Compute attention for all heads of a block, writing the weighted values to `mixed`. @type {(name: string, qkv: Float64Array, mixed: Float64Array) => void} */
  attend(name, qkv, mixed) {
    const { heads, seq } = this.shape;
    attendAll(qkv, this.room(`${name}.weights`, seq * heads), mixed, this.doors, this.shape);
  }

  /** Run the embedded tokens x through all blocks, and return the logits. */
  through(/** @type {Float64Array} */ x) {
    for (let n = 0; n < this.layers; n++) blockForward(this, `blocks.${n}`, x);
    const norm = this.normed("norm");
    normAll(x, this.layer("norm"), norm, this.tokens);
    const logits = this.room("logits", this.of["head.weight"].length / this.width);
    linearAll(logits, norm.out, this.layer("head"), this.tokens);
    return logits;
  }
}

// Run the forward pass through a block, which adds the attention and MLP outputs to x.
/** @type {(space: Workspace, name: string, x: Float64Array) => void} */
export function blockForward(space, name, x) {
  const { tokens, width } = space;
  const room = (/** @type {string} */ of, /** @type {number} */ perToken) => space.room(`${name}.${of}`, perToken);
  const layer = (/** @type {string} */ of) => space.layer(`${name}.${of}`);
  const [first, second] = ["norm_1", "norm_2"].map((norm) => space.normed(`${name}.${norm}`));
  const hidden = layer("mlp.0").bias.length;
  const [part, up] = [space.room("part", width), space.room("up", hidden)];
  const add = () => {
    for (let i = 0; i < x.length; i++) x[i] += part[i];
  };
  normAll(x, layer("norm_1"), first, tokens);
  const [qkv, mixed] = [room("qkv", 3 * width), room("mixed", width)];
  linearAll(qkv, first.out, layer("attention.w_qkv"), tokens);
  turnAll(qkv, space.doors, space.shape, 1);
  space.attend(name, qkv, mixed);
  linearAll(part, mixed, layer("attention.w_o"), tokens);
  add();
  normAll(x, layer("norm_2"), second, tokens);
  linearAll(up, second.out, layer("mlp.0"), tokens);
  const active = room("active", hidden);
  geluAll(up, active, room("slope", hidden), up.length);
  linearAll(part, active, layer("mlp.2"), tokens);
  add();
}
