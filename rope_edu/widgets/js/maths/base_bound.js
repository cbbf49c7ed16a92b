// How large the base must be: the same as rope_edu/encodings/base_bound.py, by another walk.

/**
 * The first distance r from 0, below the limit, with Σ cos(r θ_i) < 0; nothing where there is none.
 *
 * Most distances need no look. Let the i fastest pairs be as low as they can, −1 each: the sum stays above 0 as long as the
 * others sum to more than i, and within δ tokens those change by at most δ Σ θ. The best i says how far to leap.
 * @param {Vector} frequencies
 * @param {number} limit
 * @returns {number | null}
 */
export function firstNegativeDistance(frequencies, limit) {
  const rates = slowerRates(frequencies);
  for (let r = 0; r < limit; ) {
    let [sum, leap] = [0, 1];
    for (let i = frequencies.length - 1; i >= 0; i--) {
      sum += Math.cos(r * frequencies[i]);
      leap = Math.max(leap, (sum - i) / rates[i]);
    }
    if (sum < 0) return r;
    r += Math.floor(leap);
  }
  return null;
}

/**
 * For each pair the sum of its frequency and all slower ones.
 * @param {Vector} frequencies falling
 */
function slowerRates(frequencies) {
  const rates = [...frequencies];
  for (let i = rates.length - 2; i >= 0; i--) rates[i] += rates[i + 1];
  return rates;
}
