// A tiny decoder-only transformer that reads a text token by token: the same as rope_edu/nn/transformer.py.
import { dotAt, gelu, layerNorm, linear, shares } from "./layers.js";

/** @import { Norm, Weight } from "./layers.js" */
/** @typedef {{norm1: Norm, qkv: Weight, out: Weight, norm2: Norm, up: Weight, upBias: Weight, down: Weight, downBias: Weight}} Layer */
/** @typedef {{heads: number, embedding: Weight, layers: Layer[], norm: Norm, head: Weight}} Model */

/** A model from its weights by torch's names. @type {(weights: Record<string, Weight>, heads: number) => Model} */
export function makeModel(weights, heads) {
  /** @type {(name: string) => Norm} */
  const norm = (name) => ({ gain: weights[`${name}.weight`], shift: weights[`${name}.bias`] });
  const layers = /** @type {Layer[]} */ ([]);
  for (let n = 0; `blocks.${n}.norm_1.weight` in weights; n++) {
    const part = (/** @type {string} */ name) => weights[`blocks.${n}.${name}`];
    layers.push({
      norm1: norm(`blocks.${n}.norm_1`),
      qkv: part("attention.w_qkv.weight"),
      out: part("attention.w_o.weight"),
      norm2: norm(`blocks.${n}.norm_2`),
      up: part("mlp.0.weight"),
      upBias: part("mlp.0.bias"),
      down: part("mlp.2.weight"),
      downBias: part("mlp.2.bias"),
    });
  }
  return { heads, embedding: weights["embedding.weight"], layers, norm: norm("norm"), head: weights["head.weight"] };
}

/** One text as a model reads it, a token at a time, with the keys and values of all that it has read. */
export class Reader {
  constructor(/** @type {Model} */ model, /** @type {Rotation} */ rope) {
    this.model = model;
    this.rope = rope;
    this.width = model.embedding.columns;
    this.place = 0; // of the token that it reads next
    this.scores = new Float64Array(0); // of one head, used again by the next
    const kept = () => new Float64Array(0);
    this.kept = model.layers.map(() => ({ queries: kept(), keys: kept(), values: kept() }));
  }

  /** Make room for texts of so many tokens. @type {(places: number) => void} */
  reserve(places) {
    if (this.scores.length < places) this.scores = new Float64Array(places);
    for (const layer of this.kept) {
      for (const name of /** @type {("queries" | "keys" | "values")[]} */ (["queries", "keys", "values"])) {
        if (layer[name].length >= places * this.width) continue;
        const more = new Float64Array(places * this.width);
        more.set(layer[name]);
        layer[name] = more;
      }
    }
  }

  /** Read a token: the logits of the next one. @type {(token: number) => Float64Array} */
  read(token) {
    const { model, width, place } = this;
    if (this.kept[0].keys.length <= place * width) this.reserve(2 * place + 16);
    const x = model.embedding.values.slice(token * width, (token + 1) * width);
    const add = (/** @type {Float64Array} */ part) => {
      for (let i = 0; i < width; i++) x[i] += part[i];
    };
    model.layers.forEach((layer, n) => {
      add(linear(layer.out, this.#attend(n, linear(layer.qkv, layerNorm(x, layer.norm1)))));
      add(linear(layer.down, linear(layer.up, layerNorm(x, layer.norm2), layer.upBias).map(gelu), layer.downBias));
    });
    this.place += 1;
    return linear(model.head, layerNorm(x, model.norm));
  }

  // How much the token at a place attended to each up to itself, written into `scores`.
  /** @param {number} layer @param {number} head @param {number} place @param {Float64Array} [scores] */
  weights(layer, head, place, scores = new Float64Array(place + 1)) {
    const { queries, keys } = this.kept[layer];
    const [width, wide] = [this.width, this.width / this.model.heads];
    const [first, root] = [head * wide, Math.sqrt(wide)];
    const query = queries.slice(place * width + first, place * width + first + wide);
    for (let other = 0; other <= place; other++) {
      scores[other] = dotAt(query, 0, keys, other * width + first, wide) / root;
    }
    return shares(scores, place + 1);
  }

  /** Keep what this token asks, offers and says; return what its heads take from all tokens so far. */
  #attend(/** @type {number} */ layer, /** @type {Float64Array} */ qkv) {
    const { width, place, kept } = this;
    const { queries, keys, values } = kept[layer];
    queries.set(this.#turned(qkv.subarray(0, width)), place * width);
    keys.set(this.#turned(qkv.subarray(width, 2 * width)), place * width);
    values.set(qkv.subarray(2 * width), place * width);
    const taken = new Float64Array(width);
    const wide = width / this.model.heads;
    for (let head = 0; head < this.model.heads; head++) {
      const own = taken.subarray(head * wide, (head + 1) * wide);
      const weights = this.weights(layer, head, place, this.scores);
      for (let other = 0; other <= place; other++) {
        const [weight, at] = [weights[other], other * width + head * wide];
        for (let i = 0; i < wide; i++) own[i] += weight * values[at + i];
      }
    }
    return taken;
  }

  /** Queries or keys of all heads, rotated to the place of this token; pairs are (i, i + half) in each head. */
  #turned(/** @type {Float64Array} */ x) {
    const { invFreq, attentionFactor } = this.rope;
    const [out, half] = [new Float64Array(x), invFreq.length];
    invFreq.forEach((frequency, i) => {
      const [c, s] = [Math.cos, Math.sin].map((f) => attentionFactor * f(this.place * frequency));
      for (let first = i; first < x.length; first += 2 * half) {
        const [a, b] = [x[first], x[first + half]];
        out[first] = a * c - b * s;
        out[first + half] = a * s + b * c;
      }
    });
    return out;
  }
}
