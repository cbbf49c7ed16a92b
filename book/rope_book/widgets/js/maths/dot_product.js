// Computes dot-product attention; mirrors rope_edu/attention/dot_product.py.

/** The dot product of two vectors. @type {(a: Vector, b: Vector) => number} */
export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** Multiply a matrix by a vector. @type {(matrix: Matrix, x: Vector) => number[]} */
export const matVec = (matrix, x) => matrix.map((row) => dot(row, x));

/** Softmax over an array, where a score of −Infinity gets weight 0. @type {(scores: Vector) => number[]} */
export function softmax(scores) {
  const top = Math.max(...scores);
  const exps = scores.map((score) => Math.exp(score - top));
  const sum = exps.reduce((a, b) => a + b, 0);
  return exps.map((e) => e / sum);
}

// Compute attention for one head and return {weights, outputs}. If `causal` is set, queries do not see later keys.
/** @type {(queries: Matrix, keys: Matrix, values: Matrix, causal?: boolean) => {weights: Matrix, outputs: Matrix}} */
export function attention(queries, keys, values, causal = false) {
  const root = Math.sqrt(keys[0].length);
  const weights = queries.map((query, m) =>
    softmax(keys.map((key, n) => (causal && n > m ? -Infinity : dot(query, key) / root))),
  );
  const columns = values[0].map((_, c) => c);
  const outputs = weights.map((row) => columns.map((c) => row.reduce((sum, w, n) => sum + w * values[n][c], 0)));
  return { weights, outputs };
}
