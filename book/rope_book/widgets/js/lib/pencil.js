// Draws the line that a reader draws as a guess, with a pencil at its end.
import { ink } from "./colour.js";
import { drawnTo } from "./controls/sketch.js";
import { clamp, last } from "./numbers.js";

/** @import { Pen } from "./pen.js" */

const GAP = 9; // distance of a waiting pencil from the axis, in pixels
export const GUESS = { stroke: ink.other, width: 3.5 };

/**
 * Draw a guess of up to `parts` heights from `start` on, in units of `unit` on the vertical scale Y and clipped to
 * [low, high]. Returns the handle of the pencil.
 * @param {Pen} pen @param {Box} box @param {(value: number) => number} Y
 * @param {{guess: Vector, parts: number, unit: number, start?: number, low?: number, high?: number}} drawing
 * @returns {Handle}
 */
export function drawPencil(pen, box, Y, { guess, parts, unit, start = 0, low = -Infinity, high = Infinity }) {
  const step = box.w / parts;
  /** @type {Pair[]} */
  const line = [start, ...guess].map((height, n) => [box.x + n * step, Y(clamp(height * unit, low, high))]);
  pen.curve(line, GUESS);
  const [x, y] = last(line);
  const tip = Math.max(x, box.x + GAP); // keeps the pencil off the axis labels
  pen.circle(tip, y, 7, { fill: ink.other, stroke: ink.text, width: 1.5 });
  /** @type {Handle["at"]} */
  function at(px, py) {
    const to = clamp(Math.round((px - box.x) / step), 0, parts);
    return to ? drawnTo(guess, to, clamp((Y(0) - py) / (Y(0) - Y(unit)), -1, 1), start) : [];
  }
  return { x: tip, y, at, ink: ink.other };
}
