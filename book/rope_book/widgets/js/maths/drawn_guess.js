// Compares a curve drawn by the reader with the true curve; mirrors book/rope_book/widgets/maths/drawn_guess.py.

// The height of a drawn line at a given fraction of its length, by linear interpolation. The line begins at height
// `start` and passes through `heights` at equal horizontal intervals.
/** @type {(start: number, heights: Vector, share: number) => number} */
export function guessAt(start, heights, share) {
  const line = [start, ...heights];
  const place = share * (line.length - 1);
  const left = heights.length ? Math.min(line.length - 2, Math.floor(place)) : 0;
  const right = Math.min(left + 1, line.length - 1);
  return line[left] + (line[right] - line[left]) * (place - left);
}

// The mean distance between a drawn line and the truth at the given fractions of its length.
/** @type {(start: number, heights: Vector, shares: Vector, truth: Vector) => number} */
export function guessGap(start, heights, shares, truth) {
  const gaps = shares.map((share, i) => Math.abs(guessAt(start, heights, share) - truth[i]));
  return gaps.reduce((sum, gap) => sum + gap, 0) / shares.length;
}
