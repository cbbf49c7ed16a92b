// Clock faces of one size, in rows: circles {cx, cy, r}, and what is drawn in them, as lists for the pen.
import { polar } from "./geometry.js";
import { sector } from "./shapes.js";

/** @typedef {{cx: number, cy: number, r: number}} Face */

/**
 * Things as faces, `columns` in a row, from the corner (x, y): each in the middle of a cell, a row every `row` pixels.
 * @template Thing
 * @param {Thing[]} things
 * @param {{x: number, y: number, columns: number, cell: number, row: number, r: number}} rows
 * @returns {(Thing & Face)[]}
 */
export const inRows = (things, { x, y, columns, cell, row, r }) =>
  things.map((thing, n) => {
    const [column, line] = [n % columns, Math.floor(n / columns)];
    return { ...thing, cx: x + (column + 0.5) * cell, cy: y + line * row + cell / 2, r };
  });

/** @type {(face: Face) => [number, number, number]} */
export const rimOf = ({ cx, cy, r }) => [cx, cy, r];

// each gives a function of a face, whose hand points at its `angle` and ends some pixels before the rim

/** @type {(before: number) => (face: Face & {angle: number}) => Pair} */
export const tipOf =
  (before) =>
  ({ cx, cy, r, angle }) =>
    polar(cx, cy, angle, r - before);

/** @type {(before: number) => (face: Face & {angle: number}) => Segment} */
export const handOf = (before) => (face) => [face.cx, face.cy, ...tipOf(before)(face)];

/** What a hand passes between two angles. @type {(ends: (face: any) => Pair, perRadian?: number) => (face: Face) => Pair[]} */
export const wedgeOf =
  (ends, perRadian = 5) =>
  (face) => {
    const [from, to] = ends(face);
    return sector(face.cx, face.cy, face.r, from, to, Math.max(2, Math.ceil((to - from) * perRadian)));
  };

/** A face's box, larger by some pixels all round and more below. @type {(face: Face, by: number, below?: number) => Box} */
export const boxAround = ({ cx, cy, r }, by, below = 0) => {
  const side = 2 * (r + by);
  return { x: cx - r - by, y: cy - r - by, w: side, h: side + below };
};
