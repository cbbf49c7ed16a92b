// Finds the features of each pair; mirrors rope_edu/encodings/layouts.py.

/** The features of pair i: adjacent, or half the width apart. @type {(i: number, pairs: number, layout?: string) => Pair} */
export function pairFeatures(i, pairs, layout = "interleaved") {
  return layout === "interleaved" ? [2 * i, 2 * i + 1] : [i, i + pairs];
}

// For each index in the half-split vector, the corresponding index in the interleaved vector.
export function layoutPermutation(/** @type {number} */ rotaryDim) {
  const pairs = rotaryDim / 2;
  return Array.from({ length: rotaryDim }, (_, i) => (i < pairs ? 2 * i : 2 * (i - pairs) + 1));
}

/** The pair that a feature of an interleaved vector belongs to. @type {(feature: number) => number} */
export const pairOf = (feature) => Math.floor(feature / 2);
