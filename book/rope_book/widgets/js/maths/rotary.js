// Rotates pairs and whole heads; mirrors rope_edu/encodings/rotary.py.
import { pairFeatures } from "./layouts.js";

/** Turn the pair [x, y] counter-clockwise by angle. @type {(pair: Pair, angle: number) => Pair} */
export function rotatePair([x, y], angle) {
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  return [x * c - y * s, x * s + y * c];
}

/** x with its first 2·angles.length features rotated. @type {(x: Vector, angles: Vector, layout?: string) => number[]} */
export function applyRope(x, angles, layout = "interleaved") {
  const out = [...x];
  angles.forEach((angle, i) => {
    const [a, b] = pairFeatures(i, angles.length, layout);
    [out[a], out[b]] = rotatePair([x[a], x[b]], angle);
  });
  return out;
}

/** The rows of the rotation matrix R: R x is x rotated. @type {(angles: Vector, layout?: string) => number[][]} */
export function rotationMatrix(angles, layout = "interleaved") {
  const width = 2 * angles.length;
  const unit = (/** @type {number} */ c) => Array.from({ length: width }, (_, j) => (j === c ? 1 : 0));
  const columns = Array.from({ length: width }, (_, c) => applyRope(unit(c), angles, layout));
  return columns.map((_, r) => columns.map((column) => column[r]));
}
