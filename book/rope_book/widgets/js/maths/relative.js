// Computes relative encodings; mirrors rope_edu/encodings/relative.py.

// T5's bucket for a relative position j − i (key minus query).
/** @type {(relativePosition: number, bidirectional: boolean, numBuckets?: number, maxDistance?: number) => number} */
export function t5Bucket(relativePosition, bidirectional, numBuckets = 32, maxDistance = 128) {
  const buckets = bidirectional ? Math.floor(numBuckets / 2) : numBuckets;
  const offset = bidirectional && relativePosition > 0 ? buckets : 0;
  const distance = bidirectional ? Math.abs(relativePosition) : Math.max(-relativePosition, 0);
  const exact = Math.floor(buckets / 2);
  if (distance < exact) return offset + distance;
  const share = Math.log(distance / exact) / Math.log(maxDistance / exact);
  return offset + Math.min(exact + Math.floor(share * (buckets - exact) + 1e-9), buckets - 1);
}

/** ALiBi's slopes, following the published rule for any number of heads. @type {(nHeads: number) => number[]} */
export function alibiSlopes(nHeads) {
  const power = 2 ** Math.floor(Math.log2(nHeads));
  const slopes = (/** @type {number} */ heads) =>
    Array.from({ length: heads }, (_, h) => 2 ** ((-8 * (h + 1)) / heads));
  const extra = slopes(2 * power).filter((_, h) => h % 2 === 0);
  return [...slopes(power), ...extra.slice(0, nHeads - power)];
}

// Shaw's row for a relative position j − i (key minus query), clipped to ±clip: 0 … 2·clip.
export function shawIndex(/** @type {number} */ relativePosition, /** @type {number} */ clip) {
  return Math.min(clip, Math.max(-clip, relativePosition)) + clip;
}
