// How far equal vectors stay alike: the same as rope_edu/encodings/base_bound.py.

const FRESH = 256; // distances between which each pair's cosine is turned on by its angle; then it is computed anew

/**
 * The first distance below `limit` at which Σ cos(r·θ_i) is negative, or null.
 * @param {Vector} frequencies
 * @param {number} limit
 */
export function firstNegativeDistance(frequencies, limit) {
  for (let start = 0; start < limit; start += FRESH) {
    const found = negativeFrom(frequencies, start, Math.min(limit - start, FRESH));
    if (found !== null) return found;
  }
  return null;
}

/** @type {(frequencies: Vector, start: number, count: number) => number | null} */
function negativeFrom(frequencies, start, count) {
  const [stepCos, stepSin] = [Math.cos, Math.sin].map((f) => frequencies.map(f));
  const [cos, sin] = [Math.cos, Math.sin].map((f) => frequencies.map((frequency) => f(start * frequency)));
  for (let r = 0; r < count; r++) {
    let sum = 0;
    for (let i = 0; i < cos.length; i++) {
      sum += cos[i];
      const turned = cos[i] * stepCos[i] - sin[i] * stepSin[i];
      sin[i] = cos[i] * stepSin[i] + sin[i] * stepCos[i];
      cos[i] = turned;
    }
    if (sum < 0) return start + r;
  }
  return null;
}

/**
 * Σ cos(r·θ_i) over the number of pairs: the score of equal vectors on average, as a part of what it is at distance 0.
 * @param {Vector} frequencies
 * @param {number} distance
 */
export function meanCosine(frequencies, distance) {
  let sum = 0;
  for (const frequency of frequencies) sum += Math.cos(distance * frequency);
  return sum / frequencies.length;
}
