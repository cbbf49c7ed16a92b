// Applies linear layers and LayerNorm to batches of tokens, stored contiguously in typed arrays.

/** A weight in row-major order, as in torch, and its bias. @typedef {{weight: Float64Array, bias?: Float64Array}} Layer */
/** A matrix as an array, with strides between rows and between the terms of a sum. @typedef {{values: Float64Array, row: number, deep: number}} Strided */

/** A row-major matrix, to be summed along its rows. @type {(values: Float64Array, columns: number) => Strided} */
const along = (values, columns) => ({ values, row: columns, deep: 1 });

/** A row-major matrix, to be summed down its columns. @type {(values: Float64Array, columns: number) => Strided} */
const down = (values, columns) => ({ values, row: 1, deep: columns });

/** Compute out = x Wᵀ + b for each token. @type {(out: Float64Array, x: Float64Array, layer: Layer, tokens: number) => void} */
export function linearAll(out, x, { weight, bias }, tokens) {
  const [rows, columns] = [out.length / tokens, x.length / tokens];
  if (tokens > 1) product(out, tokens, rows, columns, along(x, columns), along(weight, columns));
  else for (let i = 0; i < rows; i++) out[i] = dotAt(weight, i * columns, x, 0, columns);
  if (!bias) return;
  for (let t = 0; t < tokens; t++) for (let i = 0; i < rows; i++) out[t * rows + i] += bias[i];
}

// Backpropagate through a linear layer. Given the gradient of `out` in `from`, writes the gradient of x to `into`,
// and the gradients of weight and bias to `gradients`.
/** @type {(into: Float64Array, from: Float64Array, x: Float64Array, layer: Layer, gradients: Layer, tokens: number) => void} */
export function linearBack(into, from, x, { weight }, gradients, tokens) {
  const [rows, columns] = [from.length / tokens, x.length / tokens];
  if (gradients.bias) sumTokens(gradients.bias, from, tokens);
  product(gradients.weight, rows, columns, tokens, down(from, rows), down(x, columns));
  product(into, tokens, columns, rows, along(from, rows), down(weight, columns));
}

/** @type {(bias: Float64Array, from: Float64Array, tokens: number) => void} */
function sumTokens(bias, from, tokens) {
  const width = bias.length;
  bias.fill(0);
  for (let t = 0; t < tokens; t++) for (let i = 0; i < width; i++) bias[i] += from[t * width + i];
}

// Σ a[i + k]·b[j + k] over `count` terms, in two partial sums that the CPU can accumulate in parallel.
/** @type {(a: ArrayLike<number>, i: number, b: ArrayLike<number>, j: number, count: number) => number} */
export function dotAt(a, i, b, j, count) {
  let [even, odd] = [0, 0];
  const end = i + count - 1;
  for (; i < end; i += 2, j += 2) {
    even += a[i] * b[j];
    odd += a[i + 1] * b[j + 1];
  }
  return i === end ? even + odd + a[i] * b[j] : even + odd;
}

// out[r, c] = Σ_k a[r, k]·b[c, k] over `depth` terms, in blocks of two rows and four columns, which fit in
// registers.
/** @type {(out: Float64Array, rows: number, columns: number, depth: number, a: Strided, b: Strided) => void} */
function product(out, rows, columns, depth, a, b) {
  const [evenRows, wholeColumns] = [rows - (rows % 2), columns - (columns % 4)];
  for (let r = 0; r < evenRows; r += 2) {
    for (let c = 0; c < wholeColumns; c += 4) {
      block(
        out,
        r * columns + c,
        columns,
        depth,
        a.values,
        r * a.row,
        a.row,
        a.deep,
        b.values,
        c * b.row,
        b.row,
        b.deep,
      );
    }
  }
  for (let r = 0; r < rows; r++) {
    for (let c = r < evenRows ? wholeColumns : 0; c < columns; c++) {
      let sum = 0;
      for (let k = 0; k < depth; k++) sum += a.values[r * a.row + k * a.deep] * b.values[c * b.row + k * b.deep];
      out[r * columns + c] = sum;
    }
  }
}

// Compute a block of eight sums, from rows of a at index i and rows of b at index j.
/** @type {(out: Float64Array, at: number, columns: number, depth: number, a: Float64Array, i: number, aRow: number,
 *   aDeep: number, b: Float64Array, j: number, bRow: number, bDeep: number) => void} */
function block(out, at, columns, depth, a, i, aRow, aDeep, b, j, bRow, bDeep) {
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  let t0 = 0;
  let t1 = 0;
  let t2 = 0;
  let t3 = 0;
  for (let k = 0; k < depth; k++) {
    const x = a[i];
    const y = a[i + aRow];
    const b0 = b[j];
    const b1 = b[j + bRow];
    const b2 = b[j + 2 * bRow];
    const b3 = b[j + 3 * bRow];
    s0 += x * b0;
    s1 += x * b1;
    s2 += x * b2;
    s3 += x * b3;
    t0 += y * b0;
    t1 += y * b1;
    t2 += y * b2;
    t3 += y * b3;
    i += aDeep;
    j += bDeep;
  }
  out[at] = s0;
  out[at + 1] = s1;
  out[at + 2] = s2;
  out[at + 3] = s3;
  out[at + columns] = t0;
  out[at + columns + 1] = t1;
  out[at + columns + 2] = t2;
  out[at + columns + 3] = t3;
}

const EPSILON = 1e-5; // the default ε of LayerNorm in torch

// Apply LayerNorm to each token, storing the normalised numbers and the scale for the backward pass.
/** @type {(x: Float64Array, norm: {weight: Float64Array, bias: Float64Array},
 *   stored: {out: Float64Array, normed: Float64Array, scale: Float64Array}, tokens: number) => void} */
export function normAll(x, { weight, bias }, { out, normed, scale }, tokens) {
  const width = weight.length;
  for (let t = 0; t < tokens; t++) {
    const at = t * width;
    let [mean, square] = [0, 0];
    for (let i = 0; i < width; i++) mean += x[at + i];
    mean /= width;
    for (let i = 0; i < width; i++) square += (x[at + i] - mean) * (x[at + i] - mean);
    scale[t] = 1 / Math.sqrt(square / width + EPSILON);
    for (let i = 0; i < width; i++) {
      normed[at + i] = (x[at + i] - mean) * scale[t];
      out[at + i] = normed[at + i] * weight[i] + bias[i];
    }
  }
}
