// Products of matrices and biases over many tokens at once, on typed arrays: numbers of one token stand side by side.

/** Numbers of a matrix, and how far apart those of two rows and of two terms of a sum stand. @typedef {{values: Float64Array, row: number, deep: number}} Strided */

// Row by row, as torch keeps a weight: sums go along a row.
/** @type {(values: Float64Array, columns: number) => Strided} */
export const along = (values, columns) => ({ values, row: columns, deep: 1 });

/** The same matrix, sums going down its columns. @type {(values: Float64Array, columns: number) => Strided} */
export const down = (values, columns) => ({ values, row: 1, deep: columns });

// out[r, c] = Σ_k a[r, k]·b[c, k] over `depth` terms; two rows and four columns at a time, which a processor holds in registers.
/** @type {(out: Float64Array, rows: number, columns: number, depth: number, a: Strided, b: Strided) => void} */
export function product(out, rows, columns, depth, a, b) {
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

// Eight sums side by side.
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

/** Add a bias to each token's numbers. @type {(out: Float64Array, bias: Float64Array, tokens: number) => void} */
export function addBias(out, bias, tokens) {
  const width = bias.length;
  for (let t = 0; t < tokens; t++) for (let i = 0; i < width; i++) out[t * width + i] += bias[i];
}

// What each number of a bias adds up to over all tokens.
/** @type {(bias: Float64Array, from: Float64Array, tokens: number) => void} */
export function sumTokens(bias, from, tokens) {
  const width = bias.length;
  bias.fill(0);
  for (let t = 0; t < tokens; t++) for (let i = 0; i < width; i++) bias[i] += from[t * width + i];
}
