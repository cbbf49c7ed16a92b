// How large the base must be: the same as rope_edu/encodings/base_bound.py.

const ROWS = 64; // distances that are summed together

/**
 * The first distance r from 0, below the limit, with Σ cos(r θ_i) < 0; nothing where there is none.
 * cos((a + b) θ) = cos(aθ) cos(bθ) − sin(aθ) sin(bθ): one sine and cosine for each pair of a stretch.
 * @param {Vector} frequencies
 * @param {number} limit
 * @returns {number | null}
 */
export function firstNegativeDistance(frequencies, limit) {
  const [cos, sin] = [Math.cos, Math.sin].map((f) =>
    frequencies.map((frequency) => Float64Array.from({ length: ROWS }, (_, b) => f(b * frequency))),
  );
  const sums = new Float64Array(ROWS);
  for (let start = 0; start < limit; start += ROWS) {
    sums.fill(0);
    for (let i = 0; i < frequencies.length; i++) {
      const [c, s, angle] = [cos[i], sin[i], start * frequencies[i]];
      const [coarseCos, coarseSin] = [Math.cos(angle), Math.sin(angle)];
      for (let b = 0; b < ROWS; b++) sums[b] += coarseCos * c[b] - coarseSin * s[b];
    }
    const found = sums.findIndex((total, b) => total < 0 && start + b < limit);
    if (found >= 0) return start + found;
  }
  return null;
}
