// Runs one head of SmolLM2 on a short text; mirrors book/rope_book/widgets/maths/real_head.py.
import { dot, softmax } from "./dot_product.js";
import { ropeAngles } from "./frequencies.js";
import { pairFeatures } from "./layouts.js";
import { applyRope } from "./rotary.js";

const [NEAR, FAR] = [2, 8]; // minimum distances, in tokens, that count as near and as far
const LETTER = /[\p{L}\p{N}]/u;

// For each job: whether query m should attend to key n.
/** @type {Record<string, (tokens: string[], m: number, n: number) => boolean>} */
const COUNTS = {
  previous: (_, m, n) => n === m - 1,
  itself: (_, m, n) => n === m,
  near: (_, m, n) => m - n >= NEAR && m - n < FAR,
  far: (_, m, n) => m - n >= FAR && n > 0,
  same: (tokens, m, n) => n < m && tokens[n] === tokens[m],
  after_same: (tokens, m, n) => n < m && n > 0 && tokens[n - 1] === tokens[m],
  mark: (tokens, m, n) => n < m && n > 0 && !LETTER.test(tokens[n]),
  first: (_, _m, n) => n === 0,
};

// The keys that a job attends to, in one row per query. The first query's row is all false, because that query sees
// only one key.
/** @type {(job: string, tokens: string[]) => boolean[][]} */
export const targets = (job, tokens) =>
  tokens.map((_, m) => tokens.map((_, n) => m > 0 && n <= m && COUNTS[job](tokens, m, n)));

// The contribution of each pair to the score of a query at m and a key at n. The contributions add up to q·k/√d.
/** @type {(q: Vector, k: Vector, m: number, n: number, rotation: Rotation, layout: string) => number[]} */
export function pairShares(q, k, m, n, { invFreq, attentionFactor }, layout) {
  const [a, b] = [applyRope(q, ropeAngles(m, invFreq), layout), applyRope(k, ropeAngles(n, invFreq), layout)];
  const scale = attentionFactor ** 2 / Math.sqrt(q.length);
  return invFreq.map((_, i) => {
    const [x, y] = pairFeatures(i, invFreq.length, layout);
    return scale * (a[x] * b[x] + a[y] * b[y]);
  });
}

// Causal attention weights for a text that starts at position `start`.
/** @type {(q: Matrix, k: Matrix, start: number, rotation: Rotation, layout: string) => Matrix} */
export function headWeights(q, k, start, { invFreq, attentionFactor }, layout) {
  const turned = (/** @type {Matrix} */ rows) =>
    rows.map((x, m) => applyRope(x, ropeAngles(start + m, invFreq), layout));
  const [queries, keys] = [turned(q), turned(k)];
  const scale = attentionFactor ** 2 / Math.sqrt(q[0].length);
  return queries.map((query, m) => softmax(keys.map((key, n) => (n > m ? -Infinity : scale * dot(query, key)))));
}

// The total weight on the target keys, averaged over all queries that have targets, or NaN if none do.
/** @type {(weights: Matrix, counts: boolean[][]) => number} */
export function jobDone(weights, counts) {
  const asked = counts.map((row, m) => ({ row, m })).filter(({ row }) => row.includes(true));
  const done = asked.map(({ row, m }) => dot(weights[m], row.map(Number)));
  return done.reduce((sum, part) => sum + part, 0) / asked.length;
}
