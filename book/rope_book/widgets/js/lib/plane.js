// Draws a plane with axes, labelled arrows from the origin, and draggable pairs.
import { ink } from "./colour.js";
import { Labels, spotsBeyond } from "./labels.js";
import { range } from "./numbers.js";
import { crossOf, planeOf } from "./shapes.js";
import { textWidth } from "./words.js";

/** @import { Pen } from "./pen.js" */
/** @typedef {ReturnType<typeof drawUnitPlane>} Plane */

const LINE = { stroke: ink.grid, width: 1 };

/**
 * Draw the axes and the unit circle in a square that covers −reach … reach. Returns {cx, cy, unit, at, back,
 * labels}: the origin, the mapping from planeOf in shapes.js, and labels that stay inside the square.
 * @param {Pen} pen
 * @param {{x: number, y: number, side: number}} square
 * @param {number} reach
 */
export function drawUnitPlane(pen, { x, y, side }, reach) {
  const [cx, cy, unit] = [x + side / 2, y + side / 2, side / 2 / reach];
  pen.lines(crossOf(x, y, side), LINE);
  pen.circle(cx, cy, unit, LINE);
  return { cx, cy, unit, ...planeOf(cx, cy, unit), labels: new Labels({ x, y, w: side, h: side }) };
}

const SHAFT = 4; // half the width of the squares that names avoid along an arrow

/** Points along an arrow, from near its start to near its tip. @type {(from: Pair, to: Pair) => Pair[]} */
const along = ([x0, y0], [x1, y1]) => range(0.1, 0.9, 0.1).map((t) => [x0 + t * (x1 - x0), y0 + t * (y1 - y0)]);

/**
 * Write names just beyond the tips of arrows, in order, without covering an arrow or the circle of radius `r` around
 * its tip.
 * @type {(pen: Pen, plane: Plane, tips: {z: Pair, name: string, fill: string, bold: boolean, r: number}[]) => void}
 */
export function nameTips(pen, { cx, cy, at, labels }, tips) {
  for (const { z, r } of tips) {
    labels.avoidDot(at(z), r);
    for (const dot of along([cx, cy], at(z))) labels.avoidDot(dot, SHAFT);
  }
  for (const { z, name, fill, bold } of tips) {
    const width = textWidth(name, 13, bold);
    const { left, baseline } = labels.place(width, spotsBeyond(at(z), [cx, cy], width));
    pen.text(left, baseline, name, { fill, weight: bold ? 600 : 400 });
  }
}

/** A handle for dragging a pair by its tip, in steps of 1/20. @type {(plane: Plane, pair: Pair) => Handle} */
export function pairHandle({ at, back }, pair) {
  const [x, y] = at(pair);
  return { x, y, at: (px, py) => back(px, py).map((v) => Math.round(v * 20) / 20) };
}
