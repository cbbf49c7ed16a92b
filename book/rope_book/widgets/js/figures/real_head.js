import { axes } from "../lib/axes.js";
import { bitmap } from "../lib/bitmap.js";
import { ink, noteEnd, noteMiddle } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { speedShade } from "../lib/marks.js";
import { memo } from "../lib/memo.js";
import { clamp, fmt, grouped, sum } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { halfEllipse } from "../lib/shapes.js";
import { quoted, shortened, textWidth } from "../lib/words.js";
import { pageRope } from "../maths/long_text.js";
import { pageHead } from "../maths/page_heads.js";
import { headWeights, jobDone, pairShares, targets } from "../maths/real_head.js";

const [TRAINED, HEAD_DIM, BASE, PAIRS, SEQ, LAYERS, HEADS] = [8192, 64, 100000, 32, 20, 30, 9]; // for SmolLM2 and its texts
const AS_TRAINED = { rule: "none", first_pair: 1, last_pair: PAIRS, factor: 1, base: BASE, layout: "interleaved" };
const FAST = 8; // pairs
const ROW = 17; // pixels
const LEVELS = [
  { least: 0.5, style: { width: 3 } },
  { least: 0.2, style: { width: 2, opacity: 0.8 } },
  { least: 0.08, style: { width: 1, opacity: 0.7 } },
];
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

const percent = (share) => fmt(100 * share, 0);
const narrow = (width) => width < 520;
/** Format a token for display: trimmed, or a symbol for a line break or a single space. */
const shownOf = (token) => token.trim() || (token.includes("\n") ? "↵" : "␣");

const rotationOf = ({ rule, first_pair, last_pair, factor, base }) =>
  pageRope(rule, TRAINED, HEAD_DIM, BASE, {
    ...{ factor, base, first_pair, last_pair },
    ...{ times: 1, ramp_from: 1, ramp_to: 32, attention_factor: 1 },
  });

/** The head's attention weights under the given rotation, and how well it does its job; memoised. */
const workOf = memo((job, sentence, start, settings) => {
  const { q, k, tokens } = pageHead(job, sentence - 1);
  const weights = headWeights(q, k, start, rotationOf(settings), settings.layout);
  const picture = bitmap(SEQ, SEQ, (row, column) => weights[row][column]);
  return { weights, picture, done: jobDone(weights, targets(job, tokens)) };
}, 24);

/** Everything that the picture shows for a state. */
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

function plan(width, { shows }) {
  const tall = narrow(width);
  const [arcs, names] = tall ? [52, 64] : [150, 100];
  const top = 74;
  const square = { x: arcs + names, y: top, w: width - arcs - names - 4, h: SEQ * ROW };
  const bottom = shows("attention") ? top + square.h + 26 : 60;
  const chart = { x: 40, y: bottom + 46, w: width - 56, h: 120 };
  return { tall, arcs, names, square, chart, height: shows("sum") ? chart.y + chart.h + 40 : bottom };
}

/** How well the head does its job under the current rotation and as trained. */
function drawJob(pen, { layer, head, job, done, trained }, width) {
  const where = phrase`Layer ${layer + 1} of ${LAYERS}, head ${head + 1} of ${HEADS}`;
  pen.text(0, 13, shortened(DOES[job], width, 13, true), { weight: 600 });
  const room = width - textWidth(where) - textWidth(DOES[job], 13, true) - 12;
  if (room > 0) pen.text(width, 13, where, noteEnd);
  const [x, w] = [0, width - 132];
  pen.rect(x, 24, w, 14, { stroke: ink.muted, width: 1 });
  pen.rect(x, 24, w * (done || 0), 14, { fill: ink.position });
  pen.line(x + w * trained.done, 20, x + w * trained.done, 42, { stroke: ink.text, width: 2 });
  pen.text(width, 36, phrase`${percent(done)} %, trained ${percent(trained.done)} %`, { anchor: "end" });
}

/** Draw an arc from each word to each word that it attends to, binned by weight, and a dot for each word's
 * attention to itself. */
function drawArcs(pen, { weights, m: query }, { arcs, square }) {
  const middle = (row) => square.y + ROW * (row + 0.5);
  const reach = (rows) => 10 + ((arcs - 12) * rows) / SEQ;
  const arcOf = ({ m, n }) =>
    halfEllipse(middle(n), middle(m), arcs - 2, reach(m - n)).map(([y, x]) => /** @type {Pair} */ ([x, y]));
  const all = weights.flatMap((row, m) => row.slice(0, m).map((weight, n) => ({ m, n, weight })));
  LEVELS.forEach(({ least, style }, i) => {
    const here = all.filter(({ weight }) => weight >= least && !(i && weight >= LEVELS[i - 1].least));
    pen.curves(here.filter(({ m }) => m !== query).map(arcOf), { ...style, stroke: ink.muted });
    pen.curves(here.filter(({ m }) => m === query).map(arcOf), { width: style.width + 1, stroke: ink.q });
  });
  const own = weights.flatMap((row, m) => (row[m] >= 0.08 ? [[arcs + 6, middle(m), 1 + 4 * row[m]]] : []));
  pen.circles(own, { fill: ink.muted });
}

/** Draw the words, one per row, beside the matrix of weights. */
function drawSquare(pen, { words, start, picture, m, n }, { tall, arcs, names, square }) {
  const { x, y, w, h } = square;
  const style = (row) =>
    row === m ? { fill: ink.qWords, weight: 700 } : row === n ? { fill: ink.kWords, weight: 700 } : {};
  words.forEach((word, row) => {
    const baseline = y + ROW * (row + 0.5) + 4;
    const room = names - (tall ? 6 : 48);
    pen.text(x - 6, baseline, shortened(word, room, 13, true), { anchor: "end", ...style(row) });
    if (!tall) pen.text(arcs + 38, baseline, start + row + 1, noteEnd);
  });
  pen.raster(x, y, w, h, picture);
  const cell = w / SEQ;
  pen.rect(x, y + ROW * m, w, ROW, { stroke: ink.q, width: 1.5 });
  pen.rect(x + cell * n, y, cell, h, { stroke: ink.k, width: 1.5 });
  pen.text(x + w / 2, y - 7, phrase`what it reads →`, noteMiddle);
  if (tall) pen.text(x + w, y + h + 17, phrase`readers, from token ${grouped(start + 1)}`, noteEnd);
  else pen.text(x + w / 2, y + h + 17, phrase`rows: who reads; bright: most`, noteMiddle);
  const at = (px, py) => {
    const [query, key] = [clamp(Math.ceil((py - y) / ROW), 2, SEQ), clamp(Math.ceil((px - x) / cell), 1, SEQ)];
    return { query, key: Math.min(key, query) };
  };
  return { cells: { x, y, w, h, at } };
}

/** Draw the score of the two words as a sum over pairs, fastest pair first. */
function drawSum(pen, { words, m, n, shares, trained, turns }, box, tall) {
  const total = fmt(sum(shares), 1);
  const title = tall
    ? phrase`Score: 32 pairs add up to ${total}`
    : phrase`The score of ${quoted(words[n])} for ${quoted(words[m])}: 32 pairs add up to ${total}`;
  pen.text(0, box.y - 26, title, { weight: 600 });
  const most = Math.max(...[...shares, ...trained.shares].map(Math.abs));
  const limit = [1, 2, 4, 8, 16, 32].find((step) => step >= most) ?? 64;
  const { X, Y } = axes(pen, box, [0.5, PAIRS + 0.5], [-limit, limit], {
    xTicks: [1, 8, 16, 24, 32],
    xLabel: tall ? phrase`pair, fastest to slowest` : phrase`pair, from the fastest to the slowest`,
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
  if (shows("sum")) drawSum(pen, seen, at.chart, at.tall);
  if (!shows("attention")) return {};
  drawArcs(pen, seen, at);
  return { taps: drawSquare(pen, seen, at) };
}

/** Describe how well the head does its job, under the current rotation and as trained. */
function fate({ job, done, trained }) {
  const [now, was] = [percent(done), percent(trained.done)];
  if (now === was) return phrase`${DOES[job]}, with ${now} % of its attention, as trained.`;
  const lost = done < 0.5 * trained.done;
  return lost
    ? phrase`It has lost its job: ${now} % of its attention, ${was} % as trained.`
    : phrase`${DOES[job]}, with ${now} % of its attention, ${was} % as trained.`;
}

function readout(state) {
  const seen = seenOf(state);
  const { words, m, n, weights, shares, start } = seen;
  const [fast, slow] = [sum(shares.slice(0, FAST)), sum(shares.slice(FAST))].map((part) => fmt(part, 1));
  const pair = phrase`${quoted(words[m])} (${m + 1}) gives ${quoted(words[n])} (${n + 1}) ${percent(weights[m][n])} %:
    the fastest eight pairs add ${fast} to the score, the other 24 ${slow}.`;
  const moved = start ? phrase`The text begins at ${grouped(start)}, and no weight has changed.` : "";
  return [fate(seen), pair, moved].filter(Boolean).join(" ");
}

export default live({
  name: "RealHead",
  title: phrase`A head of SmolLM2 reading twenty words: its attention as arcs and as a square, and the pairs of one score`,
  height: (width, _, view) => plan(width, view).height,
  lines: 2,
  draw,
  readout,
});
