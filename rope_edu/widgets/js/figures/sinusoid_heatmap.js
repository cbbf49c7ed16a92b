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

const ROWS = 160; // positions drawn, 0 … 159
const REACH = 64; // offsets drawn, −64 … 64
const OTHERS = range(0, 90, 15); // the positions of the faint curves

/** PE of every row. */
const fieldOf = memo((dModel, base) => range(0, ROWS - 1).map((p) => sinusoidal(p, dModel, base)));

/** The same as a picture. */
const pictureOf = memo((dModel, base) => {
  const field = fieldOf(dModel, base);
  return bitmap(ROWS, dModel, (p, feature) => (field[p][feature] + 1) / 2, diverging);
});

/** The one random matrix, entries of variance 1/d. */
const matrixOf = memo((dModel) => randomMatrix(2, dModel));

/** What the curve of position p is made from: k → PE(p) · PE(p + k), or with W between. */
const scorer = memo((dModel, base, between, p) => {
  const field = fieldOf(dModel, base);
  const left = between === "projection" ? matVec(matrixOf(dModel), field[p]) : field[p];
  return (k) => dot(left, field[p + k]);
}, 64);

/** The offsets that position p has, from its first token to 64 after it. */
const offsetsOf = (p, step = 1) => range(Math.max(-REACH, -p), REACH, step);

/** The whole curve of position p: [[k, product], …]. */
const curveOf = memo((dModel, base, between, p) => {
  const score = scorer(dModel, base, between, p);
  return offsetsOf(p).map((k) => [k, score(k)]);
}, 64);

/** The vertical interval, the same for every p. */
const spanOf = memo((dModel, base, between) => {
  const places = between === "projection" ? range(0, 95, 7) : [0];
  const seen = places.flatMap((p) =>
    offsetsOf(p, between === "projection" ? 6 : 1).map(scorer(dModel, base, between, p)),
  );
  const [low, high] = [Math.min(0, ...seen), Math.max(0, ...seen)];
  const room = between === "projection" ? 0.12 * (high - low) : 0;
  return [Math.floor(low - room), Math.ceil(high + room)];
});

/** The state with a pair that exists, its frequency and its turn. */
function chosen({ pair, offset, d_model, base }) {
  const i = pair;
  const frequency = invFreq(d_model, base)[i];
  return { i, frequency, turn: offset * frequency };
}

const narrow = (width) => width < 500;
const height = (width) => (narrow(width) ? 700 : 532);

/** The field with its two rows and the two columns of the pair; returns what can be dragged. */
function drawField(pen, state, box) {
  const { position, offset, d_model, base } = state;
  const { i } = chosen(state);
  const Y = (p) => box.y + (box.h * (p + 0.5)) / ROWS;
  const X = (feature) => box.x + (box.w * feature) / d_model;
  pen.text(0, 14, phrase`Positions down, features across`, { weight: 600 });
  pen.raster(box.x, box.y, box.w, box.h, pictureOf(d_model, base));
  const marks = range(0, ROWS, 40).map((p) => [p, box.y + (box.h * p) / ROWS]);
  const strokes = marks.map(([, y]) => [box.x - 4, y, box.x, y]);
  pen.lines(strokes, { stroke: ink.muted, width: 1 });
  for (const [p, y] of marks) pen.text(box.x - 7, y + 4, p, noteEnd);
  const bottom = box.y + box.h;
  pen.rect(X(2 * i), bottom + 2, X(2 * i + 2) - X(2 * i), 5, { fill: ink.text });
  const middle = clamp(X(2 * i + 1), box.x + 22, box.x + box.w - 22);
  pen.text(middle, bottom + 21, phrase`pair ${i}`, { anchor: "middle", size: 12, weight: 600 });
  const first = middle - box.x > 40 ? "0" : "";
  const last = box.x + box.w - middle > 50 ? d_model - 1 : "";
  pen.text(box.x, bottom + 21, first, noteMiddle);
  pen.text(box.x + box.w, bottom + 21, last, noteMiddle);
  pen.text(box.x + box.w / 2, bottom + 38, phrase`feature`, { anchor: "middle" });

  const rows = [
    { name: "position", p: position, words: `p = ${position}`, at: 0.3 },
    { name: "offset", p: position + offset, words: "p + k", at: 0.7, dash: "7 4" },
  ];
  const apart = Y(rows[1].p) - Y(rows[0].p);
  const lean = Math.max(0, (15 - apart) / 2);
  const handles = {};
  const grounds = rows.map(({ p }) => [box.x, Y(p), box.x + box.w, Y(p)]);
  pen.lines(grounds, { stroke: ink.paper, width: 5 });
  for (const { p, dash } of rows) {
    pen.line(box.x, Y(p), box.x + box.w + 4, Y(p), { stroke: ink.position, width: 2.5, dash });
  }
  for (const [n, { name, p, words, at }] of rows.entries()) {
    const y = Y(p);
    const grip = box.x + box.w * at;
    pen.circle(grip, y, 7, { fill: n ? ink.paper : ink.position, stroke: n ? ink.position : ink.paper, width: 2.5 });
    pen.text(box.x + box.w + 8, y + 4 + (n ? lean : -lean), words, { fill: ink.positionWords, weight: 600 });
    const rowAt = (py) => ((py - box.y) / box.h) * ROWS - 0.5;
    handles[name] = { x: grip, y, at: (_, py) => rowAt(py) - (n ? position : 0) };
  }
  return handles;
}

/** What the colours mean. */
function drawLegend(pen, x, y, w) {
  pen.text(x + w / 2, y - 5, phrase`value`, noteMiddle);
  pen.raster(x, y, w, 9, 1, 128, (_, column) => column / 127, diverging);
  for (const [i, words] of ["−1", "0", "1"].entries()) {
    pen.text(x + (w * i) / 2, y + 24, words, noteMiddle);
  }
}

/** One pair of both rows as arrows: cosine to the right, sine up. */
function drawPair(pen, state, cx, cy, r) {
  const { i, frequency, turn } = chosen(state);
  const start = state.position * frequency;
  const at = (angle, far) => polar(cx, cy, angle, far);
  pen.lines(crossOf(cx - r - 6, cy - r - 6, 2 * r + 12), { stroke: ink.grid, width: 1 });
  pen.circle(cx, cy, r, { stroke: ink.muted, width: 1 });
  pen.text(cx + r + 8, cy + 4, "cos", note);
  pen.text(cx, cy - r - 9, "sin", noteMiddle);
  pen.arc(cx, cy, r * 0.55, start, start + Math.min(turn, 20 * TURN), { stroke: ink.position, width: 2, opacity: 0.8 });
  pen.arrow(cx, cy, ...at(start + turn, r), { stroke: ink.position, width: 2, dash: "6 4", head: 10 });
  pen.arrow(cx, cy, ...at(start, r), { stroke: ink.position, width: 3.5, head: 11 });
  return { i, frequency, turn };
}

/** The words that go with the pair. */
function namePair(pen, state, x, y) {
  const { frequency, turn } = chosen(state);
  pen.text(x, y, phrase`from p (solid)`, { size: 12, fill: ink.positionWords, weight: 600 });
  pen.text(x, y + 16, phrase`to p + k (dashed)`, { size: 12, fill: ink.positionWords, weight: 600 });
  pen.text(x, y + 35, phrase`k·θ = ${significant(turn)} rad`, { size: 12 });
  pen.text(x, y + 51, phrase`θ = ${significant(frequency)} rad`, { size: 12 });
  pen.text(x, y + 65, phrase`per token`, { size: 12 });
}

/** The dot product at every offset, faint for other positions. */
function drawProduct(pen, state, box) {
  const { position, offset, d_model, base, between } = state;
  const [low, high] = spanOf(d_model, base, between);
  const projected = between === "projection";
  const { X, Y } = axes(pen, box, [-REACH, REACH], [low, high], {
    xLabel: phrase`offset k (tokens)`,
    xTicks: [-64, -32, 0, 32, 64],
    yTicks: ticks(low, high, 4),
  });
  const curve = (p) => curveOf(d_model, base, between, p).map(([k, score]) => [X(k), Y(score)]);
  pen.curves(OTHERS.map(curve), { stroke: ink.score, width: 1.2, opacity: 0.55 });
  pen.curve(curve(position), { stroke: ink.score, width: 3.5 });
  const score = scorer(d_model, base, between, position)(offset);
  pen.line(X(offset), Y(low), X(offset), Y(score), { stroke: ink.position, width: 1.5, dash: "3 3" });
  pen.circle(X(offset), Y(score), 6.5, { fill: ink.score, stroke: ink.text, width: 1.5 });
  pen.text(0, box.y - 28, projected ? "PE(p) · W PE(p + k)" : "PE(p) · PE(p + k)", {
    weight: 600,
    fill: ink.scoreWords,
  });
  pen.text(0, box.y - 11, phrase`thick: your p; thin: p = 0, 15, …, 90`, note);
}

function draw(pen, state, { width }) {
  const { i } = chosen(state);
  const title = phrase`Pair ${i} of ${state.d_model / 2}`;
  if (narrow(width)) {
    const field = { x: 30, y: 28, w: width - 94, h: 210 };
    const handles = drawField(pen, state, field);
    pen.text(0, 308, title, { weight: 600 });
    drawPair(pen, state, 50, 386, 42);
    namePair(pen, state, 132, 345);
    drawLegend(pen, 142, 433, width - 168);
    drawProduct(pen, state, { x: 34, y: 516, w: width - 46, h: 132 });
    return handles;
  }
  const column = 178;
  const field = { x: 30, y: 30, w: width - column - 102, h: 236 };
  const handles = drawField(pen, state, field);
  const x = width - column;
  pen.text(x, 42, title, { weight: 600 });
  drawPair(pen, state, x + 66, 126, 54);
  namePair(pen, state, x, 208);
  drawLegend(pen, x + 8, 300, 118);
  drawProduct(pen, state, { x: 34, y: 362, w: width - 48, h: 128 });
  return handles;
}

function readout(state) {
  const { position, offset, d_model, base, between } = state;
  const { i, turn } = chosen(state);
  const score = scorer(d_model, base, between, position)(offset);
  const words = phrase`Rows ${position} and ${position + offset}, ${offset} apart:`;
  const turned = phrase`Pair ${i} turns by ${significant(turn)} rad from one to the other.`;
  if (between === "projection") return phrase`${words} with W between, their product is ${fmt(score, 3)}. ${turned}`;
  return phrase`${words} their product is ${fmt(score, 3)}, of at most ${d_model / 2}. ${turned}`;
}

export default live({
  name: "SinusoidHeatmap",
  title: phrase`The sinusoidal encoding as a field, one of its pairs, and the dot product of two of its rows`,
  height,
  draw,
  readout,
  play: { trait: "position", perSecond: 16, speeds: [1, 4] },
});
