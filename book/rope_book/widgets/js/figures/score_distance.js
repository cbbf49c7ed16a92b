import { axes } from "../lib/axes.js";
import { ink } from "../lib/colour.js";
import { CURSOR, nameOver } from "../lib/cursor.js";
import { live } from "../lib/figure.js";
import { polar } from "../lib/geometry.js";
import { legendOf } from "../lib/legend.js";
import { memo } from "../lib/memo.js";
import { abbreviated, clamp, fmt, geometric, grouped, powerOf, range, sorted } from "../lib/numbers.js";
import { drawPencil, GUESS } from "../lib/pencil.js";
import { phrase } from "../lib/phrase.js";
import { makeTurns, roformerBound, scoreCurve, trivialBound } from "../maths/decay.js";
import { guessGap } from "../maths/drawn_guess.js";
import { invFreq, ropeAngles, withinTurn } from "../maths/frequencies.js";
import { applyRope } from "../maths/rotary.js";
import { normals } from "../maths/words.js";

const LOG = 100000; // reach of the logarithmic axis, in tokens
const [PARTS, KNOTS] = [8, 16]; // number of steps in which pairs are added; number of heights in a drawn guess
const DECADES = 2; // decades below the trivial bound that the logarithmic axis shows with the RoFormer bound

const vectorsOf = memo((vectors, headDim, base, peak, seed) => {
  const drawn = normals(1000 + seed, 2 * headDim); // q, followed by k
  const q = vectors === "constant" ? Array(headDim).fill(1) : drawn.slice(0, headDim);
  if (vectors === "independent") return { q, k: drawn.slice(headDim) };
  return { q, k: vectors === "rotated" ? applyRope(q, ropeAngles(peak, invFreq(headDim, base))) : q };
});

/** The frequencies and a memoised function for their rotations, which the curve, the average and the bound share. */
const turnsOf = memo((base, headDim) => {
  const frequencies = invFreq(headDim, base);
  return { frequencies, turns: makeTurns(frequencies) };
});

/** A state's q and k, and three functions of distance: the score summed over the `count` fastest pairs, RoFormer's
 * bound, and the score of all-ones vectors. */
function headOf({ vectors, head_dim, base, peak, seed }) {
  const { q, k } = vectorsOf(vectors, head_dim, base, peak, seed);
  const { frequencies, turns } = turnsOf(base, head_dim);
  const alike = Array(head_dim).fill(1);
  return {
    q,
    k,
    frequencies,
    limit: trivialBound(q, k),
    scores(distances, count = head_dim / 2) {
      const [ours, theirs] = [q, k].map((vector) => vector.slice(0, 2 * count));
      return scoreCurve(ours, theirs, frequencies, distances, turns);
    },
    looser: (distances) => roformerBound(q, k, frequencies, distances, turns),
    ones: (distances) => scoreCurve(alike, alike, frequencies, distances, turns),
  };
}

/**
 * The integer distances at which to compute a curve: all up to 256, every `step`-th up to 1,024 (steps of up to 3
 * resolve the wave of the fastest pair, which turns one radian per token), and about 300 on the logarithmic axis.
 * Distances around the peak are always included.
 */
function sampled({ reach, vectors, peak }, step) {
  if (reach === 256) return range(0, 256);
  const near = vectors === "rotated" ? range(Math.max(1, peak - 8), Math.min(peak + 8, reach)) : [];
  const spread = geometric(1, LOG, 300).map(Math.round);
  const far = reach === LOG ? [...range(1, 40), ...spread] : range(0, reach, step);
  return sorted([...far, ...near]);
}

/** Whether the user can draw a guess, and whether the sum stays hidden until the guess is complete. */
const canGuess = ({ guess_first, bound, reach }) => guess_first && !bound && reach !== LOG;
const waits = (state) => canGuess(state) && state.guess.length < KNOTS;

/** The number of pairs added so far. */
const countOf = ({ added, head_dim, bound }) => (bound ? head_dim / 2 : Math.round((added * head_dim) / 2 / PARTS));
const isWhole = (state) => countOf(state) === state.head_dim / 2;

/** The score at the cursor, summed over the pairs added so far. */
const scoreHere = (state) => headOf(state).scores([state.distance], countOf(state))[0];

/** The state without the fields that do not affect the curves, for use as a memo key. */
const withoutCursor = (state) => ({ ...state, distance: null, guess: null, added: null });

/** The score at the sampled distances, summed over the fastest eighth of the pairs, the fastest two eighths, and so
 * on. */
const partialSums = memo((state) => {
  const { scores } = headOf(state);
  const distances = sampled(state, 2);
  return range(0, PARTS).map((added) => scores(distances, countOf({ ...state, added, bound: false })));
}, 3);

/** The average score over all random draws at the given distances, or null if the vectors are constant. */
function averageOf({ vectors, peak }, { ones }, distances) {
  if (vectors === "constant") return null;
  if (vectors === "independent") return distances.map(() => 0);
  return ones(vectors === "rotated" ? distances.map((r) => r - peak) : distances);
}

/** Collect the data to draw: the curves, the bounds, the interval of the vertical axis, and a function that maps a
 * score to the axis. */
const measure = memo((state, isPartial) => {
  const { head_dim, bound, trivial, guess_first, reach } = state;
  const head = headOf(state);
  const { limit } = head;
  const [distances, coarse] = [sampled(state, 2), sampled(state, 3)];
  const scores = head.scores(distances);
  const shown = { distances, scores, limit, coarse };
  if (bound) {
    const looser = head.looser(coarse);
    const low = powerOf(limit) - DECADES;
    const raise = (value) => Math.max(low, powerOf(Math.max(Math.abs(value), 1e-9)));
    return { ...shown, looser, low, high: powerOf(1.1 * Math.max(...looser)), raise };
  }
  const average = averageOf(state, head, coarse);
  const part = head_dim / 8;
  const open = guess_first && reach !== LOG ? [-limit / 2, 1.2 * limit] : [0, part];
  const ends = trivial ? [-1.06 * limit, 1.06 * limit] : open;
  const heights = [...scores, ...(average ?? []), ...(isPartial ? partialSums(state).flat() : [])];
  const low = Math.min(ends[0], Math.floor(Math.min(...heights) / part) * part);
  const high = Math.max(ends[1], Math.ceil(Math.max(...heights) / part) * part);
  return { ...shown, average, low, high, raise: (value) => value };
});
const measured = (state) => measure(withoutCursor(state), state.added < PARTS && !state.bound);

/** The number of distances up to 256 at which the score is higher than one token earlier. */
const stepsUp = memo((state) => {
  const curve = headOf(state).scores(range(0, 256));
  return curve.slice(1).filter((score, r) => score > curve[r]).length;
});

/** The segments of the curve in which the score rises. */
function rises(scores) {
  const runs = [];
  for (let i = 1; i < scores.length; i++) {
    if (scores[i] <= scores[i - 1]) continue;
    if (scores[i - 1] > (scores[i - 2] ?? Infinity)) runs.at(-1).push(i);
    else runs.push([i - 1, i]);
  }
  return runs;
}

const SCORE = { stroke: ink.score, width: 2.5 };
const AVERAGE = { stroke: ink.muted, width: 1.8, dash: "2 4" };
const LOOSER = { stroke: ink.text, width: 1.6, dash: "9 3 2 3" };
const TRIVIAL = { stroke: ink.text, width: 1.3, dash: "6 4" };
const RISING = { stroke: ink.text, width: 3.5 };

/** The legend's entries. */
function entries(state) {
  const { vectors, reach, bound, trivial } = state;
  const whole = isWhole(state);
  const sum = whole ? phrase`score: the sum` : phrase`sum of ${countOf(state)} waves`;
  const curves = [
    canGuess(state) && { words: phrase`your guess`, style: GUESS },
    { words: bound ? phrase`size of the score` : sum, style: SCORE },
    reach === 256 && !bound && whole && { words: phrase`steps on which it rises`, style: RISING },
    vectors !== "constant" && !bound && { words: phrase`average over all draws`, style: AVERAGE },
  ];
  const bounds = [
    bound && { words: phrase`RoFormer bound`, style: LOOSER },
    trivial && { words: phrase`trivial bound`, style: TRIVIAL },
  ];
  return [...(waits(state) ? [] : curves), ...bounds].filter(Boolean);
}

const legend = (state, width) => legendOf(entries(state), width, { sample: 34, text: 34 });

/** Lay out the waves, then the legend and the chart of the sum; a small form has no legend. */
function plan(width, state, { small, shows }) {
  const rows = shows("waves") ? Math.min(PARTS, state.head_dim / 2) : 0;
  const row = small ? 30 : 20;
  const [x, w] = [50, width - 72];
  const under = rows ? 26 + row * rows : 0;
  const bare = small && rows > 0;
  // independent of the guess, so that drawing one does not shift the chart
  const top = bare ? 40 : Math.max(legend(state, width).height, width < 620 ? 40 : 20) + 54;
  const sum = { x, y: under + top, w, h: bare ? 120 : width < 480 ? 180 : 154 };
  return { rows, row, x, w, under, bare, sum, height: sum.y + sum.h + 46 };
}

/** The pairs whose waves are drawn, fastest first, with their contributions to the score at the given distances. */
const summands = memo((state, rows) => {
  const { head_dim, reach } = state;
  const { q, k, frequencies } = headOf(state);
  const distances = reach === LOG ? sampled(state, 2) : range(0, reach, Math.max(1, reach / 512));
  return range(0, rows - 1).map((row) => {
    const i = Math.round((row * (head_dim / 2 - 1)) / (rows - 1));
    const [qPair, kPair] = [q, k].map((vector) => vector.slice(2 * i, 2 * i + 2));
    const sharesAt = (distances) => scoreCurve(qPair, kPair, [frequencies[i]], distances);
    return { distances, shares: sharesAt(distances), frequency: frequencies[i], sharesAt };
  });
}, 3);

/** Draw each pair's wave beside its clock hand, in bold if the pair has been added. Returns the dots at the cursor.
 */
function drawWaves(pen, state, { rows, row, x, w }, { place, X }, width) {
  const { head_dim, distance } = state;
  const waves = summands(withoutCursor(state), rows);
  const most = Math.max(...waves.flatMap(({ shares }) => shares.map(Math.abs)));
  const count = head_dim / 2 > rows ? phrase`${rows} of ${head_dim / 2}` : rows;
  const short = phrase`Waves of ${count} pairs, the fastest first`;
  pen.text(2, 14, width < 400 ? short : phrase`Hands and waves of ${count} pairs, the fastest first`);
  const r = Math.min(11, row / 2 - 2);
  const middles = waves.map((_, j) => 26 + row * (j + 0.5));
  const at = (share, j) => middles[j] - (0.42 * row * share) / most;
  const curves = waves.map(({ distances, shares }, j) => shares.map((share, i) => [X(distances[i]), at(share, j)]));
  const tips = waves.map(({ frequency }, j) => polar(22, middles[j], withinTurn(distance * frequency), r - 1));
  const added = Math.round((state.added * rows) / PARTS);
  const levels = middles.map((y) => [x, y, x + w, y]);
  pen.lines(levels, { stroke: ink.grid, width: 1 });
  pen.curves(curves.slice(added), { stroke: ink.muted, width: 1, opacity: 0.7 });
  pen.curves(curves.slice(0, added), { stroke: ink.score, width: 1.7 });
  const rims = middles.map((y) => [22, y, r]);
  pen.circles(rims, { stroke: ink.position, width: 1.5 });
  const hands = tips.map((tip, j) => [22, middles[j], ...tip]);
  pen.lines(hands, { stroke: ink.text, width: 2.2 });
  return waves.map(({ sharesAt }, j) => [place(distance), at(sharesAt([distance])[0], j), 3.5]);
}

/** Draw the reader's guess as a line, with the pencil at its end. */
function drawGuess(pen, state, all, box, Y) {
  if (!canGuess(state)) return {};
  const { limit, low } = all;
  const drawing = { guess: state.guess, parts: KNOTS, unit: limit, start: all.scores[0] / limit, low };
  const guess = drawPencil(pen, box, Y, drawing);
  if (waits(state) && !state.guess.length) {
    const short = box.w < 240 ? phrase`Draw the sum` : phrase`Draw the sum: drag this`;
    const words = box.w < 320 ? short : phrase`Draw the sum of all waves: drag this pencil`;
    const top = { size: 14, weight: 600, fill: ink.otherWords };
    pen.text(box.x + 24, Y(0.75 * limit) + 5, words, top); // between the grid's lines
  }
  return { guess };
}

function nameOfHeight({ bound }, rows, width) {
  if (bound) return width < 340 ? phrase`Size of the score, |q·k|` : phrase`Size of the score, |q·k|, logarithmic`;
  if (!rows) return phrase`Score, q·k`;
  return width < 340 ? phrase`Sum of all waves` : phrase`The score: the sum of all waves`;
}

/** The tick values while a guess is drawn: 0, and plus or minus the largest possible score and its half, if they
 * are integers in range. */
function ticksOf(state, { low, high, limit }) {
  const heights = [-limit, -limit / 2, 0, limit / 2, limit].filter((height) => height >= low && height <= high);
  return canGuess(state) && heights.every(Number.isInteger) ? heights : undefined;
}

/** Draw the axes. Returns the scales and `place`, which clamps a distance to the reach and maps it to x. */
function drawAxes(pen, state, all, { sum: box, rows }, width) {
  const { low, high } = all;
  const { reach, bound } = state;
  const log = reach === LOG;
  const { X, Y, at, level } = axes(pen, box, log ? [1, LOG] : [0, reach], [low, high], {
    xLabel: log && width >= 480 ? phrase`distance m − n (tokens, logarithmic)` : phrase`distance m − n (tokens)`,
    yLabel: nameOfHeight(state, rows, width),
    xLog: log,
    xTicks: log ? [1, 10, 100, 1000, 10000, 100000] : range(0, reach, reach / 4),
    xFormat: log ? abbreviated : grouped,
    yTicks: bound ? range(Math.ceil(low), high) : ticksOf(state, all),
    yFormat: bound ? (power) => abbreviated(Number(`1e${power}`)) : undefined,
  });
  if (!bound) level(0);
  return { X, Y, at, level, place: (r) => X(clamp(r, log ? 1 : 0, reach)) };
}

/** Draw the bounds, the curve with its rising parts highlighted, and the average over all draws, or only the curve
 * in a bare chart. */
function drawCurves(pen, state, all, { X, Y, level }, bare) {
  const { reach, bound, trivial } = state;
  const path = (rs, values) => values.map((value, i) => [X(rs[i]), Y(all.raise(value))]);
  for (const limit of trivial ? [all.limit, -all.limit].slice(0, bound ? 1 : 2) : [])
    level(all.raise(limit), bare ? {} : TRIVIAL);
  if (bound) pen.curve(path(all.coarse, all.looser), bare ? undefined : LOOSER);
  const whole = isWhole(state);
  const drawn = path(all.distances, whole ? all.scores : partialSums(withoutCursor(state))[state.added]);
  pen.curve(drawn, { stroke: ink.score, width: reach === 256 ? 2.5 : 1.6 });
  if (bare) return;
  if (reach === 256 && !bound && whole) {
    const rising = rises(all.scores).map((run) => run.map((i) => drawn[i]));
    pen.curves(rising, RISING);
  }
  if (all.average) pen.curve(path(all.coarse, all.average), AVERAGE);
}

/** Draw a line at the distance by which the key is rotated. */
function drawPeak(pen, { peak }, place, box) {
  const [x, right] = [place(peak), place(peak) < box.x + box.w - 64];
  pen.line(x, box.y, x, box.y + box.h, { stroke: ink.k, width: 1.5, dash: "1 4" });
  const style = { anchor: right ? "start" : "end", fill: ink.kWords };
  pen.text(x + (right ? 6 : -6), box.y + box.h - 14, `p = ${peak}`, style);
}

/** Draw the cursor and the distance handle. */
function drawCursor(pen, state, all, scales, { sum: box, under, rows }, { width, small }) {
  const { distance, reach } = state;
  const off = distance > reach;
  const cx = scales.place(distance);
  const ends = [...(waits(state) ? [] : [[box.y, box.y + box.h]]), ...(rows ? [[26, under]] : [])]; // skip the text
  const marks = ends.map(([top, bottom]) => [cx, top, cx, bottom]);
  pen.lines(marks, CURSOR);
  const words = off ? `${distance} →` : `m − n = ${distance}`;
  if (!small) nameOver(pen, cx, box.y - 26, words, width);
  if (off) return {};
  const at = (px) => Math.round(scales.at(px));
  if (waits(state)) {
    const y = rows ? under + 2 : box.y + box.h - 20;
    pen.circle(cx, y, 5, { fill: ink.position, stroke: ink.text, width: 1.5 });
    return { distance: { x: cx, y, at } };
  }
  const cy = scales.Y(all.raise(scoreHere(state)));
  pen.circle(cx, cy, 6.5, { fill: ink.score, stroke: ink.text, width: 1.5 });
  return { distance: { x: cx, y: cy, at, ink: ink.score } };
}

function draw(pen, state, view) {
  const { width } = view;
  const places = plan(width, state, view);
  const { sum: box, rows, under, bare } = places;
  const all = measured(state);
  if (!bare) legend(state, width).draw(pen, under + 11);
  const scales = drawAxes(pen, state, all, places, width);
  if (!waits(state)) drawCurves(pen, state, all, scales, bare);
  if (state.vectors === "rotated" && state.peak <= state.reach) drawPeak(pen, state, scales.place, box);
  const dots = rows ? drawWaves(pen, state, places, scales, width) : [];
  const pencil = drawGuess(pen, state, all, box, scales.Y);
  const cursor = drawCursor(pen, state, all, scales, places, view);
  pen.circles(state.distance > state.reach ? [] : dots, { fill: ink.score, stroke: ink.text, width: 1 });
  return { ...pencil, ...cursor };
}

/** A sentence that judges a completed guess. */
function judged(state) {
  if (!canGuess(state) || state.guess.length < KNOTS) return "";
  const all = measured(state);
  const shares = all.distances.map((distance) => distance / state.reach);
  const truth = all.scores.map((score) => score / all.limit);
  const off = guessGap(truth[0], state.guess, shares, truth);
  return phrase`Your guess was off by ${fmt(100 * off, 0)} % of the full height on average. `;
}

function readout(state, { small, shows }) {
  const { distance, bound, trivial, head_dim } = state;
  const pairs = head_dim / 2;
  if (waits(state)) {
    return phrase`Each of the ${pairs} pairs gives one wave. Draw what their sum does, from left to right; then it appears.
      You have drawn ${state.guess.length} of ${KNOTS} steps.`;
  }
  const { limit, scores, looser } = headOf(state);
  const apart = distance === 1 ? phrase`1 token` : phrase`${distance} tokens`;
  if (!isWhole(state)) {
    const sum = fmt(scoreHere(state), 1);
    return phrase`The ${countOf(state)} fastest of ${pairs} waves are added up. ${apart} apart they make ${sum} of the ${fmt(limit, 1)} that all could reach.`;
  }
  const [here, next] = scores([distance, distance + 1]);
  if (small && shows("waves")) {
    const part = fmt((100 * here) / limit, 0);
    return phrase`${judged(state)}${apart} apart the waves add up to ${fmt(here, 1)}, ${part} % of the ${fmt(limit, 1)} that they could reach.`;
  }
  const up = stepsUp(withoutCursor(state));
  const [loose, tight] = [grouped(looser([distance])[0]), fmt(limit, 1)];
  const both = trivial
    ? phrase` RoFormer's bound there is ${loose}, the trivial bound ${tight}.`
    : phrase` RoFormer's bound there is ${loose}.`;
  const bounds = bound ? both : trivial ? phrase` The trivial bound is ${tight}.` : "";
  const then = fmt(next, 1);
  const further =
    next > here ? phrase`one token further it rises to ${then}` : phrase`one token further it falls to ${then}`;
  return phrase`${judged(state)}At distance ${distance} the score is ${fmt(here, 1)}; ${further}. From 0 to 256 it rises on
    ${up} of 256 steps.${bounds}`;
}

/**
 * Choosing a peak beyond the reach extends the reach once. This cannot be a rule between controls, because the user
 * may shorten the reach again. Adding pairs before a guess is drawn skips the guess.
 */
function follow(before, held) {
  const now = { ...before, ...held };
  const asked = now.vectors === "rotated" && ("vectors" in held || "peak" in held) && !("reach" in held);
  const far = asked && now.peak > now.reach ? { reach: 1024 } : {};
  return "added" in held && held.added !== before.added && !("guess_first" in held) && waits(now)
    ? { ...far, guess_first: false }
    : far;
}

const results = (state) => ({ rises: stepsUp(withoutCursor(state)) });

export default live({
  name: "ScoreDistance",
  title: phrase`The waves of a head's pairs, and the score of a query and a key at every distance, which is their sum`,
  height: (width, state, view) => plan(width, state, view).height,
  lines: 2,
  draw,
  readout,
  results,
  follow,
  panel: (width, state, view) => {
    const { sum, height } = plan(width, state, view);
    return [width < 480 && !view.small ? sum.y - 54 : 0, height];
  },
  play: { trait: "added", perSecond: 1 },
  buttons: [
    { label: phrase`Guess again`, move: () => ({ guess_first: true, guess: [], added: PARTS }) },
    { label: phrase`Show the sum`, move: () => ({ guess_first: false, added: PARTS }) },
    { label: phrase`Another draw`, move: ({ seed }) => ({ seed: (seed + 1) % 100 }) },
  ],
});
