// Computes points for the pen, in pixels, with x to the right and y down; angles are in radians, counter-clockwise.
import { range } from "./numbers.js";

/** The point at an angle and a radius. @type {(cx: number, cy: number, angle: number, radius: number) => Pair} */
export const polar = (cx, cy, angle, radius) => [cx + radius * Math.cos(angle), cy - radius * Math.sin(angle)];

// Points of a circular arc about (cx, cy) from angle a to angle b, which may exceed a full turn.
/** @type {(cx: number, cy: number, r: number, a: number, b: number) => Pair[]} */
export function arcPoints(cx, cy, r, a, b) {
  const steps = Math.max(2, Math.ceil((Math.abs(b - a) / Math.PI) * 24));
  return range(0, steps).map((i) => polar(cx, cy, a + ((b - a) * i) / steps, r));
}

// An arrow from (x1, y1) to (x2, y2): where its head begins, the head's corners, and the outline of shaft and head.
/** @type {(x1: number, y1: number, x2: number, y2: number, width: number, head: number) =>
 *   {neck: Pair, tip: Pair[], outline: Pair[]}} */
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
