// Lays out clock faces of one size in rows, as circles {cx, cy, r} with a hand at `angle`, and gives their shapes
// for the pen.
import { polar } from "./geometry.js";
import { sector } from "./shapes.js";

/**
 * Items with their faces' positions, `columns` per row, from the corner (x, y): centred in cells, rows `row` pixels apart.
 * @type {(items: any[], rows: {x: number, y: number, columns: number, cell: number, row: number, r: number}) => any[]}
 */
export const inRows = (items, { x, y, columns, cell, row, r }) =>
  items.map((item, n) => {
    const [column, line] = [n % columns, Math.floor(n / columns)];
    return { ...item, cx: x + (column + 0.5) * cell, cy: y + line * row + cell / 2, r };
  });

/** @type {(faces: any[]) => [number, number, number][]} */
export const rims = (faces) => faces.map(({ cx, cy, r }) => [cx, cy, r]);

/** The tips of hands, `before` pixels short of the rim. @type {(faces: any[], before: number) => Pair[]} */
export const tips = (faces, before) => faces.map(({ cx, cy, r, angle }) => polar(cx, cy, angle, r - before));

/** @type {(faces: any[], before: number) => Segment[]} */
export const hands = (faces, before) => tips(faces, before).map((tip, n) => [faces[n].cx, faces[n].cy, ...tip]);

// A hand moving from its face to a segment with the same direction: at share 0 it starts at the centre and is one radius long.
/** @type {(face: {cx: number, cy: number, r: number}, place: Pair[], share: number) => Segment} */
export function flown({ cx, cy, r }, [[x0, y0], [x1, y1]], share) {
  const long = Math.hypot(x1 - x0, y1 - y0) || 1;
  const by = (r / long) * (1 - share) + share;
  const [x, y] = [cx + (x0 - cx) * share, cy + (y0 - cy) * share];
  return [x, y, x + (x1 - x0) * by, y + (y1 - y0) * by];
}

/**
 * The wedges of faces from one angle, or 0, to another; `from` and `to` are the properties that hold the angles.
 * @type {(faces: any[], to: string, from?: string, perRadian?: number) => Pair[][]}
 */
export const wedges = (faces, to, from = "", perRadian = 5) =>
  faces.map(({ cx, cy, r, [to]: end, [from]: start = 0 }) =>
    sector(cx, cy, r, start, end, Math.max(2, Math.ceil((end - start) * perRadian))),
  );

/** The box around a face, with a margin on all sides and extra room below. @type {(face: any, by: number, below?: number) => Box} */
export const boxAround = ({ cx, cy, r }, by, below = 0) => {
  const side = 2 * (r + by);
  return { x: cx - r - by, y: cy - r - by, w: side, h: side + below };
};
