import { axes } from "../lib/axes.js";
import { bitmap } from "../lib/bitmap.js";
import { diverging, ink, note, noteEnd, noteMiddle } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { polar } from "../lib/geometry.js";
import { memo } from "../lib/memo.js";
import { clamp, fmt, range, significant, ticks } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { crossOf } from "../lib/shapes.js";
import { sinusoidal } from "../maths/absolute.js";
import { dot, matVec } from "../maths/dot_product.js";
import { invFreq, TURN } from "../maths/frequencies.js";
import { randomMatrix } from "../maths/words.js";

const ROWS = 160; // number of positions drawn, 0 … 159
const REACH = 64; // largest offset drawn, in either direction
const OTHERS = range(0, 90, 15); // positions of the faint curves

/** The positions' encodings, as rows of numbers and as an image. */
const fieldOf = memo((dModel, base) => {
  const rows = range(0, ROWS - 1).map((p) => sinusoidal(p, dModel, base));
  return { rows, picture: bitmap(ROWS, dModel, (p, feature) => (rows[p][feature] + 1) / 2, diverging) };
});

/** A fixed random matrix with entries of variance 1/d. */
const matrixOf = memo((dModel) => randomMatrix(2, dModel));

/** The function k → PE(p) · PE(p + k) for position p, or PE(p) · W PE(p + k). */
function scorer({ d_model, base, between }, p) {
  const { rows } = fieldOf(d_model, base);
  const left = between === "projection" ? matVec(matrixOf(d_model), rows[p]) : rows[p];
  return (k) => dot(left, rows[p + k]);
}

/** The offsets from position p, up to 64 tokens in each direction, that do not lead below position 0. */
const offsetsOf = (p, step = 1) => range(Math.max(-REACH, -p), REACH, step);

/** The vertical range of the chart, which is the same for every p. */
const spanOf = memo((d_model, base, between) => {
  const projected = between === "projection";
  const places = projected ? range(0, 95, 7) : [0];
  const seen = places.flatMap((p) => offsetsOf(p, projected ? 6 : 1).map(scorer({ d_model, base, between }, p)));
  const [low, high] = [Math.min(0, ...seen), Math.max(0, ...seen)];
  const room = projected ? 0.12 * (high - low) : 0;
  return [Math.floor(low - room), Math.ceil(high + room)];
});

/** The selected pair's frequency, and how far the pair turns between the two rows. */
function turned({ pair, offset, d_model, base }) {
  const frequency = invFreq(d_model, base)[pair];
  return { frequency, turn: offset * frequency };
}

/** Lay out the heatmap with its colour scale, the selected pair with its text beside or below it, and the chart of
 * dot products. */
function plan(width) {
  if (width < 500)
    return {
      field: { x: 30, y: 28, w: width - 94, h: 210 },
      title: { x: 0, y: 308 },
      circle: { x: 50, y: 386, r: 42 },
      words: { x: 132, y: 345 },
      scale: { x: 142, y: 433, w: width - 168 },
      product: { x: 34, y: 516, w: width - 46, h: 120 },
      height: 688,
    };
  const x = width - 178;
  return {
    field: { x: 30, y: 30, w: width - 280, h: 200 },
    title: { x, y: 42 },
    circle: { x: x + 66, y: 104, r: 42 },
    words: { x, y: 170 },
    scale: { x: x + 8, y: 262, w: 118 },
    product: { x: 34, y: 326, w: width - 48, h: 112 },
    height: 480,
  };
}

/** Draw the heatmap, marking the pair's two columns. */
function drawField(pen, { d_model, base, pair }, box) {
  const X = (feature) => box.x + (box.w * feature) / d_model;
  pen.text(0, 14, phrase`Positions down, features across`, { weight: 600 });
  pen.raster(box.x, box.y, box.w, box.h, fieldOf(d_model, base).picture);
  const marks = range(0, ROWS, 40).map((p) => [p, box.y + (box.h * p) / ROWS]);
  const strokes = marks.map(([, y]) => [box.x - 4, y, box.x, y]);
  pen.lines(strokes, { stroke: ink.muted, width: 1 });
  for (const [p, y] of marks) pen.text(box.x - 7, y + 4, p, noteEnd);
  const bottom = box.y + box.h;
  pen.rect(X(2 * pair), bottom + 2, X(2 * pair + 2) - X(2 * pair), 5, { fill: ink.text });
  const middle = clamp(X(2 * pair + 1), box.x + 22, box.x + box.w - 22);
  pen.text(middle, bottom + 21, phrase`pair ${pair}`, { anchor: "middle", size: 12, weight: 600 });
  pen.text(box.x, bottom + 21, middle - box.x > 40 ? "0" : "", noteMiddle);
  pen.text(box.x + box.w, bottom + 21, box.x + box.w - middle > 50 ? d_model - 1 : "", noteMiddle);
  pen.text(box.x + box.w / 2, bottom + 38, phrase`feature`, { anchor: "middle" });
}

/** Draw the two selected rows and return their handles. */
function drawRows(pen, { position, offset }, { x, y, w, h }) {
  const Y = (p) => y + (h * (p + 0.5)) / ROWS;
  const rowAt = (py) => ((py - y) / h) * ROWS - 0.5;
  const [first, second] = [Y(position), Y(position + offset)];
  const lean = Math.max(0, (15 - (second - first)) / 2); // keeps their names apart
  const grounds = [first, second].map((row) => [x, row, x + w, row]);
  pen.lines(grounds, { stroke: ink.paper, width: 5 });
  pen.line(x, first, x + w + 4, first, { stroke: ink.position, width: 2.5 });
  pen.line(x, second, x + w + 4, second, { stroke: ink.position, width: 2.5, dash: "7 4" });
  const name = { fill: ink.positionWords, weight: 600 };
  const [left, right] = [x + 0.3 * w, x + 0.7 * w];
  pen.circle(left, first, 7, { fill: ink.position, stroke: ink.paper, width: 2.5 });
  pen.text(x + w + 8, first + 4 - lean, `p = ${position}`, name);
  pen.circle(right, second, 7, { fill: ink.paper, stroke: ink.position, width: 2.5 });
  pen.text(x + w + 8, second + 4 + lean, "p + k", name);
  return {
    position: { x: left, y: first, at: (_, py) => rowAt(py) },
    offset: { x: right, y: second, at: (_, py) => rowAt(py) - position },
  };
}

function drawScale(pen, { x, y, w }) {
  pen.text(x + w / 2, y - 5, phrase`value`, noteMiddle);
  pen.raster(x, y, w, 9, 1, 128, (_, column) => column / 127, diverging);
  for (const [i, words] of ["−1", "0", "1"].entries()) pen.text(x + (w * i) / 2, y + 24, words, noteMiddle);
}

/** Draw the selected pair of each row as an arrow, with the cosine on the horizontal axis. */
function drawPair(pen, state, { x: cx, y: cy, r }) {
  const { frequency, turn } = turned(state);
  const start = state.position * frequency;
  pen.lines(crossOf(cx - r - 6, cy - r - 6, 2 * r + 12), { stroke: ink.grid, width: 1 });
  pen.circle(cx, cy, r, { stroke: ink.muted, width: 1 });
  pen.text(cx + r + 8, cy + 4, "cos", note);
  pen.text(cx, cy - r - 9, "sin", noteMiddle);
  pen.arc(cx, cy, r * 0.55, start, start + Math.min(turn, 20 * TURN), { stroke: ink.position, width: 2 });
  const tip = (angle) => polar(cx, cy, angle, r);
  pen.arrow(cx, cy, ...tip(start + turn), { stroke: ink.position, width: 2, dash: "6 4", head: 10 });
  pen.arrow(cx, cy, ...tip(start), { stroke: ink.position, width: 3.5, head: 11 });
}

function namePair(pen, state, { x, y }) {
  const { frequency, turn } = turned(state);
  const named = { size: 12, fill: ink.positionWords, weight: 600 };
  pen.text(x, y, phrase`from p (solid)`, named);
  pen.text(x, y + 16, phrase`to p + k (dashed)`, named);
  pen.text(x, y + 35, phrase`k·θ = ${significant(turn)} rad`, { size: 12 });
  pen.text(x, y + 51, phrase`θ = ${significant(frequency)} rad`, { size: 12 });
  pen.text(x, y + 65, phrase`per token`, { size: 12 });
}

/** Plot the dot product at each offset, with faint curves for other positions. */
function drawProduct(pen, state, box) {
  const { position, offset, d_model, base, between } = state;
  const [low, high] = spanOf(d_model, base, between);
  const { X, Y } = axes(pen, box, [-REACH, REACH], [low, high], {
    xLabel: phrase`offset k (tokens)`,
    xTicks: [-64, -32, 0, 32, 64],
    yTicks: ticks(low, high, 4),
  });
  const curve = (p) => {
    const score = scorer(state, p);
    return offsetsOf(p).map((k) => [X(k), Y(score(k))]);
  };
  pen.curves(OTHERS.map(curve), { stroke: ink.position, width: 1 });
  pen.curve(curve(position), { stroke: ink.position, width: 3.5 });
  const score = scorer(state, position)(offset);
  pen.line(X(offset), Y(low), X(offset), Y(score), { stroke: ink.position, width: 1.5, dash: "3 3" });
  pen.circle(X(offset), Y(score), 6.5, { fill: ink.position, stroke: ink.text, width: 1.5 });
  const words = between === "projection" ? "PE(p) · W PE(p + k)" : "PE(p) · PE(p + k)";
  pen.text(0, box.y - 28, words, { weight: 600, fill: ink.positionWords });
  pen.text(0, box.y - 11, phrase`thick: your p; thin: p = 0, 15, …, 90`, note);
}

function draw(pen, state, { width }) {
  const at = plan(width);
  drawField(pen, state, at.field);
  const handles = drawRows(pen, state, at.field);
  pen.text(at.title.x, at.title.y, phrase`Pair ${state.pair} of ${state.d_model / 2}`, { weight: 600 });
  drawPair(pen, state, at.circle);
  namePair(pen, state, at.words);
  drawScale(pen, at.scale);
  drawProduct(pen, state, at.product);
  return handles;
}

function readout(state) {
  const { position, offset, d_model, between, pair } = state;
  const score = scorer(state, position)(offset);
  const words = phrase`Rows ${position} and ${position + offset}, ${offset} apart:`;
  const turns = phrase`Pair ${pair} turns by ${significant(turned(state).turn)} rad from one to the other.`;
  if (between === "projection") return phrase`${words} with W between, their product is ${fmt(score, 3)}. ${turns}`;
  return phrase`${words} their product is ${fmt(score, 3)}, of at most ${d_model / 2}. ${turns}`;
}

const results = (state) => ({ product: scorer(state, state.position)(state.offset) });

export default live({
  name: "SinusoidHeatmap",
  title: phrase`The sinusoidal encoding as a heat map, one of its pairs, and the dot product of two of its rows`,
  height: (width) => plan(width).height,
  lines: 2,
  draw,
  readout,
  results,
  play: { trait: "position", perSecond: 16, speeds: [1, 4] },
});
