import { axes } from "../lib/axes.js";
import { diverging, ink, noteEnd, onShade, shade, signedPlace, viridis } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { legendOf } from "../lib/legend.js";
import { memo } from "../lib/memo.js";
import { clamp, fmt, grouped, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { roomAslant } from "../lib/shapes.js";
import { quoted, shortened, textWidth } from "../lib/words.js";
import { softmax } from "../maths/dot_product.js";
import { makeHead } from "../maths/encoding.js";
import { readingHead, wordVector } from "../maths/words.js";

const FARTHEST = 1000;
const STRIDE = 10; // number of consecutive values of k merged into one point of the band
const MINE = { stroke: ink.text, width: 3 };
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
const signed = (text) => (text.startsWith("−") || Number(text) === 0 ? text : `+${text}`);
/** Format a weight or a score: `entry` for a cell of a matrix, `amount` for a change in a sentence. */
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

const HEADER = 92; // pixels above each matrix for the title and the column labels
const TURN = 62; // slant of the column labels, in degrees

/** Lay out the two matrices side by side, or one above the other. */
function plan(width, count) {
  const tall = width < 520;
  const names = tall ? 68 : 78;
  const panel = tall ? width : (width - 22) / 2;
  const cell = Math.min(tall ? 34 : 40, (panel - names - (tall ? 4 : 18)) / count);
  const top = 152;
  const block = HEADER + cell * count + 26;
  const below = top + (tall ? 2 * block + 50 : block + 34);
  const second = tall ? [0, top + block] : [width - panel, top];
  const curve = { x: 34, y: below, w: width - 52, h: 104 };
  return { tall, names, panel, cell, first: [0, top], second, curve, height: below + 148 };
}

/** Draw the position axis from 0 to 1,000 and, below it, the sentence's words with their positions; return the
 * handle that moves the sentence. */
function drawPlace(pen, { start, words }, width, tall) {
  const [x0, w, y, top] = [14, width - 28, 22, 54];
  const X = (token) => x0 + (w * token) / (FARTHEST + words.length);
  const step = width / words.length;
  const ends = [X(start), X(start + words.length)];
  const rail = /** @type {Pair[]} */ (ends.map((x) => [x, y]));
  pen.area([...rail, [width - 3, top], [3, top]], { fill: ink.position, opacity: 0.16 });
  pen.line(x0, y, x0 + w, y, { stroke: ink.muted, width: 1.5 });
  for (const t of range(0, FARTHEST, tall ? 500 : 250)) {
    pen.line(X(t), y - 4, X(t), y, { stroke: ink.muted, width: 1 });
    const anchor = t === 0 ? "start" : t === FARTHEST ? "end" : "middle";
    const name = t === 0 ? phrase`position 0` : grouped(t);
    pen.text(t === 0 ? 0 : t === FARTHEST ? width : X(t), y - 9, name, { size: 12, anchor, fill: ink.muted });
  }
  pen.circle(X(start + words.length / 2), y, 7, { fill: ink.position, stroke: ink.paper, width: 1.5 });
  words.forEach((word, m) => {
    const middle = step * (m + 0.5);
    pen.rect(step * m + 2, top, step - 4, 42, { fill: ink.paper, stroke: ink.position, width: 1.5, radius: 5 });
    pen.text(middle, top + 17, shortened(word, step - 8), { anchor: "middle" });
    pen.text(middle, top + 34, start + m, { anchor: "middle", fill: ink.positionWords, weight: 600 });
  });
  const at = (px) => clamp(Math.round(((px - x0) / w) * (FARTHEST + words.length) - words.length / 2), 0, FARTHEST);
  return { start: { x: X(start + words.length / 2), y, at } };
}

/** Draw a matrix with the words along its sides and a frame around the cell `where`; `paint(x)` returns a cell's
 * {fill, text, ink}. */
function drawSquare(pen, { names, cell, panel }, { words, where, causal }, [x, y], title, matrix, paint) {
  pen.text(x, y, title, { weight: 600 });
  const [left, top] = [x + names, y + HEADER - 8];
  pen.text(left - 6, top - 22, phrase`key →`, noteEnd);
  pen.text(left - 6, top - 7, phrase`query ↓`, noteEnd);
  words.forEach((word, n) => {
    const at = left + cell * (n + 0.5) + 2;
    const room = Math.min(74, roomAslant(x + panel - at, TURN));
    pen.text(at, top - 6, shortened(word, room, 12), { size: 12, turn: -TURN });
  });
  words.forEach((word, m) => {
    const middle = top + cell * (m + 0.5) + 4;
    pen.text(left - 6, middle, shortened(word, names - 7, 12), { size: 12, anchor: "end" });
    words.forEach((_, n) => {
      const { fill, text, ink: colour } = causal && n > m ? HIDDEN : paint(matrix[m][n]);
      const [px, py] = [left + cell * n, top + cell * m];
      pen.rect(px, py, cell - 1, cell - 1, { fill });
      pen.rect(px, py, cell - 1, cell - 1, { stroke: ink.grid, width: 1 });
      pen.text(px + cell / 2 - 0.5, middle, textWidth(text, 12) + 5 < cell ? text : "", {
        size: 12,
        anchor: "middle",
        fill: colour,
      });
    });
  });
  if (!where) return;
  const [px, py] = [left + cell * where.n, top + cell * where.m];
  pen.rect(px - 0.5, py - 0.5, cell, cell, { stroke: ink.text, width: 3 });
}

const HIDDEN = { fill: ink.paper, text: "·", ink: ink.muted }; // a masked key

/** Draw the matrix of scores or weights. */
function drawNow(pen, seen, place) {
  const { now, weights } = seen;
  const limit = [4, 8, 16].find((size) => size >= largest(now.map((row) => row.filter(Number.isFinite)))) ?? 32;
  const title = weights ? phrase`Attention weights (%)` : phrase`Attention scores`;
  drawSquare(pen, place, seen, place.first, title, now, (x) => {
    const [level, map] = weights ? [x, viridis] : [signedPlace(x, limit), diverging];
    return { fill: shade(level, map), text: entry(seen, x), ink: onShade(level, map) };
  });
}

/** Draw the changes, with one colour for increases and another for decreases; unchanged cells stay blank. */
function drawChange(pen, seen, place) {
  const { change, weights, against } = seen;
  const what = against === "start" ? phrase`Change since s = 0` : phrase`Change by the encoding`;
  const most = weights ? 0.3 : 3; // changes near this size get the strongest colours
  drawSquare(pen, place, seen, place.second, weights ? phrase`${what} (points)` : what, change, (x) => {
    const number = entry(seen, x);
    const text = weights ? signed(number) : number;
    if (Math.abs(x) < STILL) return { fill: ink.paper, text, ink: ink.muted };
    const level = signedPlace(x, 1.25 * most);
    return { fill: shade(level, diverging), text, ink: onShade(level, diverging) };
  });
}

/** A closed path around the band between the minimum and the maximum of every `STRIDE` consecutive values. */
function bandOf(values, X, Y) {
  const starts = range(0, FARTHEST, STRIDE);
  const edge = (most) => starts.map((k) => [X(k), Y(most(...values.slice(k, k + STRIDE)))]);
  return [...edge(Math.max), ...edge(Math.min).reverse()];
}

/** Plot the largest change at each k, for the selected encoding and one other. A constant curve is drawn as a line,
 * and a varying one as the band between its local minimum and maximum. */
function drawCurve(pen, { text, encoding, start, weights, most }, { curve: box, tall }, width) {
  const other = encoding === "sinusoidal" ? "rotary" : "sinusoidal";
  const [mine, theirs] = [encoding, other].map((name) => changeCurve(text, name));
  const limits = weights ? [0.1, 0.2, 0.4, 0.6, 1] : [0.5, 1, 2, 4, 8, 16];
  const limit = limits.find((step) => step >= Math.max(...mine, ...theirs)) ?? 32;
  const title = weights && !tall ? phrase`Largest change at each s (points)` : phrase`Largest change at each s`;
  pen.text(0, box.y - (tall ? 48 : 28), title, { weight: 600 });
  const { X, Y } = axes(pen, box, [0, FARTHEST], [0, limit], {
    xLabel: tall ? phrase`s (tokens)` : phrase`s, the position of the first word (tokens)`,
    xTicks: range(0, FARTHEST, tall ? 500 : 250),
    xFormat: grouped,
    yTicks: [0, limit / 2, limit],
    yFormat: (t) => (weights ? percent(t) : t),
  });
  const named = (name, values) => (Math.max(...values) < STILL ? phrase`${NAMES[name]}, always 0` : NAMES[name]);
  const legend = [
    { words: named(encoding, mine), style: MINE },
    { words: named(other, theirs), style: THEIRS },
  ];
  legendOf(legend, width, { sample: 26 }).draw(pen, box.y - (tall ? 32 : 12));
  const plot = (values, style) => {
    const varies = Math.max(...values) - Math.min(...values) >= STILL;
    pen.areas(varies ? [bandOf(values, X, Y)] : [], { fill: style.stroke, opacity: 0.6 });
    pen.curve(varies ? [] : [0, FARTHEST].map((k) => [X(k), Y(values[k])]), style);
  };
  plot(theirs, THEIRS);
  plot(mine, MINE);
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
  const { tall } = place;
  const handles = drawPlace(pen, seen, width, tall);
  pen.text(width / 2, 124, verdict(seen, tall), { size: tall ? 14 : 16, weight: 700, anchor: "middle" });
  drawNow(pen, seen, place);
  drawChange(pen, seen, place);
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
  if (against === "start" && start === 0) return phrase`${how} Move the sentence, and watch the second square.`;
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
