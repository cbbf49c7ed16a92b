// Computes exp, log, cos, sin, powers and GELU with only additions, multiplications and divisions. IEEE 754
// defines these exactly, but Math.exp differs between engines, and training amplifies any difference. With these
// functions, all browsers produce the same run.

const LN_2 = [0.6931471803691238, 1.9082149292705877e-10]; // the first part has 32 bits, for exact integer products
const QUARTER = [1.5707963267341256, 6.077100506506192e-11]; // π/2 split in the same way
const GRID = 64; // nodes per unit in the table of Φ
const FAR = 9; // Φ rounds to 0 or 1 beyond this

/** The reciprocal factorials 1/n!. @type {Float64Array} */
const OVER = new Float64Array(20).fill(1);
for (let n = 2; n < OVER.length; n++) OVER[n] = OVER[n - 1] / n;

/** The exact powers 2^n for n from −1022 to 1023. @type {Float64Array} */
const POWERS = new Float64Array(2046).fill(1);
for (let n = 1; n <= 1023; n++) POWERS[1022 + n] = 2 * POWERS[1021 + n];
for (let n = 1; n <= 1022; n++) POWERS[1022 - n] = POWERS[1023 - n] / 2;

/** e^x, which is 0 below −708 and infinite above 709. @type {(x: number) => number} */
export function steadyExp(x) {
  if (x < -708) return 0;
  if (x > 709) return Infinity;
  const k = Math.round(x / (LN_2[0] + LN_2[1]));
  const r = x - k * LN_2[0] - k * LN_2[1];
  let sum = OVER[14];
  for (let n = 13; n >= 0; n--) sum = sum * r + OVER[n];
  return sum * POWERS[k + 1022];
}

// The natural logarithm of a positive number. For the mantissa m, this uses ln m = 2·artanh((m − 1)/(m + 1)).
export function steadyLog(/** @type {number} */ x) {
  let k = 0;
  for (; x > 1.42; x /= 2) k++;
  for (; x < 0.7; x *= 2) k--;
  const s = (x - 1) / (x + 1);
  let sum = 0;
  for (let odd = 25; odd >= 1; odd -= 2) sum = sum * s * s + 1 / odd;
  return 2 * s * sum + k * LN_2[1] + k * LN_2[0];
}

/** base^power for a positive base. @type {(base: number, power: number) => number} */
export const steadyPower = (base, power) => steadyExp(power * steadyLog(base));

// Σ (−1)^n r^(2n + first)/(2n + first)!, which is the sine for first = 1 and the cosine for first = 0.
function series(/** @type {number} */ r, /** @type {number} */ first) {
  let sum = 0;
  for (let n = 18 + first; n >= 0; n -= 2) sum = OVER[n] - sum * r * r;
  return first ? sum * r : sum;
}

/** The cosine and the sine of an angle up to a million radians. @type {(angle: number) => Pair} */
export function steadyTurn(angle) {
  const k = Math.round(angle / (QUARTER[0] + QUARTER[1]));
  const r = angle - k * QUARTER[0] - k * QUARTER[1];
  const [c, s] = [series(r, 0), series(r, 1)];
  const turned = /** @type {Pair[]} */ ([
    [c, s],
    [-s, c],
    [-c, -s],
    [s, -c],
  ]);
  return turned[((k % 4) + 4) % 4];
}

/** The normal distribution Φ and its density φ at every node. */
const table = { below: new Float64Array(2 * FAR * GRID + 1), density: new Float64Array(2 * FAR * GRID + 1) };
for (let i = 0; i < table.below.length; i++) {
  const x = i / GRID - FAR;
  let [term, sum] = [x, x];
  for (let odd = 3; sum + term !== sum; odd += 2) {
    term *= (x * x) / odd;
    sum += term;
  }
  table.density[i] = steadyExp((-x * x) / 2) / Math.sqrt(2 * (2 * (QUARTER[0] + QUARTER[1])));
  table.below[i] = 0.5 + sum * table.density[i];
}

// Compute GELU, x·Φ(x), and its derivative, Φ(x) + x·φ(x), with a Taylor series around the nearest node of the table.
/** @type {(x: Float64Array, out: Float64Array, slope: Float64Array, count: number) => void} */
export function geluAll(x, out, slope, count) {
  for (let i = 0; i < count; i++) {
    const value = x[i];
    if (value > FAR || value < -FAR) {
      slope[i] = value > 0 ? 1 : 0;
      out[i] = value * slope[i];
      continue;
    }
    const node = Math.round((value + FAR) * GRID);
    const x0 = node / GRID - FAR;
    const d = value - x0;
    const [h2, h3] = [x0 * x0 - 1, x0 * (x0 * x0 - 3)];
    const h4 = x0 * h3 - 3 * h2;
    const h5 = x0 * h4 - 4 * h3;
    const area = d * (1 - d * (x0 / 2 - d * (h2 / 6 - d * (h3 / 24 - d * (h4 / 120 - (d * h5) / 720)))));
    const below = table.below[node] + table.density[node] * area;
    const around = 1 - d * (x0 - d * (h2 / 2 - d * (h3 / 6 - d * (h4 / 24 - (d * h5) / 120))));
    out[i] = value * below;
    slope[i] = below + value * table.density[node] * around;
  }
}
