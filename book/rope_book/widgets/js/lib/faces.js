// Clock faces of one size, in rows: circles {cx, cy, r} with a hand at `angle`, and what the pen draws of them.
import { polar } from "./geometry.js";
import { sector } from "./shapes.js";

/**
 * Things as faces, `columns` in a row, from the corner (x, y): each in the middle of a cell, a row every `row` pixels.
 * @type {(things: any[], rows: {x: number, y: number, columns: number, cell: number, row: number, r: number}) => any[]}
 */
export const inRows = (things, { x, y, columns, cell, row, r }) =>
  things.map((thing, n) => {
    const [column, line] = [n % columns, Math.floor(n / columns)];
    return { ...thing, cx: x + (column + 0.5) * cell, cy: y + line * row + cell / 2, r };
  });

/** @type {(faces: any[]) => [number, number, number][]} */
export const rims = (faces) => faces.map(({ cx, cy, r }) => [cx, cy, r]);

/** The ends of hands, some pixels before the rim. @type {(faces: any[], before: number) => Pair[]} */
export const tips = (faces, before) => faces.map(({ cx, cy, r, angle }) => polar(cx, cy, angle, r - before));

/** @type {(faces: any[], before: number) => Segment[]} */
export const hands = (faces, before) => tips(faces, before).map((tip, n) => [faces[n].cx, faces[n].cy, ...tip]);

/**
 * The wedges from an angle of each face, or 0, to another: both by their names.
 * @type {(faces: any[], to: string, from?: string, perRadian?: number) => Pair[][]}
 */
export const wedges = (faces, to, from = "", perRadian = 5) =>
  faces.map(({ cx, cy, r, [to]: end, [from]: start = 0 }) =>
    sector(cx, cy, r, start, end, Math.max(2, Math.ceil((end - start) * perRadian))),
  );

/** A face's box, larger by some pixels all round and more below. @type {(face: any, by: number, below?: number) => Box} */
export const boxAround = ({ cx, cy, r }, by, below = 0) => {
  const side = 2 * (r + by);
  return { x: cx - r - by, y: cy - r - by, w: side, h: side + below };
};
