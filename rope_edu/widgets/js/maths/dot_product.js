// The figures' side of rope_edu/attention/dot_product.py.

/** Sum of products. */
export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** Matrix times column. */
export function matVec(matrix, x) {
  return matrix.map((row) => dot(row, x));
}

/** Softmax over an array; −Infinity is weight 0. */
export function softmax(scores) {
  const top = Math.max(...scores);
  const exps = scores.map((score) => Math.exp(score - top));
  const sum = exps.reduce((a, b) => a + b, 0);
  return exps.map((e) => e / sum);
}
