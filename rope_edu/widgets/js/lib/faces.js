// Clock faces of one size, in rows: circles {cx, cy, r}, their wedges and hands, for the pen's plural methods.
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

/** A hand that ends some pixels before the rim. @type {(face: Face, angle: number, before: number) => Segment} */
export const handOf = ({ cx, cy, r }, angle, before) => [cx, cy, ...polar(cx, cy, angle, r - before)];

/** What a hand passes between two angles. @type {(face: Face, from: number, to: number, perRadian?: number) => Pair[]} */
export const wedgeOf = ({ cx, cy, r }, from, to, perRadian = 5) =>
  sector(cx, cy, r, from, to, Math.max(2, Math.ceil((to - from) * perRadian)));

/** The box of a face, larger by some pixels all round, and by more below. @type {(face: Face, by: number, below?: number) => Box} */
export const boxAround = ({ cx, cy, r }, by, below = 0) => {
  const side = 2 * (r + by);
  return { x: cx - r - by, y: cy - r - by, w: side, h: side + below };
};
