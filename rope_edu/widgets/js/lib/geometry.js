// Shapes as lists of points, in pixels: x to the right, y down; angles in radians, counter-clockwise.
import { range } from "./numbers.js";

/**
 * The point at an angle and a distance from (cx, cy).
 * @type {(cx: number, cy: number, angle: number, far: number) => Pair}
 */
export function polar(cx, cy, angle, far) {
  return [cx + far * Math.cos(angle), cy - far * Math.sin(angle)];
}

/**
 * Points of a circular arc about (cx, cy) from angle a to angle b, which may pass full turns.
 * @type {(cx: number, cy: number, r: number, a: number, b: number) => Pair[]}
 */
export function arcPoints(cx, cy, r, a, b) {
  const steps = Math.max(2, Math.ceil((Math.abs(b - a) / Math.PI) * 24));
  return range(0, steps).map((i) => polar(cx, cy, a + ((b - a) * i) / steps, r));
}

/**
 * An arrow from (x1, y1) to (x2, y2): where its head begins, the head's corners, and the outline of shaft and head.
 * @type {(x1: number, y1: number, x2: number, y2: number, width: number, head: number) =>
 *   {neck: Pair, tip: Pair[], outline: Pair[]}}
 */
export function arrowShape(x1, y1, x2, y2, width, head) {
  const length = Math.hypot(x2 - x1, y2 - y1);
  const [ux, uy] = length ? [(x2 - x1) / length, (y2 - y1) / length] : [1, 0];
  const size = Math.min(head, length);
  /** @type {Pair} */
  const neck = [x2 - ux * size, y2 - uy * size];
  /** @type {(point: Pair, far: number) => Pair} */
  const beside = ([x, y], far) => [x - uy * far, y + ux * far];
  const [thin, side] = [width / 2, size * 0.45];
  /** @type {Pair[]} */
  const tip = [beside(neck, side), [x2, y2], beside(neck, -side)];
  /** @type {Pair} */
  const tail = [x1, y1];
  /** @type {Pair[]} */
  const outline = [beside(tail, -thin), beside(tail, thin), beside(neck, thin), ...tip, beside(neck, -thin)];
  return { neck, tip, outline };
}

/** How far apart two points are. @type {(from: Pair, to: Pair) => number} */
export function gap([x0, y0], [x1, y1]) {
  return Math.hypot(x1 - x0, y1 - y0);
}

/**
 * A point of the plane as pixels, and back: the plane's origin at (cx, cy), `unit` pixels long, y up.
 * @param {number} cx
 * @param {number} cy
 * @param {number} unit
 * @returns {{at: (z: Pair) => Pair, back: (px: number, py: number) => Pair}}
 */
export function planeOf(cx, cy, unit) {
  /** @type {(z: Pair) => Pair} */
  const at = ([a, b]) => [cx + a * unit, cy - b * unit];
  /** @type {(px: number, py: number) => Pair} */
  const back = (px, py) => [(px - cx) / unit, (cy - py) / unit];
  return { at, back };
}

/**
 * A sector of a circle from angle a to angle b.
 * @type {(cx: number, cy: number, r: number, a: number, b: number, steps: number) => Pair[]}
 */
export function sector(cx, cy, r, a, b, steps) {
  return [[cx, cy], ...range(0, steps).map((s) => polar(cx, cy, a + ((b - a) * s) / steps, r))];
}

/**
 * Half an ellipse from (x1, y) to (x2, y), `tall` pixels above; below where `tall` is negative.
 * @type {(x1: number, x2: number, y: number, tall: number) => Pair[]}
 */
export function halfEllipse(x1, x2, y, tall) {
  const [middle, reach] = [(x1 + x2) / 2, (x2 - x1) / 2];
  /** @type {(t: number) => Pair} */
  const at = (t) => [middle + reach * Math.cos(t), y - tall * Math.sin(t)];
  return range(0, 20).map((i) => at((Math.PI * i) / 20));
}

/**
 * How long a line aslant may be that has `across` pixels of room.
 * @type {(across: number, degrees: number) => number}
 */
export function roomAslant(across, degrees) {
  return across / Math.cos((degrees * Math.PI) / 180);
}
