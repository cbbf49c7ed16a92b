// Computes one head's scores with any encoding; mirrors rope_edu/attention/encoding.py.
import { memo } from "../lib/memo.js";
import { sinusoidal } from "./absolute.js";
import { dot, matVec } from "./dot_product.js";
import { invFreq, ropeAngles } from "./frequencies.js";
import { shawIndex, t5Bucket } from "./relative.js";
import { applyRope } from "./rotary.js";

// A function that maps k to a head's scaled scores for the word vectors `rows`, placed from position k on, with
// −Infinity where `causal` masks a key. `encoding` is none, sinusoidal, alibi, t5, shaw or rotary.
/** @type {(rows: Matrix, head: Head, encoding: string, causal: boolean) => (k: number) => Matrix} */
export function makeHead(rows, head, encoding, causal) {
  const width = head.wQuery.length;
  const [queries, keys] = [head.wQuery, head.wKey].map((matrix) => rows.map((row) => matVec(matrix, row)));
  const frequencies = invFreq(width);
  const added = memo((/** @type {number} */ position) => {
    const vector = sinusoidal(position, head.wQuery[0].length);
    return [matVec(head.wQuery, vector), matVec(head.wKey, vector)]; // added to query and key
  }, Infinity);
  /** @type {(content: Matrix, which: 0 | 1, k: number) => Matrix} */
  const placed = (content, which, k) =>
    content.map((x, m) => {
      if (encoding === "rotary") return applyRope(x, ropeAngles(k + m, frequencies));
      if (encoding !== "sinusoidal") return x;
      const term = added(k + m)[which];
      return x.map((value, i) => value + term[i]);
    });
  /** @type {(query: Vector, relative: number) => number} */
  const bias = (query, relative) => {
    if (encoding === "alibi") return -head.slope * Math.abs(relative);
    if (encoding === "t5") return head.t5[t5Bucket(relative, !causal, head.t5.length)];
    if (encoding !== "shaw") return 0;
    return dot(query, head.shaw[shawIndex(relative, (head.shaw.length - 1) / 2)]) / Math.sqrt(width);
  };
  const scoresAt = (/** @type {number} */ k) => {
    const [q, kPlaced] = [placed(queries, 0, k), placed(keys, 1, k)];
    return q.map((query, m) =>
      kPlaced.map((key, n) => {
        if (causal && n > m) return -Infinity;
        return dot(query, key) / Math.sqrt(width) + bias(query, n - m);
      }),
    );
  };
  return scoresAt;
}
