// Computes shapes as lists of points, in pixels, with x to the right and y down; angles are in radians,
// counter-clockwise.
import { polar } from "./geometry.js";
import { range } from "./numbers.js";

/** The distance between two points. @type {(from: Pair, to: Pair) => number} */
export const gap = ([x0, y0], [x1, y1]) => Math.hypot(x1 - x0, y1 - y0);

/** The two axes through the centre of a square. @type {(x: number, y: number, side: number) => Segment[]} */
export function crossOf(x, y, side) {
  const [cx, cy] = [x + side / 2, y + side / 2];
  /** @type {Segment} */
  const across = [x, cy, x + side, cy];
  return [across, [cx, y, cx, y + side]];
}

/** The points at the given offsets from a point. @type {(at: Pair, ...steps: Pair[]) => Pair[]} */
export const pointsAround = ([x, y], ...steps) => steps.map(([dx, dy]) => [x + dx, y + dy]);

/** A square standing on one corner. @type {(middle: Pair, r: number) => Pair[]} */
export const diamond = (middle, r) => pointsAround(middle, [0, -r], [r, 0], [0, r], [-r, 0]);

// The mapping between the plane and pixels, in both directions, with the origin at (cx, cy), `unit` pixels per
// unit, and y up.
/** @param {number} cx @param {number} cy @param {number} unit
 * @returns {{at: (z: Pair) => Pair, back: (px: number, py: number) => Pair}} */
export function planeOf(cx, cy, unit) {
  /** @type {(z: Pair) => Pair} */
  const at = ([a, b]) => [cx + a * unit, cy - b * unit];
  /** @type {(px: number, py: number) => Pair} */
  const back = (px, py) => [(px - cx) / unit, (cy - py) / unit];
  return { at, back };
}

/** @type {(cx: number, cy: number, r: number, a: number, b: number, steps: number) => Pair[]} */
export function sector(cx, cy, r, a, b, steps) {
  return [[cx, cy], ...range(0, steps).map((s) => polar(cx, cy, a + ((b - a) * s) / steps, r))];
}

// A half ellipse from (x1, y) to (x2, y), `tall` pixels high, below the line if `tall` is negative.
/** @type {(x1: number, x2: number, y: number, tall: number) => Pair[]} */
export function halfEllipse(x1, x2, y, tall) {
  const [middle, reach] = [(x1 + x2) / 2, (x2 - x1) / 2];
  /** @type {(t: number) => Pair} */
  const at = (t) => [middle + reach * Math.cos(t), y - tall * Math.sin(t)];
  return range(0, 20).map((i) => at((Math.PI * i) / 20));
}

// The length of a line at the given slant that spans `across` pixels horizontally.
export function roomAslant(/** @type {number} */ across, /** @type {number} */ degrees) {
  return across / Math.cos((degrees * Math.PI) / 180);
}
