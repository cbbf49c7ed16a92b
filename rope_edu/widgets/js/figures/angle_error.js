import { axes } from "../lib/axes.js";
import { ink } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { clamp, fmt, grouped, range } from "../lib/numbers.js";
import { invFreq, ropeAngles } from "../maths/frequencies.js";
import { angleError, PIPELINES, pipelineTurns, roundTo } from "../maths/precision.js";

const TURN = 2 * Math.PI;
const FAR = 2 ** 20; // positions shown
const FLOOR = -9.5; // what is smaller than 10 to this lies on the bottom
const LOST = 3.1; // rad; a larger error than this says nothing new
const STEPS = ["frequencies", "positions", "angles", "turns"];

/** f, which remembers its last few values: a move of the cursor computes no curve. */
function keep(f, most = 1) {
  const kept = new Map();
  return (...values) => {
    const key = JSON.stringify(values);
    if (!kept.has(key)) {
      if (kept.size === most) kept.delete(kept.keys().next().value);
      kept.set(key, f(...values));
    }
    return kept.get(key);
  };
}

/** The pipeline of a state: a known one, or the reader's four formats. */
function pipelineOf(state) {
  return PIPELINES[state.pipeline] ?? Object.fromEntries(STEPS.map((step) => [step, state[`${step}_in`]]));
}

/** A known pipeline that is the same, or nothing. */
function nameOf(pipeline) {
  return Object.keys(PIPELINES).find((name) => STEPS.every((step) => PIPELINES[name][step] === pipeline[step]));
}

/**
 * Positions at which a curve is computed: in each doubling its start, the ties after it between two positions of float16 and
 * of bfloat16, where rounding is worst, and the tokens just after, where a rounded position leaps; and the last of float16.
 */
const TIES = [...new Set([...range(0, 19).flatMap(around), 65519, FAR])].sort((a, b) => a - b);
/** In float32 the worst position is nowhere in particular, so some more are spread, and the few fastest clocks looked at there. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;
const SPREAD = range(8, 19).flatMap((power) => range(1, 10).map((n) => Math.round(2 ** power * (1 + ((n * GOLDEN) % 1)))));
const FINE = [...new Set([...TIES, ...SPREAD])].sort((a, b) => a - b);
const FEW = 6;

/** Where to look: finely where float32 is the coarsest format of an angle. */
function positionsFor({ frequencies, positions, angles }) {
  const formats = [frequencies, positions, angles];
  const fine = formats.includes("float32") && !formats.some((format) => format.endsWith("float16"));
  return fine ? FINE : TIES;
}

function around(power) {
  const start = 2 ** power;
  const ties = [11, 8].map((bits) => start + Math.ceil(2 ** (power - bits)));
  return [start, ...ties, ...ties.map((tie) => tie + 1), Math.round(1.5 * start)];
}

// half the last bit of a number, as a share of it: what rounding to a format can change
const HALF_BIT = { float64: 2 ** -53, float32: 2 ** -24, bfloat16: 2 ** -8, float16: 2 ** -11 };

/**
 * A function m → i → by how many radians pair i can be off at m, without a sine: the sum of what each step can do. Nothing at
 * an m where there is no number.
 */
function makeLimits(frequencies, pipeline, step) {
  const rates = frequencies.map((frequency) => roundTo(frequency, pipeline.frequencies));
  const wrong = rates.map((rate, i) => Math.abs(rate - frequencies[i]));
  const turns = (step ? 1.8 : 1) * Math.SQRT1_2 * HALF_BIT[pipeline.turns]; // two are hardly ever at their worst at once
  return (m) => {
    const to = roundTo(m, pipeline.positions);
    const from = step ? roundTo(m - step, pipeline.positions) : 0;
    if (!Number.isFinite(roundTo(to * rates[0], pipeline.angles))) return null; // the fastest pair is the first to have none
    const astray = Math.abs(to - from - (step || m));
    const angles = HALF_BIT[pipeline.angles] * (to + from);
    return (i) => astray * frequencies[i] + (to - from) * wrong[i] + angles * rates[i] + turns;
  };
}

/**
 * The largest error up to each sampled position, [[position, radians], …], to where the pipeline has no number. A pair that
 * cannot raise the line by a tenth, about a pixel, is passed over.
 */
function errorCurve(pipeline, headDim, base, step) {
  const frequencies = invFreq(headDim, base);
  const limits = makeLimits(frequencies, pipeline, step);
  const curve = [];
  let most = 0;
  const spread = new Set(SPREAD);
  for (const m of positionsFor(pipeline)) {
    const limit = limits(m);
    if (!limit) break;
    const looked = spread.has(m) ? frequencies.slice(0, FEW) : frequencies;
    const able = most < LOST ? looked.filter((_, i) => limit(i) > 1.1 * most) : [];
    most = Math.max(most, ...angleError(m, able, pipeline, step));
    curve.push([m, most]);
  }
  return curve;
}

const knownCurves = keep((headDim, base, step) =>
  Object.entries(PIPELINES).map(([name, pipeline]) => [name, errorCurve(pipeline, headDim, base, step)]),
);
const ownCurve = keep(errorCurve);

/** The curve of a pipeline, which may be one of those that are known. */
function curveOf(pipeline, headDim, base, step) {
  const name = nameOf(pipeline);
  return name ? new Map(knownCurves(headDim, base, step)).get(name) : ownCurve(pipeline, headDim, base, step);
}

/** The worst pair at the state's position: how its hand stands, how it should, and the error. */
function worst(state) {
  const { position, head_dim, base, measure } = state;
  const [pipeline, step] = [pipelineOf(state), measure === "step" ? 1 : 0];
  const frequencies = invFreq(head_dim, base);
  const errors = angleError(position, frequencies, pipeline, step);
  const error = errors.some(Number.isNaN) ? NaN : Math.max(...errors);
  const pair = Math.max(0, errors.indexOf(error));
  const theta = [frequencies[pair]];
  const [[re, im]] = pipelineTurns(position, theta, pipeline);
  const [[a, b]] = step ? pipelineTurns(position - 1, theta, pipeline) : [[1, 0]];
  const hand = Math.atan2(im * a - re * b, re * a + im * b);
  const [exact] = ropeAngles(step || position, theta);
  return { pipeline, step, frequency: theta[0], pairs: errors.length, pair, error, exact, hand };
}

// ---------------------------------------------------------------------------------------------- words

const raised = (power) => [...String(power)].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)])).join("");

/** Radians with the digits that count: 2.97, 0.012, 4.1·10⁻⁸. */
function radians(value) {
  if (value === 0) return "0 rad";
  const power = Math.floor(Math.log10(value));
  if (power < -3) return `${fmt(value / 10 ** power, 1)}·10${raised(power)} rad`;
  return `${fmt(value, clamp(1 - power, 2, 4))} rad`;
}

const shortly = (value) => (value >= 1e6 ? `${value / 1e6} M` : value >= 1000 ? `${value / 1000} k` : String(value));

/** As many digits as tell the two numbers apart. */
function apart(a, b) {
  const digits = range(4, 17).find((n) => a.toPrecision(n) !== b.toPrecision(n)) ?? 17;
  return [a, b].map((value) => String(Number(value.toPrecision(digits + 1))));
}

/** What has moved the hand most: [step of the pipeline, words]. */
function cause(state, { pipeline, step, frequency }) {
  const { position } = state;
  const before = step ? position - step : 0;
  const [m, n] = [position, before].map((p) => roundTo(p, pipeline.positions));
  const rate = roundTo(frequency, pipeline.frequencies);
  const [to, from] = [m, n].map((p) => roundTo(p * rate, pipeline.angles));
  const [moved, angle] = [m - n, (m - n) * rate];
  const sizes = {
    positions: Math.abs(moved - (position - before)) * frequency,
    frequencies: Math.abs((rate - frequency) * moved),
    angles: Math.abs(to - from - angle),
    turns: HALF_BIT[pipeline.turns] / 2,
  };
  const most = STEPS.reduce((a, b) => (sizes[b] > sizes[a] ? b : a), "turns");
  const angles = Math.abs(to - m * rate) >= Math.abs(from - n * rate) ? [m * rate, to] : [n * rate, from];
  const [should, is] = apart(...(most === "angles" ? angles : [frequency, rate]));
  const words = {
    positions: step
      ? `they are kept as ${m === n ? `one, ${grouped(m)}` : `${grouped(n)} and ${grouped(m)}`}`
      : `the position is kept as ${grouped(m)}`,
    frequencies: `its frequency, ${should} rad a token, is kept as ${is}`,
    angles: `${step ? `its angle at ${grouped(angles[1] === to ? position : before)}` : "its angle"}, ${should} rad, is kept as ${is}`,
    turns: `its cosine and sine are rounded to ${pipeline.turns}`,
  };
  return words[most];
}

// ---------------------------------------------------------------------------------------------- chart

const SHORT = {
  "frequencies in bfloat16": "θ in bfloat16",
  "positions in bfloat16": "m in bfloat16",
  "turns in bfloat16": "cos in bfloat16",
};

/** About how wide words of 12 px are. */
const wordWidth = (words) => 6.4 * words.length;

/** Points along a path, about `gap` pixels apart. */
function walk(path, gap) {
  const points = path.slice(0, 1);
  for (let i = 1; i < path.length; i++) {
    const [[x0, y0], [x1, y1]] = [path[i - 1], path[i]];
    const parts = Math.ceil(Math.hypot(x1 - x0, y1 - y0) / gap);
    for (let t = 1; t <= parts; t++) points.push([x0 + ((x1 - x0) * t) / parts, y0 + ((y1 - y0) * t) / parts]);
  }
  return points;
}

const CELL = 8; // pixels

/** A function (x0, y0, x1, y1) → how many dots lie in that rectangle, by sums over all cells up to a corner. */
function counter(dots, box) {
  const [columns, rows] = [box.x + box.w, box.y + box.h].map((end) => Math.ceil(end / CELL) + 2);
  const sums = new Int32Array(columns * rows);
  const [column, row] = [columns, rows].map((all) => (v) => clamp(Math.round(v / CELL), 0, all - 1));
  for (const [x, y] of dots) sums[row(y) * columns + column(x)] += 1;
  for (let i = 1; i < columns; i++) sums[i] += sums[i - 1];
  for (let i = columns; i < sums.length; i++) {
    sums[i] += sums[i - columns] + (i % columns ? sums[i - 1] - sums[i - columns - 1] : 0);
  }
  const upTo = (c, r) => (c < 0 || r < 0 ? 0 : sums[r * columns + c]);
  return (x0, y0, x1, y1) => {
    const [c0, c1, r0, r1] = [column(x0) - 1, column(x1), row(y0) - 1, row(y1)];
    return upTo(c1, r1) - upTo(c0, r1) - upTo(c1, r0) + upTo(c0, r0);
  };
}

/**
 * Where each line's name stands: beside its line, where it covers the fewest others. lines: [[name, path], …], the most
 * important first; returns [[name, x, y], …], x in the middle of the name.
 */
const placeNames = keep((lines, box) => {
  const dots = lines.map(([, path]) => walk(path, CELL));
  const all = counter(dots.flat(), box);
  const placed = [];
  lines.forEach(([name], own) => {
    const mine = counter(dots[own], box);
    const half = wordWidth(name) / 2;
    const free = ([x, y]) =>
      x - half > box.x + 2 && x + half < box.x + box.w && y > box.y + 42 && y < box.y + box.h - 4 &&
      placed.every(([other, px, py]) => Math.abs(px - x) > half + wordWidth(other) / 2 + 8 || Math.abs(py - y) > 16);
    const others = (...corners) => all(...corners) - mine(...corners);
    const cost = ([x, y]) => 10 * all(x - half, y - 12, x + half, y + 4) + others(x - half - 9, y - 21, x + half + 9, y + 13);
    let best = [Infinity];
    dots[own].forEach(([x, y], i) => {
      if (i % 4) return;
      const beside = 8 * others(x - 9, y - 9, x + 9, y + 9); // where two lines run together a name could be either's
      for (const at of [[x, y - 10], [x, y + 18], [x + half + 8, y + 4], [x - half - 8, y + 4]]) {
        if (beside >= best[0] || !free(at)) continue;
        const found = beside + cost(at);
        if (found < best[0]) best = [found, ...at];
      }
    });
    if (best.length > 1) placed.push([name, best[1], best[2]]);
  });
  return placed;
}, 4);

const chartHeight = (width) => (width < 480 ? 270 : 310);
const clockRadius = (width) => (width < 300 ? 40 : width < 480 ? 48 : 62);
const height = (width) => 54 + chartHeight(width) + 96 + 2 * clockRadius(width);

function drawChart(pen, state, width, seen) {
  const { position, head_dim, base } = state;
  const { pipeline, step, error } = seen;
  const box = { x: 50, y: 54, w: width - 66, h: chartHeight(width) };
  const powers = [-8, -6, -4, -2, 0];
  const { X, Y } = axes(pen, box, [1, FAR], [FLOOR, 1.1], {
    xLabel: width < 400 ? "position m (tokens)" : "position m (tokens, logarithmic)",
    yLabel: width < 480 ? "Largest error up to m (rad)" : `Largest error ${step ? "of a token's turn" : "of an angle"} up to m (radians)`,
    xLog: true,
    xTicks: range(0, 6, width < 300 ? 2 : 1).map((power) => 10 ** power),
    xFormat: shortly,
    yTicks: [FLOOR, ...powers],
    yFormat: (power) => (power === FLOOR ? "≈ 0" : power === 0 ? "1" : `10${raised(power)}`),
  });
  const place = ([m, value]) => [X(m), Y(Math.max(FLOOR, Math.log10(value)))];
  const right = box.x + box.w;

  const most = Y(Math.log10(Math.PI));
  pen.line(box.x, most, right, most, { stroke: ink.text, width: 1.2, dash: "6 4" });
  pen.text(box.x + 4, most - 6, width < 480 ? "π: opposite" : "π: the hand points the opposite way", { size: 12 });

  const known = knownCurves(head_dim, base, step);
  const mine = curveOf(pipeline, head_dim, base, step);
  const name = nameOf(pipeline);
  const paths = known.map(([key, curve]) => [key, curve.map(place)]);
  const thick = withPoint(mine, position, error).map(place);
  pen.curves(paths.map(([, path]) => path), { stroke: ink.muted, width: 1.5, opacity: 0.75 });
  pen.curve(thick, { stroke: ink.other, width: 4 });
  const [endX, endY] = thick.at(-1) ?? [box.x, box.y];
  const ends = mine.at(-1)?.[0] < FAR ? [[-1, 1], [-1, -1]] : [];
  pen.lines(ends.map(([dx, dy]) => [endX + 6 * dx, endY + 6 * dy, endX - 6 * dx, endY - 6 * dy]), { stroke: ink.text, width: 2 });

  const cx = X(position);
  pen.line(cx, box.y, cx, box.y + box.h, { stroke: ink.position, width: 1.5, dash: "4 3" });
  const words = `m = ${grouped(position)}`;
  const room = 4.4 * words.length + 2;
  pen.text(clamp(cx, room, width - room), box.y - 28, words, { anchor: "middle", fill: ink.positionWords, weight: 600 });

  const short = (key) => (width < 480 ? (SHORT[key] ?? key) : key);
  const own = name ? [] : [["chosen", mine.map(place)]];
  const named = [...own, ...paths.map(([key, path]) => [short(key), path])];
  const rounded = named.map(([key, path]) => [key, path.map((point) => point.map(Math.round))]);
  pen.part(() => {
    for (const [key, x, y] of placeNames(rounded, box)) {
      const mineToo = key === "chosen" || key === short(name);
      const w = wordWidth(key);
      pen.rect(x - w / 2 - 2, y - 11, w + 4, 14, { fill: ink.paper, opacity: 0.7 });
      const style = mineToo ? { fill: ink.otherWords, weight: 700 } : { fill: ink.muted };
      pen.text(x, y, key, { size: 12, anchor: "middle", ...style });
    }
  });
  const missing = Number.isNaN(error);
  const cy = missing ? box.y + box.h - 14 : place([position, error])[1];
  pen.circle(cx, cy, 6.5, { fill: missing ? ink.paper : ink.other, stroke: ink.text, width: 1.5 });
  pen.text(cx - 11, cy + 4, missing ? "no number" : "", { size: 12, anchor: "end", fill: ink.otherWords, weight: 700 });
  return { position: { x: cx, y: cy, at: (px) => Math.round(FAR ** clamp((px - box.x) / box.w, 0, 1)) } };
}

/** The curve with the reader's own position in its place, so that no marker stands above its line. */
function withPoint(curve, position, error) {
  if (!(error >= 0)) return curve;
  const [before, after] = [curve.filter(([m]) => m < position), curve.filter(([m]) => m >= position)];
  const here = Math.max(error, before.at(-1)?.[1] ?? 0);
  return [...before, [position, here], ...after.map(([m, value]) => [m, Math.max(here, value)])];
}

// ---------------------------------------------------------------------------------------------- clock

function drawClock(pen, state, width, seen) {
  const { pair, pairs, error, exact, hand, step } = seen;
  const top = 54 + chartHeight(width) + 58;
  const [r, narrow] = [clockRadius(width), width < 480];
  const [cx, cy] = [r + 6, top + 24 + r];
  const missing = Number.isNaN(error);
  const at = (angle, far) => [cx + far * Math.cos(angle), cy - far * Math.sin(angle)];
  const m = grouped(state.position);
  const when = step && width >= 300 ? `from ${grouped(state.position - 1)} to ${m}` : `at ${m}`;
  const rank = missing ? "" : narrow ? ", the worst" : `, the worst of ${pairs}`;
  pen.text(2, top + 4, step && narrow ? `Pair ${pair} ${when}` : `Pair ${pair}${rank} ${when}`, { weight: 600 });
  pen.circle(cx, cy, r, { stroke: ink.muted, width: 1.5 });
  const between = Math.atan2(Math.sin(hand - exact), Math.cos(hand - exact));
  const arc = missing ? [] : range(0, 24).map((i) => at(exact + (between * i) / 24, r - 2));
  pen.areas(missing ? [] : [[[cx, cy], ...arc]], { fill: ink.other, opacity: 0.3 });
  pen.lines(missing ? [] : [[cx, cy, ...at(hand, r - 4)]], { stroke: ink.other, width: 5 });
  pen.line(cx, cy, ...at(exact, r - 4), { stroke: ink.text, width: 2, dash: "5 3" });
  pen.circle(cx, cy, 3, { fill: ink.text });

  const x = 2 * r + (width < 300 ? 18 : narrow ? 22 : 34);
  const tell = (dy, words, style) => pen.text(x + (width < 300 ? 20 : 30), y + dy, words, { size: width < 300 ? 12 : 13, ...style });
  const key = width < 300 ? 14 : 22;
  const rest = (angle) => `${fmt(((angle % TURN) + TURN) % TURN, 2)} rad`;
  const turns = Math.floor(exact / TURN);
  const whole = turns && !narrow ? ` after ${grouped(turns)} turn${turns === 1 ? "" : "s"}` : "";
  const y = cy - 22;
  pen.line(x, y - 4, x + key, y - 4, { stroke: ink.text, width: 2, dash: "5 3" });
  tell(0, `exact: ${rest(exact)}${whole}`);
  pen.lines(missing ? [] : [[x, y + 22, x + key, y + 22]], { stroke: ink.other, width: 5 });
  tell(26, missing ? "no hand here" : `pipeline: ${rest(hand)}`);
  const gap = missing ? "" : error === 0 ? "not apart at all" : `apart: ${radians(error)}`;
  tell(52, gap, { weight: 600, fill: ink.otherWords });
  tell(70, error > 0 && error < 0.02 ? "too little to see" : "", { size: 12, fill: ink.muted });
}

function draw(pen, state, { width }) {
  const seen = worst(state);
  drawClock(pen, state, width, seen);
  return drawChart(pen, state, width, seen);
}

function readout(state) {
  const { position, head_dim, base } = state;
  const seen = worst(state);
  const { pipeline, step, pair, error } = seen;
  const place = step ? `From token ${grouped(position - 1)} to ${grouped(position)}` : `At position ${grouped(position)}`;
  if (Number.isNaN(error)) {
    const which = Number.isFinite(roundTo(position, pipeline.positions)) ? "angle" : "position";
    return `${place} pair 0 has no number: the ${which} is infinite in ${pipeline[`${which}s`]}, and infinity has no cosine.`;
  }
  const curve = curveOf(pipeline, head_dim, base, step);
  const sofar = curve.filter(([m]) => m < position).at(-1)?.[1] ?? 0;
  const top = sofar < LOST ? radians(sofar) : "almost π";
  const most = sofar > 1.05 * error ? ` Up to here the line has reached ${top}.` : "";
  if (error === 0) return `${place} no pair is off: nothing is rounded beyond float64, against which it is measured.${most}`;
  return `${place} the worst pair, pair ${pair}, is off by ${radians(error)}: ${cause(state, seen)}.${most}`;
}

/** A known pipeline shows its formats; a format moved by hand makes the pipeline the reader's own, from what it was. */
function follow(before, held) {
  const formats = (name) => Object.fromEntries(STEPS.map((step) => [`${step}_in`, PIPELINES[name][step]]));
  if ("pipeline" in held) return held.pipeline === "own" ? {} : formats(held.pipeline);
  if (before.pipeline === "own" || !STEPS.some((step) => `${step}_in` in held)) return {};
  return { ...formats(before.pipeline), ...held, pipeline: "own" };
}

export default live({
  name: "AngleError",
  title: "How far the worst pair of a head is off at every position, in pipelines of different number formats",
  height,
  draw,
  readout,
  follow,
});
