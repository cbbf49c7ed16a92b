// Computes the same lower bound on the base as book/rope_book/results/base_search.py, with a faster algorithm.

const DOUBT = 1e-9; // margin well above the rounding error that all jumps accumulate

// Find the smallest distance r below the limit at which Σ cos(r θ_i) is negative, for decreasing frequencies.
// Returns null if there is none.
//
// Most distances can be skipped. Each of the i fastest pairs contributes at least −1, so the total remains positive
// while the sum S of the remaining pairs exceeds i. With slope S′ and curvature at most C = Σ θ², that sum is at
// least S + S′δ − Cδ²/2 after δ more tokens. The best i gives the longest jump. Jumps are powers of two with
// precomputed rotations, so that each step needs multiplications but no cosines.
/** @type {(frequencies: Vector, limit: number) => number | null} */
export function firstNegativeDistance(frequencies, limit) {
  const rates = Float64Array.from(frequencies);
  const bends = slowerSums(rates.map((rate) => Math.max(rate ** 2, 1e-30))); // a pair may have frequency 0
  const leaps = Array.from({ length: 1 + Math.ceil(Math.log2(limit)) }, (_, power) => turnsAt(rates, 2 ** power));
  const turns = turnsAt(rates, 0);
  for (let r = 0; r < limit; ) {
    const { sum, reach } = outlook(rates, bends, turns);
    if (sum < DOUBT && cosineSum(rates, r) < 0) return r;
    const power = Math.min(Math.floor(Math.log2(reach)), leaps.length - 1);
    turnOn(turns, leaps[power]);
    r += 2 ** power;
  }
  return null;
}

/** @typedef {{cos: Float64Array, sin: Float64Array}} Turns */

// Σ cos at the current distance, and how many tokens (at least 1) to jump to the next distance that must be
// checked.
/** @type {(rates: Float64Array, bends: Float64Array, turns: Turns) => {sum: number, reach: number}} */
function outlook(rates, bends, { cos, sin }) {
  let sum = 0;
  let slope = 0;
  let reach = 1;
  for (let i = bends.length - 1; i >= 0; i--) {
    sum += cos[i];
    slope -= rates[i] * sin[i];
    const above = sum - i - DOUBT;
    if (above > 0) reach = Math.max(reach, (slope + Math.sqrt(slope * slope + 2 * bends[i] * above)) / bends[i]);
  }
  return { sum, reach };
}

function turnsAt(/** @type {Float64Array} */ rates, /** @type {number} */ distance) {
  const angles = rates.map((rate) => distance * rate);
  return { cos: angles.map(Math.cos), sin: angles.map(Math.sin) };
}

/** Rotate `turns` in place. @type {(turns: Turns, by: Turns) => void} */
function turnOn({ cos, sin }, by) {
  for (let i = 0; i < cos.length; i++) {
    const c = cos[i];
    const s = sin[i];
    cos[i] = c * by.cos[i] - s * by.sin[i];
    sin[i] = s * by.cos[i] + c * by.sin[i];
  }
}

function cosineSum(/** @type {Float64Array} */ rates, /** @type {number} */ distance) {
  let sum = 0;
  for (const rate of rates) sum += Math.cos(distance * rate);
  return sum;
}

/**
 * For each pair, the sum of its value and those of all slower pairs.
 * @type {(values: Float64Array) => Float64Array}
 */
function slowerSums(values) {
  const sums = values.slice();
  for (let i = sums.length - 2; i >= 0; i--) sums[i] += sums[i + 1];
  return sums;
}
