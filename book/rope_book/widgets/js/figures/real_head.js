import { axes } from "../lib/axes.js";
import { bitmap } from "../lib/bitmap.js";
import { ink, note, noteEnd } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { speedShade } from "../lib/marks.js";
import { memo } from "../lib/memo.js";
import { clamp, fmt, grouped, range, sum } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { quoted, shortened, textWidth } from "../lib/words.js";
import { pageRope } from "../maths/long_text.js";
import { pageHead } from "../maths/page_heads.js";
import { headWeights, jobDone, pairShares, targets } from "../maths/real_head.js";

const [TRAINED, HEAD_DIM, BASE, PAIRS, SEQ, LAYERS, HEADS] = [8192, 64, 100000, 32, 20, 30, 9]; // for SmolLM2
const AS_TRAINED = { rule: "none", first_pair: 1, last_pair: PAIRS, factor: 1, base: BASE, layout: "interleaved" };
const FAST = 8; // number of fastest pairs summed in the readout
const SHARES = 152; // pixels for the numbers beside the job's bar
const NAMES = { wide: 92, narrow: 66 }; // pixels for the words and, in a wide picture, their positions

const DOES = {
  previous: phrase`It reads the word before`,
  itself: phrase`It reads the word itself`,
  near: phrase`It reads two to seven words back`,
  far: phrase`It reads eight words back, or more`,
  same: phrase`It finds the same word, earlier`,
  after_same: phrase`It finds the word that followed the same word`,
  mark: phrase`It reads punctuation`,
  first: phrase`It rests on the first word`,
};

const allTurn = (turns) => range(1, PAIRS).every(turns);
const percent = (share) => fmt(100 * share, 0);
/** Format a token for display: trimmed, or as a symbol if it is only a line break or a space. */
const shownOf = (token) => token.trim() || (token.includes("\n") ? "↵" : "␣");

const rotationOf = ({ rule, first_pair, last_pair, factor, base }) =>
  pageRope(rule, TRAINED, HEAD_DIM, BASE, {
    ...{ factor, base, first_pair, last_pair },
    ...{ times: 1, ramp_from: 1, ramp_to: 32, attention_factor: 1 },
  });

/** The head's attention weights under the given rotation, and how well the head does its job, memoised. */
const workOf = memo((job, sentence, start, settings) => {
  const { q, k, tokens } = pageHead(job, sentence - 1);
  const weights = headWeights(q, k, start, rotationOf(settings), settings.layout);
  const picture = bitmap(SEQ, SEQ, (row, column) => weights[row][column]);
  return { weights, picture, done: jobDone(weights, targets(job, tokens)) };
}, 24);

/** Collect the data that the picture shows for a state. */
function seenOf({ job, sentence, start, ...state }) {
  const settings = Object.fromEntries(Object.keys(AS_TRAINED).map((name) => [name, state[name]]));
  const [m, n] = [state.query - 1, state.key - 1];
  const { q, k, tokens, ...place } = pageHead(job, sentence - 1);
  const shares = (from) => pairShares(q[m], k[n], start + m, start + n, rotationOf(from), from.layout);
  return {
    ...place,
    ...workOf(job, sentence, start, settings),
    ...{ job, start, m, n, words: tokens.map(shownOf) },
    shares: shares(settings),
    trained: { ...workOf(job, sentence, start, AS_TRAINED), shares: shares(AS_TRAINED) },
    turns: (pair) => state.first_pair <= pair && pair <= state.last_pair,
  };
}

/** Lay out the job's lines, the square of weights, and the chart of pairs to its right or, in a narrow picture,
 * below it. */
function plan(width, { shows }) {
  const [wide, both] = [width >= 640, shows("attention") && shows("sum")];
  const names = width < 400 ? NAMES.narrow : NAMES.wide;
  const cell = Math.min(12.3, (width - names - 4) / SEQ);
  const square = { x: names, y: 72, w: SEQ * cell, h: SEQ * cell, cell, counts: names === NAMES.wide };
  const foot = square.y + square.h + 22;
  if (both && wide) {
    const left = square.x + square.w + 64;
    return { square, chart: { x: left, y: 112, w: width - left - 8, h: square.h - 70 }, height: foot };
  }
  const chart = { x: 40, y: shows("attention") ? foot + 50 : 106, w: width - 56, h: 110 };
  return { square, chart, height: shows("sum") ? chart.y + chart.h + 40 : foot };
}

/** Draw how well the head does its job under the current rotation and as trained. */
function drawJob(pen, { layer, head, job, done, trained }, width) {
  const where = phrase`Layer ${layer + 1} of ${LAYERS}, head ${head + 1} of ${HEADS}`;
  pen.text(0, 13, shortened(DOES[job], width, 13, true), { weight: 600 });
  const room = width - textWidth(where) - textWidth(DOES[job], 13, true) - 12;
  if (room > 0) pen.text(width, 13, where, noteEnd);
  const [x, w] = [0, width - SHARES];
  pen.rect(x, 24, w, 14, { stroke: ink.muted, width: 1 });
  pen.rect(x, 24, w * (done || 0), 14, { fill: ink.position });
  pen.line(x + w * trained.done, 20, x + w * trained.done, 42, { stroke: ink.text, width: 2 });
  pen.text(width, 34, phrase`${percent(done)} % of its attention`, { anchor: "end" });
  pen.text(width, 50, phrase`as trained, ${percent(trained.done)} %`, noteEnd);
}

/**
 * The outline of the stepped area above the diagonal, which holds the masked keys.
 * @type {(square: Box & {cell: number}) => Pair[]}
 */
function future({ x, y, w, cell }) {
  const steps = range(0, SEQ - 1).flatMap((n) => {
    const across = x + (n + 1) * cell;
    return /** @type {Pair[]} */ ([
      [across, y + n * cell],
      [across, y + (n + 1) * cell],
    ]);
  });
  return [...steps.slice(0, -1), [x + w, y]];
}

/** Draw the square of weights, with queries as rows and keys as columns. The rows' words are at the left; the
 * columns' words are in the masked area above the diagonal. */
function drawSquare(pen, { words, start, picture, m, n }, { square }) {
  const { x, y, w, h, cell, counts } = square;
  const style = (place) =>
    place === m ? { fill: ink.qWords, weight: 700 } : place === n ? { fill: ink.kWords, weight: 700 } : {};
  pen.raster(x, y, w, h, picture);
  pen.area(future(square), { fill: ink.paper });
  pen.rect(x, y + cell * m, cell * (m + 1), cell, { stroke: ink.q, width: 1.5 });
  pen.rect(x + cell * n, y + cell * n, cell, h - cell * n, { stroke: ink.k, width: 1.5 });
  words.forEach((word, place) => {
    const [name, line] = [shortened(word, NAMES.narrow - 10, 12, true), y + cell * (place + 0.5) + 4];
    pen.text(counts ? x - 26 : x - 4, line, name, { size: 12, anchor: "end", ...style(place) });
    if (counts) pen.text(x - 4, line, place + 1, noteEnd);
    const above = shortened(word, 32 + cell * place, 12, true);
    const [across, foot] = [x + cell * (place + 0.5) + 4, y + cell * place - 4];
    pen.text(across, foot, above, { size: 12, turn: -90, fill: ink.muted, ...(place === n ? style(n) : {}) });
  });
  pen.text(x + w, y - 8, phrase`columns: what is read`, noteEnd);
  pen.text(x + w, y + h + 16, phrase`rows: who reads, from token ${grouped(start + 1)}`, noteEnd);
  const at = (px, py) => {
    const [query, key] = [clamp(Math.ceil((py - y) / cell), 2, SEQ), clamp(Math.ceil((px - x) / cell), 1, SEQ)];
    return { query, key: Math.min(key, query) };
  };
  return { cells: { x, y, w, h, at } };
}

/** Draw the two words' score as a sum over pairs, fastest pair first. */
function drawSum(pen, { shares, trained, turns }, box) {
  const total = fmt(sum(shares), 1);
  pen.text(box.x - 34, box.y - 30, phrase`Score: 32 pairs add up to ${total}`, { weight: 600 });
  pen.line(box.x - 34, box.y - 15, box.x - 16, box.y - 15, { stroke: ink.score, width: 2 });
  pen.text(box.x - 10, box.y - 11, phrase`as trained`, note);
  if (!allTurn(turns)) {
    pen.rect(box.x + 66, box.y - 20, 10, 10, { fill: ink.paper, stroke: ink.text, width: 1 });
    pen.text(box.x + 81, box.y - 11, phrase`still, but counts`, note);
  }
  const most = Math.max(...[...shares, ...trained.shares].map(Math.abs));
  const limit = [1, 2, 4, 8, 16, 32].find((step) => step >= most) ?? 64;
  const { X, Y } = axes(pen, box, [0.5, PAIRS + 0.5], [-limit, limit], {
    xTicks: [1, 8, 16, 24, 32],
    xLabel: phrase`pair, fastest to slowest`,
    yTicks: [-limit, 0, limit],
  });
  const half = (0.36 * box.w) / PAIRS;
  shares.forEach((share, i) => {
    const [x, y, h] = [X(i + 1) - half, Math.min(Y(0), Y(share)), Math.abs(Y(share) - Y(0))];
    const fill = turns(i + 1) ? speedShade(i / (PAIRS - 1)) : ink.paper;
    pen.rect(x, y, 2 * half, h, { fill, stroke: ink.text, width: 0.8 });
  });
  const marks = trained.shares.map((share, i) => [X(i + 1) - half - 1, Y(share), X(i + 1) + half + 1, Y(share)]);
  pen.lines(marks, { stroke: ink.score, width: 2 });
}

function draw(pen, state, { width, shows }) {
  const seen = seenOf(state);
  const at = plan(width, { shows });
  drawJob(pen, seen, width);
  if (shows("sum")) drawSum(pen, seen, at.chart);
  if (!shows("attention")) return {};
  return { taps: drawSquare(pen, seen, at) };
}

/** Say how well the head does its job under the current rotation and as trained. */
function fate({ job, done, trained }) {
  const [now, was] = [percent(done), percent(trained.done)];
  if (done === trained.done) return phrase`${DOES[job]}, with ${now} % of its attention, as trained.`;
  return done < 0.5 * trained.done
    ? phrase`It has lost its job: ${now} % of its attention; as trained, ${was} %.`
    : phrase`${DOES[job]}, with ${now} % of its attention; as trained, ${was} %.`;
}

function readout(state) {
  const seen = seenOf(state);
  const { words, m, n, weights, shares, start, turns } = seen;
  const [fast, slow] = [sum(shares.slice(0, FAST)), sum(shares.slice(FAST))].map((part) => fmt(part, 1));
  const pair = phrase`${quoted(words[m])} (${m + 1}) gives ${quoted(words[n])} (${n + 1}) ${percent(weights[m][n])} %:
    the fastest eight pairs add ${fast} to the score, the other 24 ${slow}.`;
  const counts = allTurn(turns) ? "" : phrase`Pairs that stand still go on counting; they only stop turning.`;
  const moved = start ? phrase`The text begins at ${grouped(start)}, and no weight has changed.` : "";
  return [fate(seen), pair, counts, moved].filter(Boolean).join(" ");
}

export default live({
  name: "RealHead",
  title: phrase`A head of SmolLM2 reading twenty words: its attention as a square, and the pairs of one score`,
  height: (width, _, view) => plan(width, view).height,
  draw,
  readout,
});
