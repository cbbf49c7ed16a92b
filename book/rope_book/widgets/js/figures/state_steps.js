import { ink, note, noteEnd, noteMiddle } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { clamp, fmt, grouped, range, sum } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { counted, textWidth, wrapped } from "../lib/words.js";
import { attention } from "../maths/dot_product.js";
import { invFreq, ropeAngles } from "../maths/frequencies.js";
import { eluPlusOne, linearFactors, linearState } from "../maths/linear.js";
import { applyRope } from "../maths/rotary.js";
import { normals } from "../maths/words.js";

const [TOKENS, WIDTH] = [64, 8];
const STATE_PARTS = [WIDTH * WIDTH, WIDTH]; // the matrix, and the vector that normalises an answer
const STATE_SIZE = sum(STATE_PARTS);
const FREQUENCIES = invFreq(WIDTH);
const drawn = normals(12, 2 * TOKENS * WIDTH);
const vectors = (start) => range(0, TOKENS - 1).map((n) => drawn.slice(start + n * WIDTH, start + (n + 1) * WIDTH));
const KEYS = vectors(0);
const VALUES = vectors(TOKENS * WIDTH).map((value) => value.map((number) => number + 1));

const LOUD = 3; // the query is the matching key times this factor
const MOST = 2; // upper end of the shading scale, per token

/** The state after `step` tokens divided by `step`, as the matrix `mean` and the vector `divisor` of its normaliser,
 * with each value's share of the output for the query: `weights` from the cache and `factors` from the state. */
function remembered({ step, query, turned }) {
  const keys = KEYS.slice(0, step);
  const angles = keys.map((_, n) => ropeAngles(turned ? n : 0, FREQUENCIES));
  const asked = KEYS[query].map((number) => LOUD * number);
  const turnedKeys = keys.map((key, n) => applyRope(key, angles[n]));
  const { weights } = attention([applyRope(asked, angles[step - 1])], turnedKeys, keys);
  const state = linearState(keys, VALUES.slice(0, step), angles);
  const mean = state.map((row) => row.map((number) => number / step));
  const features = keys.map(eluPlusOne);
  const divisor = range(0, WIDTH - 1).map((i) => sum(features.map((feature) => feature[i])) / step);
  return { mean, divisor, weights: weights[0], factors: linearFactors(asked, keys, angles) };
}

/** How many numbers the cache holds: a key and a value of WIDTH features per token. */
const heldIn = ({ step }) => 2 * WIDTH * step;

const sizeOf = (rows) => sum(rows.flat().map(Math.abs)) / rows.flat().length;

const LEAST = -0.2; // lower end of the bar scale; smaller factors are clipped

/** Lay out, from top to bottom, the cache's answer, the cache, the arrow into the state, and the state with its
 * answer beside or, on a narrow screen, below the state. */
function plan(width) {
  const narrow = width < 500;
  const w = narrow ? width - 58 : width - 264;
  const column = w / TOKENS;
  const row = { x: 54, w, h: narrow ? 60 : 74, column, bar: column - Math.min(1.5, column / 4) };
  const first = { ...row, y: 26 };
  const cache = { ...row, y: first.y + first.h + 18, h: 34 };
  const pour = cache.y + cache.h + 4;
  const side = narrow ? 104 : 120;
  const state = { x: narrow ? row.x + w / 2 - side / 2 : width - side - 58, y: pour + 34, side };
  const second = { ...row, y: narrow ? state.y + side + 62 : state.y + 22 };
  const height = Math.max(second.y + second.h + (narrow ? 46 : 36), state.y + side + 24);
  return { first, cache, pour, state, second, height, narrow };
}

/** Draw one column per token, with the key above the value, and return the handle of the queried token. */
function drawCache(pen, { step, query }, { x, y, w, h, column, bar }) {
  pen.rect(x, y, w, h, { fill: ink.grid, opacity: 0.35 });
  const columns = (top) => range(0, step - 1).map((n) => /** @type {Segment} */ ([x + n * column, top, bar, h / 2]));
  pen.rects(columns(y), { fill: ink.k, opacity: 0.45 });
  pen.rects(columns(y + h / 2), { fill: ink.value, opacity: 0.6 });
  pen.text(x - 6, y + h / 4 + 4, phrase`key k`, { ...noteEnd, fill: ink.kWords });
  pen.text(x - 6, y + (3 * h) / 4 + 4, phrase`value v`, noteEnd);
  pen.line(x, y + h / 2, x + column * step, y + h / 2, { stroke: ink.paper, width: 2 });
  pen.rect(x + query * column - 1, y - 3, column + 1, h + 6, { stroke: ink.text, width: 2 });
  const at = (px) => clamp(Math.floor((px - x) / column), 0, step - 1);
  return { query: { x: x + (query + 0.5) * column, y: y + h / 2, at, box: [column + 8, h + 10] } };
}

/** Draw each token's share of an answer as a bar, and print the queried token's share. Both memories use the same
 * scale. */
function drawAnswer(pen, { title, numbers }, shares, query, { x, y, w, h, column, bar }) {
  const Y = (share) => y + (h * (1 - share)) / (1 - LEAST);
  const heightOf = (share) => Y(clamp(share, LEAST, 1));
  const bars = shares.map((share, n) => {
    const ends = [Y(0), heightOf(share)];
    return [x + n * column, Math.min(...ends), bar, Math.abs(ends[0] - ends[1])];
  });
  pen.text(2, y - 10, title, { weight: 600 });
  pen.text(2 + textWidth(title, 13, true) + 10, y - 10, numbers, note);
  for (const share of [0, 1]) {
    pen.line(x, Y(share), x + w, Y(share), { stroke: share ? ink.grid : ink.muted, width: 1 });
    pen.text(x - 6, Y(share) + 4, share, noteEnd);
  }
  pen.rects(
    bars.filter((_, n) => n !== query),
    { fill: ink.muted },
  );
  pen.rects([bars[query]], { fill: ink.text });
  const words = fmt(shares[query]);
  const left = query * column > w - 60;
  const top = Math.max(heightOf(shares[query]), Y(1)) + (shares[query] > 0.8 ? 12 : -4);
  const side = { anchor: left ? "end" : "start", weight: 600 };
  pen.text(x + (query + (left ? -0.6 : 1.6)) * column, Math.min(top, Y(0) - 4), words, side);
}

/** Draw the state as a heatmap, with the fastest pair's rows at the top and the slowest pair's at the bottom, and its
 * vector as a column beside it. */
function drawState(pen, { mean, divisor }, { x, y, side }) {
  const cell = side / WIDTH;
  const beside = side + 5;
  const shades = range(0, 7);
  const levelOf = (value) => Math.round(clamp(Math.abs(value) / MOST, 0, 1) * 7);
  const matrix = mean.flatMap((row, i) => row.map((value, j) => ({ level: levelOf(value), i, left: j * cell })));
  const vector = divisor.map((value, i) => ({ level: levelOf(value), i, left: beside }));
  const cells = [...matrix, ...vector];
  for (const level of shades) {
    const boxes = cells
      .filter((each) => each.level === level)
      .map(({ i, left }) => [x + left, y + i * cell, cell, cell]);
    pen.rects(boxes, { fill: ink.text, opacity: 0.04 + 0.12 * level });
  }
  for (const pair of range(1, 3)) {
    const top = y + 2 * pair * cell;
    pen.line(x, top, x + beside + cell, top, { stroke: ink.paper, width: 2 });
  }
  pen.rect(x, y, side, side, { stroke: ink.text, width: 2 });
  pen.rect(x + beside, y, cell, side, { stroke: ink.text, width: 2 });
  pen.text(x + beside + cell + 6, y + cell + 4, phrase`fast`, note);
  pen.text(x + beside + cell + 6, y + side - cell + 4, phrase`slow`, note);
  pen.text(x + side / 2, y + side + 16, phrase`sum ÷ tokens read`, noteMiddle);
}

/** Draw the flow from the cache into the state, and the arrow from the state to its answer. */
function drawPour(pen, { step }, { cache, pour, state, second, narrow }) {
  const middle = state.x + state.side / 2;
  const arrow = { stroke: ink.muted, width: 2 };
  if (narrow) {
    const right = cache.x + step * cache.column;
    pen.area(
      [
        [cache.x, pour],
        [right, pour],
        [state.x + state.side, state.y - 3],
        [state.x, state.y - 3],
      ],
      { fill: ink.muted, opacity: 0.18 },
    );
    pen.arrow(middle, state.y + state.side + 22, middle, second.y - 24, arrow);
  } else {
    const level = cache.y + cache.h / 2;
    pen.line(cache.x + cache.w + 6, level, middle, level, arrow);
    pen.arrow(middle, level - 1, middle, state.y - 4, arrow);
    pen.text(middle, level - 8, phrase`each one is added`, noteMiddle);
    const out = second.y + second.h - 14;
    pen.arrow(state.x - 6, out, second.x + second.w + 6, out, arrow);
  }
}

function draw(pen, state, { width }) {
  const at = plan(width);
  const { mean, divisor, weights, factors } = remembered(state);
  const cached = grouped(heldIn(state));
  const grows = width < 310 ? phrase`${cached} numbers` : phrase`${cached} numbers, 16 more per token`;
  drawPour(pen, state, at);
  drawAnswer(pen, { title: phrase`Cache`, numbers: grows }, weights, state.query, at.first);
  const handles = drawCache(pen, state, at.cache);
  drawState(pen, { mean, divisor }, at.state);
  drawAnswer(
    pen,
    { title: phrase`State`, numbers: phrase`${STATE_PARTS.join(" + ")} numbers, always` },
    factors,
    state.query,
    at.second,
  );
  const [end, foot] = [at.first.x + at.first.w, at.second.y + at.second.h + 16];
  pen.text(at.second.x, foot, phrase`token 0`, note);
  pen.text(end, foot, TOKENS - 1, noteEnd);
  const bars = phrase`bars: each token's share of the answer`;
  const lines = at.narrow ? [] : wrapped(bars, width - end - 16, 12);
  if (at.narrow) pen.text(end, foot + 20, bars, noteEnd);
  for (const [n, line] of lines.entries()) pen.text(end + 14, at.first.y + 16 * n + 28, line, note);
  return handles;
}

function readout(state) {
  const { step, query, turned } = state;
  const { mean, weights, factors } = remembered(state);
  const [fast, slow] = [sizeOf(mean.slice(0, 4)), sizeOf(mean.slice(4))];
  const rows = turned
    ? phrase`Per token, ${fmt(fast)} is left in the rows of the fast pairs and ${fmt(slow)} in those of the slow ones.`
    : phrase`Nothing was turned: all rows keep their size (${fmt(fast)} and ${fmt(slow)}), and the order is lost.`;
  const [weight, factor] = [fmt(weights[query]), fmt(factors[query])];
  return phrase`After ${counted(step, "token")} the cache holds ${grouped(heldIn(state))} numbers, the state ${STATE_SIZE}. A
    query like the key of token ${query} gets its value with weight ${weight} from the cache, and with factor ${factor} from the
    sum. ${rows}`;
}

function results(state) {
  const { weights, factors } = remembered(state);
  return { cached: heldIn(state), weight: weights[state.query], factor: factors[state.query] };
}

export default live({
  name: "StateSteps",
  title: phrase`Two memories of a text: a cache that grows by a column per token, and a sum that stays eight by eight`,
  height: (width) => plan(width).height,
  lines: 3,
  draw,
  readout,
  results,
  play: { trait: "step", perSecond: 6, speeds: [1, 4] },
});
