import { ink, shade } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { clamp, fmt, grouped, range, sum } from "../lib/numbers.js";
import { invFreq, ropeAngles } from "../maths/frequencies.js";
import { linearState } from "../maths/linear.js";
import { normals } from "../maths/words.js";

const [TOKENS, WIDTH] = [64, 8];
const STATE_SIZE = WIDTH * WIDTH + WIDTH;
const FREQUENCIES = invFreq(WIDTH);
const drawn = normals(12, 2 * TOKENS * WIDTH);
const vectors = (start) => range(0, TOKENS - 1).map((n) => drawn.slice(start + n * WIDTH, start + (n + 1) * WIDTH));
const KEYS = vectors(0);
const VALUES = vectors(TOKENS * WIDTH).map((value) => value.map((number) => number + 1));

/** The state after the tokens read, divided by their number. */
function meanState({ step, turned }) {
  const angles = range(0, step - 1).map((n) => ropeAngles(turned ? n : 0, FREQUENCIES));
  const state = linearState(KEYS.slice(0, step), VALUES.slice(0, step), angles);
  return state.map((row) => row.map((number) => number / step));
}

/** The mean size of some rows. */
function sizeOf(state, rows) {
  const all = rows.flatMap((row) => state[row].map(Math.abs));
  return sum(all) / all.length;
}

const toShade = (value) => clamp(value / 1.8, 0, 1);
const narrow = (width) => width < 500;

/** Where the parts stand. */
function plan(width) {
  const side = narrow(width) ? 168 : 208;
  const cache = { x: 2, y: 42, w: narrow(width) ? width - 4 : width - side - 132, h: side };
  const state = narrow(width) ? { x: 2, y: cache.y + side + 66 } : { x: width - side - 92, y: cache.y };
  const bars = narrow(width) ? state.y + side + 46 : cache.y + side + 44;
  return { side, cache, state, bars };
}

const height = (width) => plan(width).bars + 66;

/** A column for each token: its key above, its value below. */
function drawCache(pen, { step }, { x, y, w, h }) {
  const column = w / TOKENS;
  pen.text(x, 15, "Cache", { weight: 600 });
  pen.text(x, 33, "key above, value below", { size: 12, fill: ink.muted });
  pen.rect(x, y, w, h, { fill: ink.grid, opacity: 0.35 });
  const gap = Math.min(1.5, column / 4);
  const columns = (top) =>
    range(0, step - 1).map((n) => /** @type {Segment} */ ([x + n * column, top, column - gap, h / 2]));
  pen.rects(columns(y), { fill: ink.k, opacity: 0.45 });
  pen.rects(columns(y + h / 2), { fill: ink.value, opacity: 0.6 });
  pen.line(x, y + h / 2, x + column * step, y + h / 2, { stroke: ink.paper, width: 2 });
  pen.rect(x, y, column * step, h, { stroke: ink.k, width: 2 });
  pen.text(x, y + h + 16, "token 0", { size: 12, fill: ink.muted });
  pen.text(x + w, y + h + 16, TOKENS - 1, { size: 12, anchor: "end", fill: ink.muted });
}

/** The sum, and which rows belong to which pair. */
function drawState(pen, state, { x, y }, side) {
  const cell = side / WIDTH;
  pen.text(x, y - 27, "State: one sum over all tokens", { weight: 600 });
  pen.text(x, y - 9, "divided by their number", { size: 12, fill: ink.muted });
  pen.raster(x, y, side, side, WIDTH, WIDTH, (row, column) => toShade(state[row][column]));
  pen.rect(x, y, side, side, { stroke: ink.text, width: 2 });
  range(1, 3).forEach((pair) => {
    pen.line(x, y + 2 * pair * cell, x + side, y + 2 * pair * cell, { stroke: ink.paper, width: 2 });
  });
  range(0, 3).forEach((pair) => {
    const middle = y + (2 * pair + 1) * cell;
    pen.text(x + side + 8, middle - 3, `pair ${pair}`, { size: 12 });
    pen.text(x + side + 8, middle + 12, `${FREQUENCIES[pair]} rad`, { size: 12, fill: ink.muted });
  });
  pen.text(x, y + side + 16, "value features", { size: 12, fill: ink.muted });
}

/** What both hold, in numbers, as bars of one scale; and what the colours mean. */
function drawSizes(pen, { step }, width, y) {
  const w = width - 150;
  const most = 2 * WIDTH * TOKENS;
  const held = [
    { name: "cache", numbers: 2 * WIDTH * step, colour: ink.k },
    { name: "state", numbers: STATE_SIZE, colour: ink.text },
  ];
  held.forEach(({ name, numbers, colour }, i) => {
    const top = y + 24 * i;
    pen.text(2, top + 13, name);
    pen.rect(50, top + 1, (w * numbers) / most, 15, { fill: colour });
    pen.text(58 + (w * numbers) / most, top + 13, `${grouped(numbers)} numbers`, { size: 12 });
  });
  const stops = range(0, 8).map((n) => n / 8);
  for (const [n, stop] of stops.entries()) pen.rect(50 + 9 * n, y + 50, 9, 10, { fill: shade(stop) });
  pen.text(2, y + 60, "≤ 0", { size: 12, fill: ink.muted });
  pen.text(137, y + 60, "1.8 and more", { size: 12, fill: ink.muted });
}

function draw(pen, state, { width }) {
  const at = plan(width);
  drawCache(pen, state, at.cache);
  drawState(pen, meanState(state), at.state, at.side);
  drawSizes(pen, state, width, at.bars);
}

function readout(state) {
  const { step, turned } = state;
  const mean = meanState(state);
  const [fast, slow] = [sizeOf(mean, [0, 1, 2, 3]), sizeOf(mean, [4, 5, 6, 7])];
  const numbers = 2 * WIDTH * step;
  const less = STATE_SIZE < numbers ? "fewer" : "more";
  return (
    `After ${step} token${step === 1 ? "" : "s"} the cache holds ${grouped(numbers)} numbers, the state ${STATE_SIZE}: ${less}. ` +
    (turned
      ? `What is left a token: ${fmt(fast)} in the rows of the fast pairs, ${fmt(slow)} in those of the slow ones.`
      : `Nothing was turned: all rows keep their size (${fmt(fast)} and ${fmt(slow)}), and the order of the tokens is lost.`)
  );
}

export default live({
  name: "StateSteps",
  title: "What is kept of a text: a cache that grows by a column a token, and a sum that stays eight by eight",
  height,
  draw,
  readout,
  play: { trait: "step", perSecond: 6, speeds: [1, 4] },
});
