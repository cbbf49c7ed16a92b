import { axes } from "../lib/axes.js";
import { ink, note } from "../lib/colour.js";
import { cursor } from "../lib/cursor.js";
import { live } from "../lib/figure.js";
import { polar } from "../lib/geometry.js";
import { nameEnds, roomForNames } from "../lib/line_ends.js";
import { placeLineNames, spotOn } from "../lib/line_names.js";
import { memo } from "../lib/memo.js";
import { abbreviated, decade, fmt, grouped, last, powerOf, range, significant } from "../lib/numbers.js";
import { phrase, phraseOf } from "../lib/phrase.js";
import { sector } from "../lib/shapes.js";
import { angleOf, timesConj, wrapped } from "../maths/complex.js";
import { errorCurve, errorParts, FARTHEST, LOST, withPosition } from "../maths/error_curve.js";
import { invFreq, ropeAngles, turnsOf, withinTurn } from "../maths/frequencies.js";
import { angleError, PIPELINES, pipelineCosSin, roundTo, STEPS } from "../maths/precision.js";

const APART = 14; // pixels; a line that ends closer than this to another has its name along the line
const FLOOR = -9.5; // bottom of the chart, as a power of ten; smaller errors are drawn there

/** The name of the known pipeline that uses these formats, or undefined. */
const nameOf = (pipeline) =>
  Object.keys(PIPELINES).find((name) => STEPS.every((step) => PIPELINES[name][step] === pipeline[step]));

const curveOf = memo((pipeline, headDim, base, step) => errorCurve(invFreq(headDim, base), pipeline, step), 64);

/** The pipeline, the pair with the largest error at the current position, and that pair's computed angle, exact
 * angle and error. */
function worst(state) {
  const { position, head_dim, base, measure } = state;
  const pipeline = /** @type {any} */ (Object.fromEntries(STEPS.map((name) => [name, state[`${name}_in`]])));
  const step = measure === "step" ? 1 : 0;
  const frequencies = invFreq(head_dim, base);
  const errors = angleError(position, frequencies, pipeline, step);
  const missing = errors.some(Number.isNaN);
  const error = missing ? NaN : Math.max(...errors);
  const pair = Math.max(0, errors.indexOf(error));
  const theta = [frequencies[pair]];
  const [to] = pipelineCosSin(position, theta, pipeline);
  /** @type {Pair[]} */
  const [from] = step ? pipelineCosSin(position - 1, theta, pipeline) : [[1, 0]];
  const hand = angleOf(timesConj(to, from));
  const [exact] = ropeAngles(step || position, theta);
  const curve = curveOf(pipeline, head_dim, base, step);
  return { pipeline, step, frequency: theta[0], pairs: errors.length, pair, missing, error, exact, hand, curve };
}

const radians = (value) => (value === 0 ? "0 rad" : `${significant(value, 2, 2, 4)} rad`);

/** Format two numbers with enough digits to tell them apart. */
function apart(a, b) {
  const digits = range(4, 17).find((n) => a.toPrecision(n) !== b.toPrecision(n)) ?? 17;
  return [a, b].map((value) => String(Number(value.toPrecision(digits + 1))));
}

/** Say which rounding contributes most to the error. */
function cause({ position }, { pipeline, step, frequency }) {
  const before = step ? position - step : 0;
  const [m, n] = [position, before].map((p) => roundTo(p, pipeline.positions));
  const rate = roundTo(frequency, pipeline.frequencies);
  const sizes = errorParts(position, frequency, pipeline, step);
  const largest = Math.max(...Object.values(sizes));
  if (sizes.cos_sin === largest) return phrase`its cosine and sine are rounded to ${pipeline.cos_sin}`;
  if (sizes.frequencies === largest) {
    const [should, is] = apart(frequency, rate);
    return phrase`its frequency, ${should} rad per token, is kept as ${is}`;
  }
  if (sizes.positions === largest) {
    if (!step) return phrase`the position is kept as ${grouped(m)}`;
    if (m === n) return phrase`they are kept as one, ${grouped(m)}`;
    return phrase`they are kept as ${grouped(n)} and ${grouped(m)}`;
  }
  const [to, from] = [m, n].map((p) => roundTo(p * rate, pipeline.angles));
  const isLater = Math.abs(to - m * rate) >= Math.abs(from - n * rate);
  const [should, is] = isLater ? apart(m * rate, to) : apart(n * rate, from);
  return step
    ? phrase`its angle at ${grouped(isLater ? position : before)}, ${should} rad, is kept as ${is}`
    : phrase`its angle, ${should} rad, is kept as ${is}`;
}

const SHORT = {
  "frequencies in bfloat16": phrase`θ in bfloat16`,
  "positions in bfloat16": phrase`m in bfloat16`,
  "cos and sin in bfloat16": phrase`cos in bfloat16`,
};

const shortNameOf = (name) => SHORT[name] ?? phraseOf(name);
const ENDS = roomForNames(Object.keys(PIPELINES).map(shortNameOf)); // right margin for the line names
const placeNames = memo(placeLineNames, 4);

/** Lay out the chart, and the clock with its text below. */
function plan(width) {
  const [tiny, narrow] = [width < 300, width < 480];
  const box = { x: 50, y: 54, w: width - 50 - (narrow ? 16 : ENDS), h: narrow ? 270 : 234 };
  const [top, r] = [box.y + box.h + 62, tiny ? 40 : 48];
  return { tiny, narrow, box, top, clock: { cx: r + 6, cy: top + 20 + r, r }, height: top + 34 + 2 * r };
}

/** Draw the chart's axes. Returns the scales, and `point`, which maps [position, error] to pixels. */
function drawAxes(pen, { tiny, narrow, box }, width, step) {
  const { X, Y, at } = axes(pen, box, [1, FARTHEST], [FLOOR, 1.1], {
    xLabel: width < 400 ? phrase`position m (tokens)` : phrase`position m (tokens, logarithmic)`,
    yLabel: narrow
      ? phrase`Largest error up to m (rad)`
      : step
        ? phrase`Largest error of a token's turn up to m (radians)`
        : phrase`Largest error of an angle up to m (radians)`,
    xLog: true,
    xTicks: range(0, 6, tiny ? 2 : 1).map((power) => Number(`1e${power}`)),
    xFormat: abbreviated,
    yTicks: [FLOOR, -8, -6, -4, -2, 0],
    yFormat: (power) => (power === FLOOR ? "≈ 0" : decade(power, 0, 0)),
  });
  const [most, right] = [Y(powerOf(Math.PI)), box.x + box.w];
  pen.line(box.x, most, right, most, { stroke: ink.text, width: 1.2, dash: "6 4" });
  pen.text(box.x + 4, most - 6, phrase`π: opposite`, { size: 12 });
  /** @type {(point: Pair) => Pair} */
  const point = ([m, value]) => [X(m), Y(Math.max(FLOOR, powerOf(value)))];
  return { X, at, point };
}

/** Draw the known pipelines' curves in grey and the selected one in colour, with a cross where it ends early.
 * `paths` is a list of [name, path]. */
function drawCurves(pen, paths, chosen, ended) {
  const known = paths.map(([, path]) => path);
  pen.curves(known, { stroke: ink.muted, width: 1.5, opacity: 0.75 });
  pen.curve(chosen, { stroke: ink.other, width: 4 });
  const ends = ended ? chosen.slice(-1) : [];
  const cross = ends.flatMap(([x, y]) => [
    [x - 6, y - 6, x + 6, y + 6],
    [x - 6, y + 6, x + 6, y - 6],
  ]);
  pen.lines(cross, { stroke: ink.text, width: 2 });
}

/** Whether a line ends at the right edge of a box and apart from all others, so that its name fits beside its end.
 */
function endsAlone([, path], lines, box) {
  const [x, y] = last(path);
  const others = lines.filter(([, other]) => other !== path).map(([, other]) => last(other)[1]);
  return x > box.x + box.w - 1 && others.every((other) => Math.abs(other - y) > APART);
}

/** Write the curves' names, with `chosen` in bold: beside the end of a line that ends alone, and along any other
 * line. `lines` is a list of [name, path]. */
function drawNames(pen, box, lines, chosen, narrow) {
  const inkOf = (name) =>
    name === chosen ? { stroke: ink.other, words: ink.otherWords } : { stroke: ink.muted, words: ink.muted };
  const alone = narrow ? [] : lines.filter((line) => endsAlone(line, lines, box));
  const ends = alone.map(([name, path]) => ({ name, end: last(path), ...inkOf(name) }));
  nameEnds(pen, box, ends);
  /** @type {(path: Pair[]) => Pair[]} */
  const pixels = (path) => path.map(([x, y]) => [Math.round(x), Math.round(y)]);
  const rounded = lines.map(([name, path]) => /** @type {[string, Pair[]]} */ ([name, pixels(path)]));
  const placed = placeNames(rounded, box, spotOn);
  for (const { name, x, y, half } of placed.filter(({ name }) => ends.every((end) => end.name !== name))) {
    pen.rect(x - half - 2, y - 11, 2 * half + 4, 14, { fill: ink.paper });
    pen.text(x, y, name, { size: 12, anchor: "middle", fill: inkOf(name).words, weight: name === chosen ? 700 : 400 });
  }
}

/** Draw the chart and return the handle that moves the position. */
function drawChart(pen, { position, head_dim, base }, width, place, seen) {
  const { narrow, box } = place;
  const { pipeline, step, missing, error, curve } = seen;
  const { X, at, point } = drawAxes(pen, place, width, step);
  const known = Object.entries(PIPELINES).map(([name, pipe]) => [name, curveOf(pipe, head_dim, base, step).map(point)]);
  drawCurves(pen, known, withPosition(curve, position, error).map(point), curve.at(-1)?.[0] < FARTHEST);
  const cx = X(position);
  cursor(pen, box, cx, `m = ${grouped(position)}`, width);

  const name = nameOf(pipeline);
  const chosen = name ? shortNameOf(name) : phrase`chosen`;
  const named = known.map(([other, path]) => [shortNameOf(other), path]);
  pen.part(() => drawNames(pen, box, name ? named : [[chosen, curve.map(point)], ...named], chosen, narrow));

  const cy = missing ? box.y + box.h - 14 : point([position, error])[1];
  pen.circle(cx, cy, 6.5, { fill: missing ? ink.paper : ink.other, stroke: ink.text, width: 1.5 });
  const small = { size: 12, anchor: "end", fill: ink.otherWords, weight: 700 };
  pen.text(cx - 11, cy + 4, missing ? phrase`no number` : "", small);
  return { position: { x: cx, y: cy, at: (px) => Math.round(at(px)) } };
}

/** Draw the worst pair's hand, the exact direction, and the angle between the two. */
function drawClock(pen, { cx, cy, r }, { missing, exact, hand }) {
  const at = (angle, far) => polar(cx, cy, angle, far);
  pen.circle(cx, cy, r, { stroke: ink.muted, width: 1.5 });
  const field = sector(cx, cy, r - 2, exact, exact + wrapped(hand - exact), 24);
  pen.areas(missing ? [] : [field], { fill: ink.other, opacity: 0.3 });
  pen.lines(missing ? [] : [[cx, cy, ...at(hand, r - 4)]], { stroke: ink.other, width: 5 });
  pen.line(cx, cy, ...at(exact, r - 4), { stroke: ink.text, width: 2, dash: "5 3" });
  pen.circle(cx, cy, 3, { fill: ink.text });
}

/** The clock's title, which names the pair and the position. */
function titleOf({ position }, { step, pair, pairs, missing }, { tiny, narrow }) {
  const m = grouped(position);
  const when = step && !tiny ? phrase`from ${grouped(position - 1)} to ${m}` : phrase`at ${m}`;
  if (step && narrow) return phrase`Pair ${pair} ${when}`;
  const rank = missing ? "" : narrow ? phrase`, the worst` : phrase`, the worst of ${pairs}`;
  return phrase`Pair ${pair}${rank} ${when}`;
}

/** Write the angles of the two hands, and the angle between them. */
function drawHands(pen, { missing, error, exact, hand }, { clock: { cy, r }, tiny, narrow }) {
  const [x, y] = [2 * r + (tiny ? 18 : narrow ? 22 : 34), cy - 22];
  const [key, text, size] = tiny ? [14, 20, 12] : [22, 30, 13];
  const write = (dy, words, style = {}) => pen.text(x + text, y + dy, words, { size, ...style });
  const rest = (angle) => `${fmt(withinTurn(angle), 2)} rad`;
  const turns = Math.floor(turnsOf(exact));
  const after = turns === 1 ? phrase` after 1 turn` : phrase` after ${grouped(turns)} turns`;
  pen.line(x, y - 4, x + key, y - 4, { stroke: ink.text, width: 2, dash: "5 3" });
  write(0, phrase`exact: ${rest(exact)}${turns && !narrow ? after : ""}`);
  pen.lines(missing ? [] : [[x, y + 22, x + key, y + 22]], { stroke: ink.other, width: 5 });
  write(26, missing ? phrase`no hand here` : phrase`pipeline: ${rest(hand)}`);
  const gap = missing ? "" : error === 0 ? phrase`not apart at all` : phrase`apart: ${radians(error)}`;
  write(52, gap, { weight: 600, fill: ink.otherWords });
  write(70, error > 0 && error < 0.02 ? phrase`too little to see` : "", note);
}

function draw(pen, state, { width }) {
  const [place, seen] = [plan(width), worst(state)];
  pen.text(2, place.top, titleOf(state, seen, place), { weight: 600 });
  drawClock(pen, place.clock, seen);
  drawHands(pen, seen, place);
  return drawChart(pen, state, width, place, seen);
}

function readout(state) {
  const { position } = state;
  const seen = worst(state);
  const { pipeline, step, pair, missing, error, curve } = seen;
  const place = step
    ? phrase`From token ${grouped(position - 1)} to ${grouped(position)}`
    : phrase`At position ${grouped(position)}`;
  if (missing) {
    return Number.isFinite(roundTo(position, pipeline.positions))
      ? phrase`${place} pair 0 has no number: the angle is infinite in ${pipeline.angles}, and infinity has no cosine.`
      : phrase`${place} pair 0 has no number: the position is infinite in ${pipeline.positions}, and infinity has no cosine.`;
  }
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
  height: (width) => plan(width).height,
  lines: 2,
  draw,
  readout,
});
