// Runs a trained head on the first test text and returns the attention weights and the influence of each pair.
import { Network } from "./network.js";
import { drawTexts } from "./page_tasks.js";
import { HEADS, WIDTH } from "./page_weights.js";

/** @import { Model } from "./network.js" */

const WIDE = WIDTH / HEADS;

/** Attention weights in row-major order, and the influence of each pair on the scores. @typedef {{seq: number, weights: Float64Array, pairs: Float64Array}} Inside */

// The influence of each of a head's pairs on the scores: the standard deviation of the pair's contribution over a
// query's visible keys, averaged over all queries but the first. Each token has queries, keys and values for all
// heads, and pairs are (i, i + half).
/** @type {(qkv: Float64Array, seq: number, head: number) => Float64Array} */
export function swayOfPairs(qkv, seq, head) {
  const half = WIDE / 2;
  const sway = new Float64Array(half);
  for (let pair = 0; pair < half; pair++) {
    for (let i = 1; i < seq; i++) {
      const query = i * 3 * WIDTH + head * WIDE + pair;
      let [sum, squares] = [0, 0];
      for (let j = 0; j <= i; j++) {
        const key = j * 3 * WIDTH + WIDTH + head * WIDE + pair;
        const part = (qkv[query] * qkv[key] + qkv[query + half] * qkv[key + half]) / Math.sqrt(WIDE);
        sum += part;
        squares += part * part;
      }
      const mean = sum / (i + 1);
      sway[pair] += Math.sqrt(Math.max(0, squares / (i + 1) - mean * mean)) / (seq - 1);
    }
  }
  return sway;
}

// Inspect a head in the last block on a text of the trained length.
/** @type {(model: Model, which: {task: string, length: number, head: number}, rope: Rotation) => Inside} */
export function lookInside(model, { task, length, head }, rope) {
  const { seq, tokens } = drawTexts(task, { split: "test", seed: 0, step: 0 }, 1, length);
  const network = new Network(model, 1, seq, rope);
  network.forward(tokens);
  const block = `blocks.${network.layers - 1}`;
  const all = network.room(`${block}.weights`, 0);
  const n = head - 1;
  return {
    seq,
    weights: all.slice(n * seq * seq, (n + 1) * seq * seq),
    pairs: swayOfPairs(network.room(`${block}.qkv`, 0), seq, n),
  };
}
