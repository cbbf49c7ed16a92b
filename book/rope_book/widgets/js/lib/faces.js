// Lays out clock faces of equal size in rows, as circles {cx, cy, r} with a hand at `angle`, and computes the
// shapes to draw.
import { polar } from "./geometry.js";
import { sector } from "./shapes.js";

/**
 * Add a face position to each item. Faces are centred in square cells, with `columns` cells per row, rows `row`
 * pixels apart, and the top left corner at (x, y).
 * @type {(items: any[], rows: {x: number, y: number, columns: number, cell: number, row: number, r: number}) => any[]}
 */
export const inRows = (items, { x, y, columns, cell, row, r }) =>
  items.map((item, n) => {
    const [column, line] = [n % columns, Math.floor(n / columns)];
    return { ...item, cx: x + (column + 0.5) * cell, cy: y + line * row + cell / 2, r };
  });

/** @type {(faces: any[]) => [number, number, number][]} */
export const rims = (faces) => faces.map(({ cx, cy, r }) => [cx, cy, r]);

/** The tips of the hands, `before` pixels inside the rim. @type {(faces: any[], before: number) => Pair[]} */
export const tips = (faces, before) => faces.map(({ cx, cy, r, angle }) => polar(cx, cy, angle, r - before));

/** @type {(faces: any[], before: number) => Segment[]} */
export const hands = (faces, before) => tips(faces, before).map((tip, n) => [faces[n].cx, faces[n].cy, ...tip]);

// Interpolate between a hand and a segment in the same direction. At share 0, the hand starts at the face's centre
// and is one radius long.
/** @type {(face: {cx: number, cy: number, r: number}, place: Pair[], share: number) => Segment} */
export function flown({ cx, cy, r }, [[x0, y0], [x1, y1]], share) {
  const long = Math.hypot(x1 - x0, y1 - y0) || 1;
  const by = (r / long) * (1 - share) + share;
  const [x, y] = [cx + (x0 - cx) * share, cy + (y0 - cy) * share];
  return [x, y, x + (x1 - x0) * by, y + (y1 - y0) * by];
}

/**
 * Compute a wedge for each face. `from` and `to` name the face's properties with the start and end angles; without
 * `from`, wedges start at 0.
 * @type {(faces: any[], to: string, from?: string, perRadian?: number) => Pair[][]}
 */
export const wedges = (faces, to, from = "", perRadian = 5) =>
  faces.map(({ cx, cy, r, [to]: end, [from]: start = 0 }) =>
    sector(cx, cy, r, start, end, Math.max(2, Math.ceil((end - start) * perRadian))),
  );

/** A face's bounding box, with a margin on all sides and extra space below. @type {(face: any, by: number, below?: number) => Box} */
export const boxAround = ({ cx, cy, r }, by, below = 0) => {
  const side = 2 * (r + by);
  return { x: cx - r - by, y: cy - r - by, w: side, h: side + below };
};
