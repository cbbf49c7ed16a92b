// Draws a plane with axes, labelled arrows from the origin, and draggable pairs.
import { ink } from "./colour.js";
import { Labels, spotsBeyond } from "./labels.js";
import { range } from "./numbers.js";
import { crossOf, planeOf } from "./shapes.js";
import { textWidth } from "./words.js";

/** @import { Pen } from "./pen.js" */
/** @typedef {ReturnType<typeof makePlane>} Plane */

const LINE = { stroke: ink.grid, width: 1 };

/**
 * Draw the axes, and circles of the given radii, in a square that covers −reach … reach. Returns {cx, cy, unit, at,
 * back, labels}: the origin, the mapping from planeOf in shapes.js, and labels that stay inside the square.
 * @param {Pen} pen
 * @param {{x: number, y: number, side: number}} square
 * @param {number} reach
 * @param {number[]} [radii]
 */
export function makePlane(pen, { x, y, side }, reach, radii = []) {
  const [cx, cy, unit] = [x + side / 2, y + side / 2, side / 2 / reach];
  pen.lines(crossOf(x, y, side), LINE);
  for (const r of radii) pen.circle(cx, cy, r * unit, LINE);
  return { cx, cy, unit, ...planeOf(cx, cy, unit), labels: new Labels({ x, y, w: side, h: side }) };
}

const ASTRAY = 400; // cost of a name beyond another arrow's ray, in pixels²
export const WORDS = 100; // weight of words, which a name must not touch even to stay on its side of an arrow
const SHAFT = 4; // half the width of the squares that names avoid along an arrow

/** Points along an arrow, from near its start to near its tip. @type {(from: Pair, to: Pair) => Pair[]} */
const along = ([x0, y0], [x1, y1]) => range(0.1, 0.9, 0.1).map((t) => [x0 + t * (x1 - x0), y0 + t * (y1 - y0)]);

/** Twice the signed area between two vectors. @type {(one: Pair, other: Pair) => number} */
const cross = ([x0, y0], [x1, y1]) => x0 * y1 - y0 * x1;

/** Whether the ray through `other` lies between those through two more vectors. @type {(other: Pair, from: Pair, to: Pair) => boolean} */
const isBetween = (other, from, to) =>
  cross(from, to) * cross(from, other) > 0 && cross(from, to) * cross(other, to) > 0;

/**
 * Write names just beyond the tips of arrows, in order, without covering an arrow or the circle of radius `r` around
 * its tip, and where possible with no other arrow's ray between a name and its tip.
 * @type {(pen: Pen, plane: Plane, tips: {z: Pair, name: string, fill: string, bold: boolean, r: number}[]) => void}
 */
export function nameTips(pen, { cx, cy, at, labels }, tips) {
  for (const { z, r } of tips) {
    labels.avoidDot(at(z), r);
    for (const dot of along([cx, cy], at(z))) labels.avoidDot(dot, SHAFT);
  }
  for (const { z, name, fill, bold } of tips) {
    const width = textWidth(name, 13, bold);
    /** @type {(point: Pair) => Pair} */
    const fromCentre = ([x, y]) => [x - cx, y - cy];
    /** @type {(spot: Pair) => boolean} */
    const isOwn = ([x, y]) =>
      [x, x + width].every((end) =>
        tips.every((other) => !isBetween(fromCentre(at(other.z)), fromCentre(at(z)), fromCentre([end, y + 8]))),
      );
    const spots = spotsBeyond(at(z), [cx, cy], width);
    const { left, baseline } = labels.place(width, spots, (spot) => (isOwn(spot) ? 0 : ASTRAY));
    pen.text(left, baseline, name, { fill, weight: bold ? 600 : 400 });
    labels.avoid(left, baseline - 12, left + width, baseline + 4, WORDS);
  }
}

/** A handle for dragging a pair by its tip, in steps of 1/20. @type {(plane: Plane, pair: Pair) => Handle} */
export function pairHandle({ at, back }, pair) {
  const [x, y] = at(pair);
  return { x, y, at: (px, py) => back(px, py).map((v) => Math.round(v * 20) / 20) };
}
