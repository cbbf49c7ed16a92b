import { axes } from "../lib/axes.js";
import { ink } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { polar } from "../lib/geometry.js";
import { centred, inLines } from "../lib/labels.js";
import { memo } from "../lib/memo.js";
import { abbreviated, clamp, fmt, geometric, grouped, powerOf, range, sorted } from "../lib/numbers.js";
import { makeTurns, roformerBound, scoreCurve, trivialBound } from "../maths/decay.js";
import { invFreq, ropeAngles, withinTurn } from "../maths/frequencies.js";
import { applyRope } from "../maths/rotary.js";
import { normals } from "../maths/words.js";

const LOG = 100000; // the reach whose axis is logarithmic
const DECADES = 2; // with the loose bound in the picture the vertical axis is logarithmic, this far below the trivial one

/** The two vectors of a state. */
const vectorsOf = memo((vectors, headDim, base, peak, seed) => {
  const drawn = normals(1000 + seed, 2 * headDim); // q first, then k
  const q = vectors === "constant" ? Array(headDim).fill(1) : drawn.slice(0, headDim);
  const k = {
    constant: () => q,
    identical: () => q,
    independent: () => drawn.slice(headDim),
    rotated: () => applyRope(q, ropeAngles(peak, invFreq(headDim, base))),
  }[vectors]();
  return { q, k };
});

/** Frequencies and their turns: the curves of q and k, of the average over all draws and of the bound share them. */
const turnsOf = memo((base, headDim) => {
  const frequencies = invFreq(headDim, base);
  return { frequencies, turns: makeTurns(frequencies) };
});

/** What a state says about any distances: its scores, RoFormer's bound, and the scores of all ones. */
function kernel({ vectors, head_dim, base, peak, seed }) {
  const { q, k } = vectorsOf(vectors, head_dim, base, peak, seed);
  const { frequencies, turns } = turnsOf(base, head_dim);
  const alike = Array(head_dim).fill(1);
  return {
    limit: trivialBound(q, k),
    scores: (distances) => scoreCurve(q, k, frequencies, distances, turns),
    looser: (distances) => roformerBound(q, k, frequencies, distances, turns),
    ones: (distances) => scoreCurve(alike, alike, frequencies, distances, turns),
  };
}

/**
 * The whole distances at which a curve is computed: to 256 every one, to 1,024 every `step`-th (the fastest pair turns by
 * one radian a token, so up to 3 catch its wave), on the logarithmic axis some 300; always those around the peak.
 */
function sampled({ reach, vectors, peak }, step) {
  if (reach === 256) return range(0, 256);
  const near = vectors === "rotated" ? range(Math.max(1, peak - 8), Math.min(peak + 8, reach)) : [];
  const spread = geometric(1, LOG, 300).map(Math.round);
  const far = reach === LOG ? [...range(1, 40), ...spread] : range(0, reach, step);
  return sorted([...far, ...near]);
}

/** A state without its cursor: what the curves depend on. */
const withoutCursor = (state) => ({ ...state, distance: null });

/** Everything that is drawn: curves, bounds, and the vertical axis as an interval and a way to place a score on it. */
const measure = memo((state) => {
  const { vectors, head_dim, peak, bound, trivial } = state;
  const { limit, ...at } = kernel(state);
  const distances = sampled(state, 2);
  const scores = at.scores(distances);
  const coarse = sampled(state, 3);
  if (bound) {
    const looser = at.looser(coarse);
    const high = powerOf(1.1 * Math.max(...looser));
    const low = powerOf(limit) - DECADES;
    const raise = (value) => Math.max(low, powerOf(Math.max(Math.abs(value), 1e-9)));
    return { distances, scores, limit, coarse, looser, low, high, raise };
  }
  const average = {
    constant: () => null,
    identical: () => at.ones(coarse),
    independent: () => coarse.map(() => 0),
    rotated: () => at.ones(coarse.map((r) => r - peak)),
  }[vectors]();
  const part = head_dim / 8;
  const ends = trivial ? [-1.06 * limit, 1.06 * limit] : [0, part];
  const shown = [...scores, ...(average ?? [])];
  const low = Math.min(ends[0], Math.floor(Math.min(...shown) / part) * part);
  const high = Math.max(ends[1], Math.ceil(Math.max(...shown) / part) * part);
  return { distances, scores, limit, coarse, average, low, high, raise: (value) => value };
});

/** On how many of the first 256 steps the score rises. */
const stepsUp = memo((state) => {
  const curve = kernel(state).scores(range(0, 256));
  return curve.slice(1).filter((score, r) => score > curve[r]).length;
});

/** The runs of consecutive steps on which the score rises. */
function rises(scores) {
  const runs = [];
  for (let i = 1; i < scores.length; i++) {
    if (scores[i] <= scores[i - 1]) continue;
    if (scores[i - 1] > (scores[i - 2] ?? Infinity)) runs.at(-1).push(i);
    else runs.push([i - 1, i]);
  }
  return runs;
}

/** What the lines are, in the order of the legend. */
function entries({ vectors, reach, bound, trivial }) {
  const entry = (words, stroke, width, dash = undefined) => ({ words, style: { stroke, width, dash } });
  return [
    entry(bound ? "size of the score" : "score", ink.score, 2.5),
    reach === 256 && !bound && entry("steps on which it rises", ink.text, 3.5),
    vectors !== "constant" && !bound && entry("average over all draws", ink.muted, 1.8, "2 4"),
    bound && entry("RoFormer bound", ink.text, 1.6, "9 3 2 3"),
    trivial && entry("trivial bound", ink.text, 1.3, "6 4"),
  ].filter(Boolean);
}

/** Where each entry of the legend stands, line by line. */
function legend(state, width) {
  return inLines(entries(state), width);
}

const legendLines = (state, width) => legend(state, width).at(-1).line + 1;
const tall = (width, state) => 20 * legendLines(state, width) + (width < 480 ? 310 : 350);
const height = (width, state, view) =>
  view.small && view.shows("waves") ? planWaves(width, state).height : tall(width, state);

const [ROWS, ROW] = [8, 30]; // waves, and pixels from one to the next

/** Where the waves of a small form stand, and the curve of their sum. */
function planWaves(width, { head_dim }) {
  const rows = Math.min(ROWS, head_dim / 2);
  const [x, w] = [50, width - 72];
  const sum = { x, y: 66 + ROW * rows, w, h: 120 };
  return { rows, x, w, sum, height: sum.y + sum.h + 46 };
}

/** The pairs whose waves are drawn, from the fastest to the slowest: each one's share of the score, and its angle. */
function summands(state, rows, distances) {
  const { vectors, head_dim, base, peak, seed, distance } = state;
  const { q, k } = vectorsOf(vectors, head_dim, base, peak, seed);
  const { frequencies } = turnsOf(base, head_dim);
  return range(0, rows - 1).map((row) => {
    const i = Math.round((row * (head_dim / 2 - 1)) / (rows - 1));
    const [own, other] = [q, k].map((vector) => vector.slice(2 * i, 2 * i + 2));
    const shares = scoreCurve(own, other, [frequencies[i]], distances);
    return { shares, angle: withinTurn(distance * frequencies[i]) };
  });
}

/** The waves of the pairs, a hand beside each, and their sum below. */
function drawWaves(pen, state, width) {
  const { rows, x, w, sum } = planWaves(width, state);
  const distances = range(0, state.reach, Math.max(1, state.reach / 512));
  const waves = summands(state, rows, distances);
  const most = Math.max(...waves.flatMap(({ shares }) => shares.map(Math.abs)));
  const all = measure(withoutCursor({ ...state, bound: false }));
  const pairs = state.head_dim / 2;
  const named = `${pairs > rows ? `${rows} of ${pairs}` : pairs} pairs, the fastest first`;
  pen.text(2, 14, width < 400 ? named : `Hands and waves of ${named}`);
  const { X, Y, place, at } = drawAxes(pen, state, all, sum, width, "The score: the sum of all waves");
  waves.forEach(({ shares, angle }, row) => {
    const y = 36 + ROW * row;
    pen.line(x, y, x + w, y, { stroke: ink.grid, width: 1 });
    const height = (share) => y - (0.42 * ROW * share) / most;
    pen.curve(
      shares.map((share, i) => [X(distances[i]), height(share)]),
      { stroke: ink.score, width: 1.5 },
    );
    pen.circle(22, y, 11, { stroke: ink.position, width: 1.5 });
    pen.line(22, y, ...polar(22, y, angle, 10), { stroke: ink.text, width: 2.2 });
  });
  pen.curve(
    all.scores.map((score, i) => [X(all.distances[i]), Y(all.raise(score))]),
    { stroke: ink.score, width: 2.5 },
  );
  const cx = place(state.distance);
  pen.line(cx, 24, cx, sum.y + sum.h, { stroke: ink.position, width: 1.5, dash: "4 3" });
  const cy = Y(kernel(state).scores([state.distance])[0]);
  pen.circle(cx, cy, 6.5, { fill: ink.score, stroke: ink.text, width: 1.5 });
  return { distance: { x: cx, y: cy, at: (px) => Math.round(at(px)) } };
}

/** The lines of the legend; returns the style of each by its words. */
function drawLegend(pen, state, width) {
  const styles = {};
  for (const { words, style, x, line } of legend(state, width)) {
    styles[words] = style;
    pen.line(x + 2, 11 + 20 * line, x + 28, 11 + 20 * line, style);
    pen.text(x + 34, 15 + 20 * line, words);
  }
  return styles;
}

/** The axes: the scales, and where a distance beyond the reach is shown. */
function drawAxes(pen, { reach, bound }, { low, high }, box, width, title = "Score, q·k") {
  const log = reach === LOG;
  const { X, Y, at } = axes(pen, box, log ? [1, LOG] : [0, reach], [low, high], {
    xLabel: width < 480 ? "distance m − n (tokens)" : `distance m − n (tokens${log ? ", logarithmic" : ""})`,
    yLabel: bound ? `Size of the score, |q·k|${width < 340 ? "" : ", logarithmic"}` : title,
    xLog: log,
    xTicks: log ? [1, 10, 100, 1000, 10000, 100000] : range(0, reach, reach / 4),
    xFormat: log ? abbreviated : grouped,
    yTicks: bound ? range(Math.ceil(low), high) : undefined,
    yFormat: bound ? (power) => abbreviated(Number(`1e${power}`)) : undefined,
  });
  if (!bound) pen.line(box.x, Y(0), box.x + box.w, Y(0), { stroke: ink.muted, width: 1 });
  return { X, Y, at, place: (r) => X(clamp(r, log ? 1 : 0, reach)) };
}

/** The bounds, the curve and where it rises, and the average over all draws. */
function drawCurves(pen, { reach, bound, trivial }, all, { X, Y }, box, styles) {
  const path = (rs, values) => values.map((value, i) => [X(rs[i]), Y(all.raise(value))]);
  for (const limit of trivial ? [all.limit, -all.limit].slice(0, bound ? 1 : 2) : []) {
    const y = Y(all.raise(limit));
    pen.line(box.x, y, box.x + box.w, y, styles["trivial bound"]);
  }
  if (bound) pen.curve(path(all.coarse, all.looser), styles["RoFormer bound"]);
  const drawn = path(all.distances, all.scores);
  pen.curve(drawn, { stroke: ink.score, width: reach === 256 ? 2.5 : 1.6 });
  if (reach === 256 && !bound) {
    const rising = rises(all.scores).map((run) => run.map((i) => drawn[i]));
    pen.curves(rising, { stroke: ink.text, width: 3.5 });
  }
  if (all.average) pen.curve(path(all.coarse, all.average), styles["average over all draws"]);
}

/** The distance by which the key is turned. */
function drawPeak(pen, { peak }, place, box) {
  const [x, right] = [place(peak), place(peak) < box.x + box.w - 64];
  pen.line(x, box.y, x, box.y + box.h, { stroke: ink.k, width: 1.5, dash: "1 4" });
  const style = { anchor: right ? "start" : "end", fill: ink.kWords };
  pen.text(x + (right ? 6 : -6), box.y + box.h - 14, `p = ${peak}`, style);
}

function draw(pen, state, { width, height: tall, small, shows }) {
  if (small && shows("waves")) return drawWaves(pen, state, width);
  const { vectors, distance, reach, peak } = state;
  const all = measure(withoutCursor(state));
  const styles = drawLegend(pen, state, width);
  const top = 20 * legendLines(state, width) + 54;
  const box = { x: 50, y: top, w: width - 72, h: tall - top - 48 };
  const scales = drawAxes(pen, state, all, box, width);
  drawCurves(pen, state, all, scales, box, styles);
  if (vectors === "rotated" && peak <= reach) drawPeak(pen, state, scales.place, box);

  const off = distance > reach;
  const cx = scales.place(distance);
  pen.line(cx, box.y, cx, box.y + box.h, { stroke: ink.position, width: 1.5, dash: "4 3" });
  const words = off ? `${distance} →` : `m − n = ${distance}`;
  const bold = { anchor: "middle", fill: ink.positionWords, weight: 600 };
  pen.text(centred(cx, words, 2, width - 2, { bold: true }), box.y - 26, words, bold);
  if (off) return {};
  const cy = scales.Y(all.raise(kernel(state).scores([distance])[0]));
  pen.circle(cx, cy, 6.5, { fill: ink.score, stroke: ink.text, width: 1.5 });
  return { distance: { x: cx, y: cy, at: (px) => Math.round(scales.at(px)) } };
}

function readout(state, { small, shows }) {
  const { distance, bound, trivial } = state;
  const { limit, scores, looser } = kernel(state);
  const [here, next] = scores([distance, distance + 1]);
  if (small && shows("waves")) {
    const part = fmt((100 * here) / limit, 0);
    return `${state.distance} tokens apart the waves add up to ${fmt(here, 1)}, ${part} % of the ${fmt(limit, 1)} that they could reach.`;
  }
  const up = stepsUp(withoutCursor(state));
  const loose = bound && `RoFormer's bound there is ${grouped(looser([distance])[0])}`;
  const plain = trivial && `${bound ? "the" : "The"} trivial bound ${bound ? "" : "is "}${fmt(limit, 1)}`;
  const said = [loose, plain].filter(Boolean).join(", ");
  return (
    `At distance ${distance} the score is ${fmt(here, 1)}; one token further it ${next > here ? "rises" : "falls"} ` +
    `to ${fmt(next, 1)}. From 0 to 256 it rises on ${up} of 256 steps.${said ? ` ${said}.` : ""}`
  );
}

/** A hand that asks for the peak sees it, though distances short of it may be shown afterwards: so this is no rule. */
function follow(before, held) {
  const { vectors, reach, peak } = { ...before, ...held };
  const asked = vectors === "rotated" && ("vectors" in held || "peak" in held) && !("reach" in held);
  return asked && peak > reach ? { reach: 1024 } : {};
}

export default live({
  name: "ScoreDistance",
  title: "The score of a rotated query and key at every distance, and two bounds on it",
  height,
  draw,
  readout,
  follow,
  play: { trait: "distance", perSecond: 12 },
  buttons: [
    {
      label: "Another draw",
      move: ({ seed }) => ({ seed: (seed + 1) % 100 }),
    },
  ],
});
