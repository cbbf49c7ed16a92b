import { axes } from "../lib/axes.js";
import { ink, note } from "../lib/colour.js";
import { cursor } from "../lib/cursor.js";
import { live } from "../lib/figure.js";
import { polar } from "../lib/geometry.js";
import { placeLineNames } from "../lib/line_names.js";
import { memo } from "../lib/memo.js";
import { abbreviated, decade, fmt, grouped, powerOf, range, significant } from "../lib/numbers.js";
import { phrase, phraseOf } from "../lib/phrase.js";
import { angleOf, timesConj, wrapped } from "../maths/complex.js";
import { errorCurve, errorParts, FARTHEST, LOST, withPosition } from "../maths/error_curve.js";
import { invFreq, ropeAngles, turnsOf, withinTurn } from "../maths/frequencies.js";
import { angleError, PIPELINES, pipelineCosSin, roundTo, STEPS } from "../maths/precision.js";

const FLOOR = -9.5; // what is smaller than 10 to this lies on the bottom

const formatsOf = (state) => /** @type {any} */ (Object.fromEntries(STEPS.map((step) => [step, state[`${step}_in`]])));

/**
 * The pipeline of a state: a known one, or the reader's four formats.
 * @returns {Pipeline}
 */
function pipelineOf(state) {
  return PIPELINES[state.pipeline] ?? formatsOf(state);
}

/** A known pipeline that is the same, or nothing. */
function nameOf(pipeline) {
  return Object.keys(PIPELINES).find((name) => STEPS.every((step) => PIPELINES[name][step] === pipeline[step]));
}

const knownCurves = memo((headDim, base, step) => {
  const frequencies = invFreq(headDim, base);
  /** @type {(known: [string, Pipeline]) => [string, Pair[]]} */
  const curve = ([name, pipeline]) => [name, errorCurve(frequencies, pipeline, step)];
  return Object.entries(PIPELINES).map(curve);
});
const ownCurve = memo((pipeline, headDim, base, step) => errorCurve(invFreq(headDim, base), pipeline, step));

/** The curve of a pipeline, which may be one of those that are known. */
function curveOf(pipeline, headDim, base, step) {
  const name = nameOf(pipeline);
  return name ? new Map(knownCurves(headDim, base, step)).get(name) : ownCurve(pipeline, headDim, base, step);
}

/** The worst pair at the state's position: where its hand points, where it should, and the error. */
function worst(state) {
  const { position, head_dim, base, measure } = state;
  const [pipeline, step] = [pipelineOf(state), measure === "step" ? 1 : 0];
  const frequencies = invFreq(head_dim, base);
  const errors = angleError(position, frequencies, pipeline, step);
  const error = errors.some(Number.isNaN) ? NaN : Math.max(...errors);
  const pair = Math.max(0, errors.indexOf(error));
  const theta = [frequencies[pair]];
  const [to] = pipelineCosSin(position, theta, pipeline);
  /** @type {Pair[]} */
  const [from] = step ? pipelineCosSin(position - 1, theta, pipeline) : [[1, 0]];
  const hand = angleOf(timesConj(to, from));
  const [exact] = ropeAngles(step || position, theta);
  return { pipeline, step, frequency: theta[0], pairs: errors.length, pair, error, exact, hand };
}

// ---------------------------------------------------------------------------------------------- words

const radians = (value) => (value === 0 ? "0 rad" : `${significant(value, 2, 2, 4)} rad`);

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
  const sizes = errorParts(position, frequency, pipeline, step);
  const largest = Math.max(...Object.values(sizes));
  const most = sizes.cos_sin === largest ? "cos_sin" : STEPS.find((part) => sizes[part] === largest);
  const angles = Math.abs(to - m * rate) >= Math.abs(from - n * rate) ? [m * rate, to] : [n * rate, from];
  const [should, is] = apart(...(most === "angles" ? angles : [frequency, rate]));
  const words = {
    positions: step
      ? m === n
        ? phrase`they are kept as one, ${grouped(m)}`
        : phrase`they are kept as ${grouped(n)} and ${grouped(m)}`
      : phrase`the position is kept as ${grouped(m)}`,
    frequencies: phrase`its frequency, ${should} rad per token, is kept as ${is}`,
    angles: step
      ? phrase`its angle at ${grouped(angles[1] === to ? position : before)}, ${should} rad, is kept as ${is}`
      : phrase`its angle, ${should} rad, is kept as ${is}`,
    cos_sin: phrase`its cosine and sine are rounded to ${pipeline.cos_sin}`,
  };
  return words[most];
}

// ---------------------------------------------------------------------------------------------- chart

const SHORT = {
  "frequencies in bfloat16": phrase`θ in bfloat16`,
  "positions in bfloat16": phrase`m in bfloat16`,
  "cos and sin in bfloat16": phrase`cos in bfloat16`,
};

const placeNames = memo(placeLineNames, 4);

const chartHeight = (width) => (width < 480 ? 270 : 310);
const clockRadius = (width) => (width < 300 ? 40 : width < 480 ? 48 : 62);
const height = (width) => 54 + chartHeight(width) + 96 + 2 * clockRadius(width);

/** The axes of the chart, and where a point of a curve lies. */
function drawAxes(pen, box, width, step) {
  const { X, Y, at } = axes(pen, box, [1, FARTHEST], [FLOOR, 1.1], {
    xLabel: width < 400 ? phrase`position m (tokens)` : phrase`position m (tokens, logarithmic)`,
    yLabel:
      width < 480
        ? phrase`Largest error up to m (rad)`
        : step
          ? phrase`Largest error of a token's turn up to m (radians)`
          : phrase`Largest error of an angle up to m (radians)`,
    xLog: true,
    xTicks: range(0, 6, width < 300 ? 2 : 1).map((power) => Number(`1e${power}`)),
    xFormat: abbreviated,
    yTicks: [FLOOR, -8, -6, -4, -2, 0],
    yFormat: (power) => (power === FLOOR ? "≈ 0" : decade(power, 0, 0)),
  });
  const [most, right] = [Y(powerOf(Math.PI)), box.x + box.w];
  pen.line(box.x, most, right, most, { stroke: ink.text, width: 1.2, dash: "6 4" });
  const opposite = width < 480 ? phrase`π: opposite` : phrase`π: the hand points the opposite way`;
  pen.text(box.x + 4, most - 6, opposite, { size: 12 });
  /** @type {(point: Pair) => Pair} */
  const place = ([m, value]) => [X(m), Y(Math.max(FLOOR, powerOf(value)))];
  return { X, at, place };
}

/** The known curves in grey and the chosen one, to a cross where it ends. paths: [[name, path], …]. */
function drawCurves(pen, box, paths, chosen, ended) {
  const known = paths.map(([, path]) => path);
  pen.curves(known, { stroke: ink.muted, width: 1.5, opacity: 0.75 });
  pen.curve(chosen, { stroke: ink.other, width: 4 });
  const [x, y] = chosen.at(-1) ?? [box.x, box.y];
  const cross = [
    [x - 6, y - 6, x + 6, y + 6],
    [x - 6, y + 6, x + 6, y - 6],
  ];
  pen.lines(ended ? cross : [], { stroke: ink.text, width: 2 });
}

/** The names of the curves. lines: [[name, path], …], the chosen one's name apart. */
function drawNames(pen, box, lines, chosen) {
  /** @type {(path: Pair[]) => Pair[]} */
  const pixels = (path) => path.map(([x, y]) => [Math.round(x), Math.round(y)]);
  const rounded = lines.map(([name, path]) => /** @type {[string, Pair[]]} */ ([name, pixels(path)]));
  for (const { name, x, y, half } of placeNames(rounded, box)) {
    pen.rect(x - half - 2, y - 11, 2 * half + 4, 14, { fill: ink.paper, opacity: 0.7 });
    const style = name === chosen ? { fill: ink.otherWords, weight: 700 } : { fill: ink.muted };
    pen.text(x, y, name, { size: 12, anchor: "middle", ...style });
  }
}

/** The chart; returns how its position is dragged. */
function drawChart(pen, state, width, seen) {
  const { position, head_dim, base } = state;
  const { pipeline, step, error } = seen;
  const box = { x: 50, y: 54, w: width - 66, h: chartHeight(width) };
  const { X, at, place } = drawAxes(pen, box, width, step);

  const mine = curveOf(pipeline, head_dim, base, step);
  const paths = knownCurves(head_dim, base, step).map(([key, curve]) => [key, curve.map(place)]);
  const chosen = withPosition(mine, position, error).map(place);
  drawCurves(pen, box, paths, chosen, mine.at(-1)?.[0] < FARTHEST);

  const cx = X(position);
  cursor(pen, box, cx, `m = ${grouped(position)}`, width);

  const name = nameOf(pipeline);
  const short = (key) => (width < 480 ? (SHORT[key] ?? phraseOf(key)) : phraseOf(key));
  const own = name ? [] : [[phrase`chosen`, mine.map(place)]];
  const named = [...own, ...paths.map(([key, path]) => [short(key), path])];
  pen.part(() => drawNames(pen, box, named, name ? short(name) : phrase`chosen`));

  const missing = Number.isNaN(error);
  const cy = missing ? box.y + box.h - 14 : place([position, error])[1];
  pen.circle(cx, cy, 6.5, { fill: missing ? ink.paper : ink.other, stroke: ink.text, width: 1.5 });
  const small = { size: 12, anchor: "end", fill: ink.otherWords, weight: 700 };
  pen.text(cx - 11, cy + 4, missing ? phrase`no number` : "", small);
  return { position: { x: cx, y: cy, at: (px) => Math.round(at(px)) } };
}

// ---------------------------------------------------------------------------------------------- clock

function drawClock(pen, state, width, seen) {
  const { pair, pairs, error, exact, hand, step } = seen;
  const top = 54 + chartHeight(width) + 58;
  const [r, narrow] = [clockRadius(width), width < 480];
  const [cx, cy] = [r + 6, top + 24 + r];
  const missing = Number.isNaN(error);
  const at = (angle, far) => polar(cx, cy, angle, far);
  const m = grouped(state.position);
  const when = step && width >= 300 ? phrase`from ${grouped(state.position - 1)} to ${m}` : phrase`at ${m}`;
  const rank = missing ? "" : narrow ? phrase`, the worst` : phrase`, the worst of ${pairs}`;
  const title = step && narrow ? phrase`Pair ${pair} ${when}` : phrase`Pair ${pair}${rank} ${when}`;
  pen.text(2, top + 4, title, { weight: 600 });
  pen.circle(cx, cy, r, { stroke: ink.muted, width: 1.5 });
  const between = wrapped(hand - exact);
  const arc = missing ? [] : range(0, 24).map((i) => at(exact + (between * i) / 24, r - 2));
  pen.areas(missing ? [] : [[[cx, cy], ...arc]], { fill: ink.other, opacity: 0.3 });
  pen.lines(missing ? [] : [[cx, cy, ...at(hand, r - 4)]], { stroke: ink.other, width: 5 });
  pen.line(cx, cy, ...at(exact, r - 4), { stroke: ink.text, width: 2, dash: "5 3" });
  pen.circle(cx, cy, 3, { fill: ink.text });

  const x = 2 * r + (width < 300 ? 18 : narrow ? 22 : 34);
  const tell = (dy, words, style) =>
    pen.text(x + (width < 300 ? 20 : 30), y + dy, words, { size: width < 300 ? 12 : 13, ...style });
  const key = width < 300 ? 14 : 22;
  const rest = (angle) => `${fmt(withinTurn(angle), 2)} rad`;
  const turns = Math.floor(turnsOf(exact));
  const after = turns === 1 ? phrase` after 1 turn` : phrase` after ${grouped(turns)} turns`;
  const whole = turns && !narrow ? after : "";
  const y = cy - 22;
  pen.line(x, y - 4, x + key, y - 4, { stroke: ink.text, width: 2, dash: "5 3" });
  tell(0, phrase`exact: ${rest(exact)}${whole}`);
  pen.lines(missing ? [] : [[x, y + 22, x + key, y + 22]], { stroke: ink.other, width: 5 });
  tell(26, missing ? phrase`no hand here` : phrase`pipeline: ${rest(hand)}`);
  const gap = missing ? "" : error === 0 ? phrase`not apart at all` : phrase`apart: ${radians(error)}`;
  tell(52, gap, { weight: 600, fill: ink.otherWords });
  tell(70, error > 0 && error < 0.02 ? phrase`too little to see` : "", note);
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
  const place = step
    ? phrase`From token ${grouped(position - 1)} to ${grouped(position)}`
    : phrase`At position ${grouped(position)}`;
  if (Number.isNaN(error)) {
    return Number.isFinite(roundTo(position, pipeline.positions))
      ? phrase`${place} pair 0 has no number: the angle is infinite in ${pipeline.angles}, and infinity has no cosine.`
      : phrase`${place} pair 0 has no number: the position is infinite in ${pipeline.positions}, and infinity has no cosine.`;
  }
  const curve = curveOf(pipeline, head_dim, base, step);
  const sofar = curve.filter(([m]) => m < position).at(-1)?.[1] ?? 0;
  const top = sofar < LOST ? radians(sofar) : phrase`almost π`;
  const most = sofar > 1.05 * error ? phrase` Up to here the line has reached ${top}.` : "";
  if (error === 0)
    return phrase`${place} no pair is off: nothing is rounded beyond float64, against which it is measured.${most}`;
  return phrase`${place} the worst pair, pair ${pair}, is off by ${radians(error)}: ${cause(state, seen)}.${most}`;
}

export default live({
  name: "AngleError",
  title: phrase`How far the worst pair of a head is off at every position, in pipelines of different number formats`,
  height,
  draw,
  readout,
});
