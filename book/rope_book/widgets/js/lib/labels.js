// Places labels so that they stay inside a frame and do not overlap.
import { clamp } from "./numbers.js";
import { textWidth } from "./words.js";

const [LINE, RISE] = [16, 12]; // line height, and distance from top to baseline, in pixels
const OUTSIDE = 1e4; // cost of leaving the frame; covering another label costs the overlap in pixels²

// The x closest to the given one at which centred text fits between two edges.
/** @type {(x: number, words: string, low: number, high: number, style?: {size?: number, bold?: boolean}) => number} */
export function centred(x, words, low, high, { size = 13, bold = false } = {}) {
  const half = textWidth(words, size, bold) / 2;
  return clamp(x, low + half, high - half);
}

/** Places labels inside a frame {x, y, w, h} without covering other labels or the boxes to avoid. */
export class Labels {
  #frame;
  /** @type {{box: Segment, weight: number}[]} */
  #taken = []; // each box as [left, top, right, bottom]

  /** @param {Box} frame */
  constructor(frame) {
    this.#frame = frame;
  }

  /** Keep labels away from a box, whose covered pixels cost `weight` each. @type {(left: number, top: number, right: number, bottom: number, weight?: number) => void} */
  avoid(left, top, right, bottom, weight = 1) {
    this.#taken.push({ box: [left, top, right, bottom], weight });
  }

  /** Keep labels away from a dot. @type {(at: Pair, r: number) => void} */
  avoidDot([x, y], r) {
    this.avoid(x - r, y - r, x + r, y + r);
  }

  /**
   * Choose the spot [left, top] at which a label of the given width is inside the frame and covers the least, with an
   * `extra` cost in pixels². Earlier spots win ties. Returns {left, middle, baseline} and reserves the spot.
   * @param {number} width @param {Pair[]} spots @param {(spot: Pair) => number} [extra]
   */
  place(width, spots, extra = () => 0) {
    const costs = spots.map((spot) => this.#cost(spot, width) + extra(spot));
    const [left, top] = spots[costs.indexOf(Math.min(...costs))];
    this.avoid(left, top, left + width, top + LINE);
    const { x, y, w, h } = this.#frame;
    const inside = clamp(left, x + 2, x + w - width - 2);
    return { left: inside, middle: inside + width / 2, baseline: clamp(top, y, y + h - LINE) + RISE };
  }

  // Like place(), but take the first spot inside the frame that covers nothing and that `suits`, or undefined.
  /** @param {number} width @param {Pair[]} spots @param {(spot: Pair) => boolean} [suits] */
  placeFree(width, spots, suits = () => true) {
    const free = spots.find((spot) => this.#cost(spot, width) === 0 && suits(spot));
    return free && this.place(width, [free]);
  }

  #cost(/** @type {Pair} */ [left, top], /** @type {number} */ width) {
    const { x, y, w, h } = this.#frame;
    const box = [left, top, left + width, top + LINE];
    const out = left < x + 2 || box[2] > x + w - 2 || top < y + 2 || box[3] > y + h - 2;
    /** @type {(other: Segment, axis: 0 | 1) => number} */
    const shared = (other, axis) => Math.min(other[axis + 2], box[axis + 2]) - Math.max(other[axis], box[axis]);
    const over = (/** @type {Segment} */ other) => Math.max(0, shared(other, 0)) * Math.max(0, shared(other, 1));
    return this.#taken.reduce((total, other) => total + other.weight * over(other.box), out ? OUTSIDE : 0);
  }
}

// Candidate spots for a label around a point: right, left, above, below, then diagonal, at increasing distances.
/** @type {(point: Pair, width: number) => Pair[]} */
export function spotsAround([x, y], width) {
  return [11, 20, 32, 46].flatMap((gap) => {
    const [right, left, above, below] = [x + gap, x - gap - width, y - gap, y + gap];
    return [
      [right, y - 8],
      [left, y - 8],
      [x - width / 2, above - 15],
      [x - width / 2, below],
      [right - 3, above - 11],
      [right - 3, below - 4],
      [left + 3, above - 11],
      [left + 3, below - 4],
    ];
  });
}

const LEANS = [0, 0.6, -0.6, 1.2, -1.2, 1.8, -1.8, 2.6, -2.6]; // angles to either side, in radians

// Candidate spots beyond the tip of an arrow from `centre`: straight ahead, then leaning further to either side, at
// increasing distances.
/** @type {(tip: Pair, centre: Pair, width: number) => Pair[]} */
export function spotsBeyond([x, y], [cx, cy], width) {
  const far = Math.hypot(x - cx, y - cy);
  const [ux, uy] = far ? [(x - cx) / far, (y - cy) / far] : [0, -1]; // an arrow of length 0 points up
  /** @type {(out: number, lean: number) => Pair} */
  const spot = (out, lean) => {
    const [c, s] = [Math.cos(lean), Math.sin(lean)];
    const [dx, dy] = [out * (ux * c - uy * s), out * (ux * s + uy * c)];
    return [x + dx - (dx > 3 ? 0 : dx < -3 ? width : width / 2), y + dy - 8];
  };
  return [10, 15, 26, 40, 56].flatMap((out) => LEANS.map((lean) => spot(out, lean)));
}

// Break items {words, …} into lines of at most `width` pixels by adding `x` and `line` to each. Each item has room
// for a swatch before the words.
/** @template {{words: string}} Item @param {Item[]} items @param {number} width
 * @param {{sample?: number, gap?: number, bold?: boolean}} [room] @returns {(Item & {x: number, line: number})[]} */
export function inLines(items, width, { sample = 34, gap = 14, bold = false } = {}) {
  let [x, line] = [0, 0];
  return items.map((item) => {
    const needs = sample + textWidth(item.words, 13, bold);
    if (x > 0 && x + needs > width) [x, line] = [0, line + 1];
    const placed = { ...item, x, line };
    x += needs + gap;
    return placed;
  });
}
