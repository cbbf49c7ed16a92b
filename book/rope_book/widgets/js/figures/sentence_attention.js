import { axes } from "../lib/axes.js";
import { diverging, ink, note, noteEnd, noteMiddle, onShade, shade, signedPlace, viridis } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { legendOf } from "../lib/legend.js";
import { memo } from "../lib/memo.js";
import { clamp, fmt, grouped, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { roomAslant } from "../lib/shapes.js";
import { quoted, shortened, textWidth, wrapped } from "../lib/words.js";
import { softmax } from "../maths/dot_product.js";
import { makeHead } from "../maths/encoding.js";
import { readingHead, wordVector } from "../maths/words.js";

const FARTHEST = 1000;
const NEAR = 50; // tokens to either side of s in the curve
const MINE = { stroke: ink.text, width: 2.2 };
const THEIRS = { stroke: ink.muted, width: 1.5 };
const STILL = 1e-9; // smaller changes are ignored

const NAMES = {
  none: phrase`no encoding`,
  sinusoidal: phrase`sinusoidal`,
  alibi: "ALiBi",
  t5: "T5",
  shaw: "Shaw",
  rotary: phrase`rotary`,
};

const percent = (x, decimals = 0) => fmt(100 * x, decimals);
/** Formatters for weights or scores: one for numbers in cells, one for changes in sentences. */
const entry = ({ weights }, x) => (weights ? percent(x) : fmt(x, 1));
const amount = ({ weights }, x) => (weights ? phrase`${percent(x, 1)} points` : fmt(x, 2));

/** A function of k that returns the matrix of scores or weights when the sentence starts at position k. */
const readingOf = memo(({ sentence, show, causal }, encoding) => {
  const rows = sentence.split(" ").map((word) => wordVector(word));
  const scoresAt = makeHead(rows, readingHead(causal), encoding, causal);
  return show === "scores" ? scoresAt : (k) => scoresAt(k).map(softmax);
}, 24);

/** The baseline for the comparison: the same encoding at k = 0, or no encoding. */
const referenceOf = (text, encoding) => readingOf(text, text.against === "start" ? encoding : "none")(0);

/** Subtract b from a elementwise, with 0 for masked keys. */
const minusMatrix = (a, b) => a.map((row, m) => row.map((x, n) => (Number.isFinite(x) ? x - b[m][n] : 0)));
const largest = (matrix) => Math.max(...matrix.flat().map(Math.abs));

/** The largest change in any cell, for each k. */
const changeCurve = memo((text, encoding) => {
  const [at, before] = [readingOf(text, encoding), referenceOf(text, encoding)];
  return range(0, FARTHEST).map((k) => largest(minusMatrix(at(k), before)));
}, 24);

/** Collect the data to draw for the given state. The curves depend only on `text` and `encoding`; `where` is the
 * cell with the largest change, or null if nothing changes. */
function seenOf({ start, encoding, ...text }) {
  const now = readingOf(text, encoding)(start);
  const change = minusMatrix(now, referenceOf(text, encoding));
  const most = largest(change);
  const still = most < STILL;
  const m = change.findIndex((row) => row.some((x) => Math.abs(x) === most));
  const n = change[m].findIndex((x) => Math.abs(x) === most);
  const where = still ? null : { m, n };
  const { sentence, show, causal, against } = text;
  const [words, weights] = [sentence.split(" "), show === "weights"];
  return { text, words, weights, causal, against, start, encoding, now, change, most, still, where };
}

const TURN = 62; // slant of the columns' words in a narrow figure, in degrees
const GAP = 4; // between two rows, in pixels
const TOP = 74; // of the boxes that head the columns, in pixels

/** Lay out the text, then the matrix under it, and the curve beside the matrix or below it. */
function plan(width, count) {
  const tall = width < 640;
  const names = tall ? 74 : 78;
  const cell = Math.min(84, ((tall ? width - 20 : 0.66 * width) - names) / count);
  const row = Math.min(39, 195 / count);
  const head = tall ? { h: 22, below: 72 } : { h: 34, below: 4 };
  const square = { left: names, top: TOP + head.h + head.below, cell, row };
  const bottom = square.top + row * count;
  const x = tall ? 34 : Math.round(0.66 * width) + 54;
  const y = tall ? bottom + 122 : TOP + 76;
  const curve = { x, y, w: width - x - 20, h: tall ? 104 : 116 };
  return { tall, head, square, bottom, curve, height: Math.max(bottom + 24, curve.y + curve.h + 36) };
}

/** Draw the text from 0 to 1000, and the sentence's place in it, which fans out to the columns of the matrix. */
function drawPlace(pen, { start, words }, { tall, square, head }, width) {
  const [x0, w, y] = [14, width - 28, 50];
  const X = (token) => x0 + (w * token) / (FARTHEST + words.length);
  const ends = [X(start), X(start + words.length)];
  const rail = /** @type {Pair[]} */ (ends.map((x) => [x, y]));
  pen.area([...rail, [square.left + square.cell * words.length, TOP], [square.left, TOP]], FAN);
  pen.line(x0, y, x0 + w, y, { stroke: ink.muted, width: 1.5 });
  for (const t of range(0, FARTHEST, tall ? 500 : 250)) {
    pen.line(X(t), y - 4, X(t), y, { stroke: ink.muted, width: 1 });
    const anchor = t === 0 ? "start" : t === FARTHEST ? "end" : "middle";
    const name = t === 0 ? phrase`position 0` : grouped(t);
    pen.text(t === 0 ? 0 : t === FARTHEST ? width : X(t), y - 9, name, { ...note, anchor });
  }
  pen.circle(X(start + words.length / 2), y, 7, { fill: ink.position, stroke: ink.paper, width: 1.5 });
  const at = (px) => clamp(Math.round(((px - x0) / w) * (FARTHEST + words.length) - words.length / 2), 0, FARTHEST);
  drawHeads(pen, { words, start }, { tall, head, square }, width);
  return { start: { x: X(start + words.length / 2), y, at } };
}

const FAN = { fill: ink.position, opacity: 0.16 };

/** Head each column with its word and position, and each row with its word. */
function drawHeads(pen, { words, start }, { tall, head: { h }, square: { left, top, cell, row } }, width) {
  pen.text(left - 6, top - 22, phrase`key →`, noteEnd);
  pen.text(left - 6, top - 7, phrase`query ↓`, noteEnd);
  words.forEach((word, n) => {
    const [x, middle] = [left + cell * n, left + cell * (n + 0.5)];
    pen.rect(x + 1, TOP, cell - 3, h, { fill: ink.paper, stroke: ink.position, width: 1.5, radius: 5 });
    const place = { anchor: "middle", fill: ink.positionWords, weight: 600, size: tall ? 12 : 13 };
    pen.text(middle, TOP + h - 6, start + n, place);
    if (tall)
      pen.text(middle + 2, top - 6, shortened(word, Math.min(72, roomAslant(width - middle - 2, TURN)), 12), {
        size: 12,
        turn: -TURN,
      });
    else pen.text(middle, TOP + 14, shortened(word, cell - 6, 12), { size: 12, anchor: "middle" });
    const name = shortened(word, left - 7, 12);
    pen.text(left - 6, top + row * (n + 0.5) + 2, name, { size: 12, anchor: "end" });
  });
}

/** How a number in a cell is painted: {fill, ink}. */
function painterOf({ now, change, weights }) {
  const all = [now, minusMatrix(now, change)].flat(2).filter(Number.isFinite);
  const limit = [4, 8, 16].find((size) => size >= Math.max(...all.map(Math.abs))) ?? 32;
  return (x) => {
    const [level, map] = weights ? [x, viridis] : [signedPlace(x, limit), diverging];
    return { fill: shade(level, map), ink: onShade(level, map) };
  };
}

/** Draw the weights or scores. A cell is split where its number changes, into before and now; the largest change is
 * framed. */
function drawSquare(pen, seen, { left, top, cell, row }) {
  const { words, now, change, causal, where } = seen;
  const paint = painterOf(seen);
  const numbers = (m, n) => (Math.abs(change[m][n]) < STILL ? [now[m][n]] : [now[m][n] - change[m][n], now[m][n]]);
  pen.part(() => {
    for (const [m, n] of words.flatMap((_, m) => words.map((_, n) => [m, n]))) {
      const [x, y] = [left + cell * n, top + row * m];
      const isHidden = causal && n > m; // a key that the query cannot see
      const shown = isHidden ? [] : numbers(m, n);
      const tall = (row - GAP) / shown.length;
      for (const [i, value] of shown.entries()) {
        const { fill, ink: colour } = paint(value);
        pen.rect(x, y + tall * i, cell - 1, tall, { fill });
        const text = entry(seen, value);
        const words = textWidth(text, 12) + 5 < cell ? text : "";
        pen.text(x + cell / 2, y + tall * (i + 0.5) + 4.5, words, { ...noteMiddle, fill: colour });
      }
      pen.rect(x, y, cell - 1, row - GAP, { stroke: ink.grid, width: 1 });
      if (isHidden) pen.text(x + cell / 2, y + row / 2 + 3, "·", noteMiddle);
    }
  });
  if (where) {
    const [x, y] = [left + cell * where.n, top + row * where.m];
    pen.rect(x - 0.5, y - 0.5, cell, row - GAP + 1, { stroke: ink.text, width: 3 });
  }
}

/** Say below the matrix what its numbers are. */
function drawNote(pen, { weights, against }, { square, bottom, tall, curve }, width) {
  const what = weights ? phrase`Weights in %` : phrase`Scores`;
  const before = against === "start" ? phrase`at s = 0` : phrase`no encoding`;
  const words = phrase`${what}. Split where they change: ${before} above, now below`;
  const left = tall ? 2 : square.left;
  const isBeside = !tall && bottom < curve.y + curve.h + 30; // rather than under the curve
  const room = (isBeside ? curve.x - 40 : width) - left;
  for (const [i, line] of wrapped(words, room, 12).entries()) pen.text(left, bottom + 15 + 16 * i, line, note);
}

/** Plot the largest change at each k near s, for the selected encoding and one other. */
function drawCurve(pen, { text, encoding, start, weights, most }, { curve: box }, width) {
  const other = encoding === "sinusoidal" ? "rotary" : "sinusoidal";
  const [mine, theirs] = [encoding, other].map((name) => changeCurve(text, name));
  const limits = weights ? [0.1, 0.2, 0.4, 0.6, 1] : [0.5, 1, 2, 4, 8, 16];
  const limit = limits.find((step) => step >= Math.max(...mine, ...theirs)) ?? 32;
  const title = weights ? phrase`Largest change (points)` : phrase`Largest change`;
  pen.text(box.x - 30, box.y - 58, title, { weight: 600 });
  const from = clamp(start - NEAR, 0, FARTHEST - 2 * NEAR);
  const near = range(from, from + 2 * NEAR);
  const { X, Y } = axes(pen, box, [from, from + 2 * NEAR], [0, limit], {
    xLabel: phrase`s (tokens)`,
    xTicks: near.filter((k) => k % NEAR === 0),
    xFormat: grouped,
    yTicks: [0, limit / 2, limit],
    yFormat: (t) => (weights ? percent(t) : t),
  });
  const named = (name, values) => (Math.max(...values) < STILL ? phrase`${NAMES[name]}, always 0` : NAMES[name]);
  const legend = [
    { words: named(encoding, mine), style: MINE },
    { words: named(other, theirs), style: THEIRS },
  ];
  legendOf(legend, width - box.x + 30, { sample: 26 }).draw(pen, box.y - 40, box.x - 32);
  const plot = (values) => near.map((k) => [X(k), Y(values[k])]);
  pen.curve(plot(theirs), THEIRS);
  pen.curve(plot(mine), MINE);
  pen.line(X(start), Y(0), X(start), Y(most), { stroke: ink.position, width: 1.5, dash: "3 3" });
  pen.circle(X(start), Y(most), 6, { fill: ink.position, stroke: ink.text, width: 1.5 });
}

/** The picture's headline, which is shorter in a narrow figure. */
function verdict({ weights, against, start, encoding, most, still }, tall) {
  const by = weights ? phrase`${percent(most)} points` : fmt(most, 1);
  if (against === "none" && encoding === "none")
    return tall ? phrase`No encoding: nothing changes` : phrase`No encoding: position changes nothing`;
  if (against === "start" && start === 0)
    return tall ? phrase`Now move the sentence` : phrase`At s = 0: now move the sentence`;
  if (tall && still) return weights ? phrase`No weight changes` : phrase`No score changes`;
  if (tall) return phrase`Largest change: ${by}`;
  const none = weights ? phrase`no weight changes` : phrase`no score changes`;
  const change = weights ? phrase`the weights change by up to ${by}` : phrase`the scores change by up to ${by}`;
  if (against !== "none") return phrase`Moved by ${start}: ${still ? none : change}`;
  if (!still) return phrase`By the encoding, ${change}`;
  return weights ? phrase`The encoding changes no weight` : phrase`The encoding changes no score`;
}

function draw(pen, state, { width }) {
  const seen = seenOf(state);
  const place = plan(width, seen.words.length);
  pen.text(2, 15, verdict(seen, place.tall), { size: place.tall ? 14 : 16, weight: 700 });
  const handles = drawPlace(pen, seen, place, width);
  drawSquare(pen, seen, place.square);
  drawNote(pen, seen, place, width);
  drawCurve(pen, seen, place, width);
  return handles;
}

const HOW = {
  none: phrase`No position enters`,
  sinusoidal: phrase`A vector for each position is added to each word`,
  alibi: phrase`Each score loses 0.5 for each token of distance`,
  t5: phrase`Each score gains a number for its distance`,
  shaw: phrase`Each score gains a term for its distance, times the query`,
  rotary: phrase`Each query and each key is turned by its own position`,
};

function readout(state) {
  const seen = seenOf(state);
  const { words, now, change, most, still, where, weights, start, against, encoding } = seen;
  const last = start + words.length - 1;
  const span = words.length > 1 ? phrase`positions ${start} to ${last}` : phrase`position ${start}`;
  const how = phrase`${HOW[encoding]}; the words are at ${span}.`;
  const what = weights ? phrase`weight` : phrase`score`;
  if (against === "start" && start === 0) return phrase`${how} Move the sentence, and watch the cells.`;
  if (still && against === "start") {
    return encoding === "none"
      ? phrase`${how} No ${what} differs from that at s = 0, to 9 decimals (without position nothing could).`
      : phrase`${how} No ${what} differs from that at s = 0, to 9 decimals.`;
  }
  if (!where) return phrase`${how} Every ${what} is what it is without an encoding.`;
  const { m, n } = where;
  const value = (x) => (weights ? `${percent(x, 1)} %` : fmt(x, 2));
  const [is, was] = [value(now[m][n]), value(now[m][n] - change[m][n])];
  const since = against === "start" ? phrase`at s = 0` : phrase`without an encoding`;
  const [key, query] = [n, m].map((place) => `${quoted(words[place])} (${start + place})`);
  return phrase`${how} Framed: the ${what} of ${key} for the query ${query} is ${is}; ${since} it is
    ${was}, a change of ${amount(seen, most)}, the largest.`;
}

function results(state) {
  const { weights, still, most } = seenOf(state);
  return { change: still ? 0 : most * (weights ? 100 : 1) };
}

export default live({
  name: "SentenceAttention",
  title: phrase`Attention of one head over a sentence, and how it changes when the sentence moves`,
  height: (width, { sentence }) => plan(width, sentence.split(" ").length).height,
  draw,
  readout,
  results,
  play: { trait: "start", perSecond: 20, speeds: [1, 4] },
});
