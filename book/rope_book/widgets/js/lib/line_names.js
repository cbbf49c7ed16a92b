// Places line names in a chart, each beside its line and covering as little as possible of the other lines.
import { clamp } from "./numbers.js";
import { textWidth } from "./words.js";

const CELL = 8; // size of a cell of the summed-area table, in pixels

/** @typedef {{name: string, x: number, y: number, half: number}} LineName */
/** @typedef {(x0: number, y0: number, x1: number, y1: number) => number} Count */

/** Points along a path, about `gap` pixels apart. @type {(path: Pair[], gap: number) => Pair[]} */
function walk(path, gap) {
  const points = path.slice(0, 1);
  for (let i = 1; i < path.length; i++) {
    const [[x0, y0], [x1, y1]] = [path[i - 1], path[i]];
    const parts = Math.ceil(Math.hypot(x1 - x0, y1 - y0) / gap);
    for (let t = 1; t <= parts; t++) points.push([x0 + ((x1 - x0) * t) / parts, y0 + ((y1 - y0) * t) / parts]);
  }
  return points;
}

// A function that counts the dots in the rectangle (x0, y0, x1, y1), backed by a summed-area table.
function counter(/** @type {Pair[]} */ dots, /** @type {Box} */ box) {
  const [columns, rows] = [box.x + box.w, box.y + box.h].map((end) => Math.ceil(end / CELL) + 2);
  const sums = new Int32Array(columns * rows);
  const [column, row] = [columns, rows].map(
    (all) => (/** @type {number} */ v) => clamp(Math.round(v / CELL), 0, all - 1),
  );
  for (const [x, y] of dots) sums[row(y) * columns + column(x)] += 1;
  for (let start = 0; start < sums.length; start += columns) {
    let along = 0;
    for (let i = start; i < start + columns; i++) {
      along += sums[i];
      sums[i] = along + (start && sums[i - columns]);
    }
  }
  /** @type {(c: number, r: number) => number} */
  const upTo = (c, r) => (c < 0 || r < 0 ? 0 : sums[r * columns + c]);
  /** @type {Count} */
  const count = (x0, y0, x1, y1) => {
    const [c0, c1, r0, r1] = [column(x0) - 1, column(x1), row(y0) - 1, row(y1)];
    return upTo(c1, r1) - upTo(c0, r1) - upTo(c1, r0) + upTo(c0, r0);
  };
  return count;
}

// Whether a name of width 2 · `half` centred at [x, y] lies inside the box, clear of all names placed so far.
/** @type {(at: Pair, half: number, box: Box, placed: LineName[]) => boolean} */
function isFree([x, y], half, box, placed) {
  const inside = x - half > box.x + 2 && x + half < box.x + box.w && y > box.y + 42 && y < box.y + box.h - 4;
  const clear = (/** @type {LineName} */ other) =>
    Math.abs(other.x - x) > half + other.half + 8 || Math.abs(other.y - y) > 16;
  return inside && placed.every(clear);
}

/** Candidate baselines for a name beside a point of its line: above, below, right and left. @type {(point: Pair, half: number) => Pair[]} */
const spotsBeside = ([x, y], half) => [
  [x, y - 10],
  [x, y + 18],
  [x + half + 8, y + 4],
  [x - half - 8, y + 4],
];

/** The baseline for a name that interrupts its line. @type {(point: Pair) => Pair[]} */
export const spotOn = ([x, y]) => [[x, y + 4]];

// The best free position for a name, {cost, x, y}, or undefined.
/** @type {(dots: Pair[], half: number, all: Count, mine: Count, free: (at: Pair) => boolean,
 *   spotsAt: (point: Pair, half: number) => Pair[]) => {cost: number, x: number, y: number} | undefined} */
function bestPlace(dots, half, all, mine, free, spotsAt) {
  /** @type {Count} */
  const others = (...corners) => all(...corners) - mine(...corners);
  const cover = (/** @type {Pair} */ [x, y]) =>
    10 * all(x - half, y - 12, x + half, y + 4) + others(x - half - 9, y - 21, x + half + 9, y + 13);
  let best;
  for (let i = 0; i < dots.length; i += 4) {
    const [x, y] = dots[i];
    const beside = 8 * others(x - 9, y - 9, x + 9, y + 9); // a name near two lines would be ambiguous
    for (const at of spotsAt([x, y], half)) {
      if (beside >= (best?.cost ?? Infinity) || !free(at)) continue;
      const cost = beside + cover(at);
      if (cost < (best?.cost ?? Infinity)) best = { cost, x: at[0], y: at[1] };
    }
  }
  return best;
}

// Positions {name, x, y, half} for the lines' names, where x is the centre and `half` is half the width. `lines` is
// a list of [name, path] in decreasing order of importance. Names without a free position are omitted.
/** @type {(lines: [string, Pair[]][], box: Box, spotsAt?: typeof spotsBeside) => LineName[]} */
export function placeLineNames(lines, box, spotsAt = spotsBeside) {
  const dots = lines.map(([, path]) => walk(path, CELL));
  const all = counter(dots.flat(), box);
  const placed = /** @type {LineName[]} */ ([]);
  lines.forEach(([name], own) => {
    const half = textWidth(name, 12) / 2;
    const mine = counter(dots[own], box);
    const best = bestPlace(dots[own], half, all, mine, (at) => isFree(at, half, box, placed), spotsAt);
    if (best) placed.push({ name, x: best.x, y: best.y, half });
  });
  return placed;
}
