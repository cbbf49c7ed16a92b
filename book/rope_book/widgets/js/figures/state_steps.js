import { diverging, ink, note, noteEnd, shade, signedPlace } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { clamp, fmt, grouped, range, sum } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { counted } from "../lib/words.js";
import { attention } from "../maths/dot_product.js";
import { invFreq, ropeAngles } from "../maths/frequencies.js";
import { linearFactors, linearState } from "../maths/linear.js";
import { applyRope } from "../maths/rotary.js";
import { normals } from "../maths/words.js";

const [TOKENS, WIDTH] = [64, 8];
const STATE_SIZE = WIDTH * WIDTH + WIDTH;
const FREQUENCIES = invFreq(WIDTH);
const drawn = normals(12, 2 * TOKENS * WIDTH);
const vectors = (start) => range(0, TOKENS - 1).map((n) => drawn.slice(start + n * WIDTH, start + (n + 1) * WIDTH));
const KEYS = vectors(0);
const VALUES = vectors(TOKENS * WIDTH).map((value) => value.map((number) => number + 1));

const LOUD = 3; // the query is this many times the key that matches it
const MOST = 2; // per token; larger sums are drawn in the same colour

/** The mean state after the tokens read so far, and each token value's weight in the query's output, from the cache
 * and from the state. */
function remembered({ step, query, turned }) {
  const keys = KEYS.slice(0, step);
  const angles = keys.map((_, n) => ropeAngles(turned ? n : 0, FREQUENCIES));
  const asked = KEYS[query].map((number) => LOUD * number);
  const turnedKeys = keys.map((key, n) => applyRope(key, angles[n]));
  const { weights } = attention([applyRope(asked, angles[step - 1])], turnedKeys, keys);
  const state = linearState(keys, VALUES.slice(0, step), angles);
  const mean = state.map((row) => row.map((number) => number / step));
  return { mean, weights: weights[0], factors: linearFactors(asked, keys, angles) };
}

const sizeOf = (rows) => sum(rows.flat().map(Math.abs)) / rows.flat().length;

const STRIP = 30; // height of a row of bars, in pixels

/** Lay out the cache, the query's weights from the cache and the state, the state, and the sizes of cache and
 * state. */
function plan(width) {
  const narrow = width < 500;
  const side = narrow ? 168 : 160;
  const w = narrow ? width - 4 : width - side - 132;
  const column = w / TOKENS;
  const cache = { x: 2, y: 42, w, h: 56, column, bar: column - Math.min(1.5, column / 4) };
  const strips = cache.y + cache.h + 8;
  const bottom = strips + 2 * (STRIP + 28) + 2;
  const state = narrow ? { x: 2, y: bottom + 66 } : { x: width - side - 92, y: cache.y };
  const bars = state.y + side + (narrow ? 46 : 44);
  const height = bars + 66;
  return { side, cache, strips, bottom, state, bars, height, lead: narrow ? bottom + 20 : height };
}

/** Draw one column per token, with the key above the value. */
function drawCache(pen, { step, query }, { x, y, w, h, column, bar }) {
  pen.text(x, 15, phrase`Cache`, { weight: 600 });
  pen.text(x, 33, phrase`key above, value below`, note);
  pen.rect(x, y, w, h, { fill: ink.grid, opacity: 0.35 });
  const columns = (top) => range(0, step - 1).map((n) => /** @type {Segment} */ ([x + n * column, top, bar, h / 2]));
  pen.rects(columns(y), { fill: ink.k, opacity: 0.45 });
  pen.rects(columns(y + h / 2), { fill: ink.value, opacity: 0.6 });
  pen.line(x, y + h / 2, x + column * step, y + h / 2, { stroke: ink.paper, width: 2 });
  pen.rect(x, y, column * step, h, { stroke: ink.k, width: 2 });
  pen.rect(x + query * column - 1, y - 3, column + 1, h + 6, { stroke: ink.text, width: 2 });
  const at = (px) => clamp(Math.floor((px - x) / column), 0, step - 1);
  return { query: { x: x + (query + 0.5) * column, y: y + h / 2, at, box: [column + 8, h + 10] } };
}

/** Draw each token value's weight in the query's output as a bar, darker for the matching token. */
function drawStrip(pen, words, shares, query, { x, w, column, bar }, top) {
  const line = top + 20 + 0.8 * STRIP;
  const bars = shares.map((share, n) => {
    const tall = 0.8 * STRIP * clamp(share, -0.25, 1);
    return [x + n * column, Math.min(line, line - tall), bar, Math.abs(tall)];
  });
  pen.text(x, top + 14, phrase`${words}: ${fmt(shares[query])} to token ${query}`, { size: 12 });
  const others = bars.filter((_, n) => n !== query);
  pen.rects(others, { fill: ink.muted });
  pen.rects([bars[query]], { fill: ink.text });
  pen.line(x, line, x + w, line, { stroke: ink.muted, width: 1 });
}

/** Draw the query's weights from the cache and from the state above the tokens. */
function drawReading(pen, { weights, factors }, query, { cache, strips, bottom }) {
  drawStrip(pen, phrase`Weights from the cache`, weights, query, cache, strips);
  drawStrip(pen, phrase`Factors from the sum`, factors, query, cache, strips + STRIP + 26);
  pen.text(cache.x, bottom + 12, phrase`token 0`, note);
  pen.text(cache.x + cache.w, bottom + 12, TOKENS - 1, noteEnd);
}

/** Draw the state, labelling the pair that each row belongs to. */
function drawState(pen, mean, { x, y }, side) {
  const cell = side / WIDTH;
  pen.text(x, y - 27, phrase`State: one sum over all tokens`, { weight: 600 });
  pen.text(x, y - 9, phrase`divided by their number`, note);
  pen.raster(x, y, side, side, WIDTH, WIDTH, (row, column) => signedPlace(mean[row][column], MOST), diverging);
  pen.rect(x, y, side, side, { stroke: ink.text, width: 2 });
  for (const pair of range(0, 3)) {
    const top = y + 2 * pair * cell;
    if (pair) pen.line(x, top, x + side, top, { stroke: ink.paper, width: 2 });
    pen.text(x + side + 8, top + cell - 3, phrase`pair ${pair}`, { size: 12 });
    pen.text(x + side + 8, top + cell + 12, `${FREQUENCIES[pair]} rad`, note);
  }
  pen.text(x, y + side + 16, phrase`value features`, note);
}

/** Draw the sizes of the cache and the state as bars on a common scale, and the colour scale. */
function drawSizes(pen, { step }, width, y) {
  const pixel = (width - 150) / (2 * WIDTH * TOKENS); // pixels per number
  const held = [
    { name: phrase`cache`, numbers: 2 * WIDTH * step, colour: ink.k },
    { name: phrase`state`, numbers: STATE_SIZE, colour: ink.text },
  ];
  held.forEach(({ name, numbers, colour }, i) => {
    const top = y + 24 * i;
    pen.text(2, top + 13, name);
    pen.rect(50, top + 1, pixel * numbers, 15, { fill: colour });
    pen.text(58 + pixel * numbers, top + 13, phrase`${grouped(numbers)} numbers`, { size: 12 });
  });
  for (const n of range(0, 8)) pen.rect(50 + 9 * n, y + 50, 9, 10, { fill: shade(n / 8, diverging) });
  pen.text(44, y + 60, `−${MOST}`, noteEnd);
  pen.text(137, y + 60, width < 320 ? phrase`${MOST} and more` : phrase`${MOST} and more; blank: 0`, note);
}

function draw(pen, state, { width }) {
  const at = plan(width);
  const all = remembered(state);
  const handles = drawCache(pen, state, at.cache);
  drawReading(pen, all, state.query, at);
  drawState(pen, all.mean, at.state, at.side);
  drawSizes(pen, state, width, at.bars);
  return handles;
}

function readout(state) {
  const { step, query, turned } = state;
  const { mean, weights, factors } = remembered(state);
  const [fast, slow] = [sizeOf(mean.slice(0, 4)), sizeOf(mean.slice(4))];
  const numbers = 2 * WIDTH * step;
  const less = STATE_SIZE < numbers ? phrase`fewer` : phrase`more`;
  const rows = turned
    ? phrase`Per token, ${fmt(fast)} is left in the rows of the fast pairs and ${fmt(slow)} in those of the slow ones.`
    : phrase`Nothing was turned: all rows keep their size (${fmt(fast)} and ${fmt(slow)}), and the order of the tokens is lost.`;
  const [weight, factor] = [fmt(weights[query]), fmt(factors[query])];
  return phrase`After ${counted(step, "token")} the cache holds ${grouped(numbers)} numbers, the state ${STATE_SIZE}: ${less}.
    A query like the key of token ${query} gets the value of that token with weight ${weight} from the cache and with factor
    ${factor} from the sum. ${rows}`;
}

export default live({
  name: "StateSteps",
  title: phrase`Two memories of a text: a cache that grows by a column per token, and a sum that stays eight by eight`,
  height: (width) => plan(width).height,
  lines: 4,
  draw,
  readout,
  panel: (width) => [0, plan(width).lead],
  play: { trait: "step", perSecond: 6, speeds: [1, 4] },
});
