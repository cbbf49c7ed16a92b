// Computes frequencies for positions with more than one coordinate; mirrors rope_edu/encodings/spatial.py.
import { range } from "../lib/numbers.js";

// Frequencies for one block of pairs per axis; each block has the frequencies of a head of the block's width.
/** @type {(headDim: number, axes?: number, base?: number) => Matrix} */
export function axialFrequencies(headDim, axes = 2, base = 10000) {
  const block = headDim / (2 * axes);
  const pairs = range(0, headDim / 2 - 1);
  const frequency = (/** @type {number} */ i) => base ** (-(i % block) / block);
  return range(0, axes - 1).map((axis) => pairs.map((i) => (Math.floor(i / block) === axis ? frequency(i) : 0)));
}

/** The axis whose coordinate rotates each pair. @type {(sections: Vector, order?: string) => number[]} */
export function sectionAxes(sections, order = "contiguous") {
  const runs = sections.flatMap((section, axis) => /** @type {Vector} */ (Array(section).fill(axis)));
  if (order === "contiguous") return runs;
  const axes = sections.length;
  return runs.map((_, i) => (Math.floor(i / axes) < sections[i % axes] ? i % axes : 0));
}

/** Divide one list of frequencies among the axes. @type {(row: Vector, sections: Vector, order?: string) => number[][]} */
export function sectionFrequencies(row, sections, order = "contiguous") {
  const axes = sectionAxes(sections, order);
  return sections.map((_, axis) => row.map((frequency, i) => (axes[i] === axis ? frequency : 0)));
}

// The initial frequencies of RoPE-Mixed, with half of the pairs along a direction in the plane (in radians) and
// half perpendicular.
/** @type {(headDim: number, direction?: number, base?: number) => Matrix} */
export function mixedFrequencies(headDim, direction = 0, base = 10) {
  const [along, across] = axialFrequencies(headDim, 2, base);
  const [c, s] = [Math.cos(direction), Math.sin(direction)];
  return [
    along.map((frequency, i) => c * frequency - s * across[i]),
    along.map((frequency, i) => s * frequency + c * across[i]),
  ];
}

/** The coordinates of a grid's cells, row by row. @type {(height: number, width: number) => Pair[]} */
export function gridCoordinates(height, width) {
  return Array.from({ length: height * width }, (_, n) => [Math.floor(n / width), n % width]);
}

// The score of all-ones vectors between the `query` and each place, relative to the score at the query itself; this
// is a mean of cosines.
/** @type {(query: Pair, places: Pair[], frequencies: Matrix) => number[]} */
export function patchScores([row, column], places, [byHeight, byWidth]) {
  return places.map(([y, x]) => {
    let sum = 0;
    for (let i = 0; i < byHeight.length; i++) {
      sum += Math.cos((y - row) * byHeight[i] + (x - column) * byWidth[i]);
    }
    return sum / byHeight.length;
  });
}

// A scheme's frequencies for height and width, with the direction in degrees.
/** @type {(scheme: string, headDim: number, base: number, direction: number) => number[][]} */
export function schemeFrequencies(scheme, headDim, base, direction) {
  if (scheme === "axial") return axialFrequencies(headDim, 2, base);
  if (scheme === "mixed") return mixedFrequencies(headDim, (direction * Math.PI) / 180, base);
  const row = Array.from({ length: headDim / 2 }, (_, i) => base ** (-(2 * i) / headDim));
  return sectionFrequencies(row, [headDim / 4, headDim / 4], scheme);
}

// The tip of an arrow in the unit circle (y down) for a pair's frequency vector (by height, by width). The length
// is 1 for a frequency of 1 and decreases logarithmically to 0.12 at 1/base.
/** @type {(byHeight: number, byWidth: number, base: number) => Pair} */
export function arrowPlace(byHeight, byWidth, base) {
  const size = Math.hypot(byHeight, byWidth);
  const length = 1 + (0.88 * Math.log(size)) / Math.log(base);
  return [(length * byWidth) / size, (length * byHeight) / size];
}
