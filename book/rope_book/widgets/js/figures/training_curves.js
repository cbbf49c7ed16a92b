import { GRID } from "../data/grid.js";
import { axes } from "../lib/axes.js";
import { ink } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { legendOf } from "../lib/legend.js";
import { nameEnds, roomForNames } from "../lib/line_ends.js";
import { memo } from "../lib/memo.js";
import { clamp, decade, fmt, grouped, last, powerOf, range, sum } from "../lib/numbers.js";
import { phrase, phraseOf } from "../lib/phrase.js";
import { pointsAround } from "../lib/shapes.js";
import { listed } from "../lib/words.js";
import { span, unpackLosses, unpackShares } from "../maths/results.js";

const TIMES = [1, 2, 4]; // lengths of the test texts, in trained lengths
const FAR = TIMES.length - 1; // doublings up to the longest test text
const PARKED = 50; // initial height of every guess, in percent
const LANE = 30; // pixels between the rings that wait at one height

/** Styles of the three highlighted encodings; all others are grey. `edge` is the width of a dark outline. */
const RANKS = [
  { stroke: ink.text, words: ink.text, width: 2.6, band: 0.13 },
  { stroke: ink.other, words: ink.otherWords, width: 2.6, edge: 5, band: 0.25 },
  { stroke: ink.text, words: ink.text, width: 2.2, dash: "2 4", band: 0.07 },
];
const GREY = { stroke: ink.muted, width: 1, opacity: 0.7 };

/** The pointwise minimum, median and maximum of the seeds' curves. */
function bandOf(seeds) {
  const spans = seeds[0].map((_, i) => span(seeds.map((values) => values[i])));
  return [0, 1, 2].map((k) => spans.map((part) => part[k]));
}

/** The selected task's results: each encoding's curves, one per seed and against the length or the cost, their
 * band, and the highlighted encodings as `chosen`. */
const measured = memo(({ task, measure, against, first, second, third }) => {
  const { runs, steps, level, unit, lengths } = GRID.tasks[task];
  const names = Object.keys(runs);
  const asked = [...new Set([first, second, third])].filter((name) => names.includes(name));
  const unpack = (texts) => texts.map(measure === "loss" ? unpackLosses : unpackShares);
  const across = (ms) => ({ length: range(0, FAR), steps, seconds: steps.map((step) => (step * ms) / 1000) })[against];
  const all = names.map((name) => {
    const { ms, curves, tests } = runs[name];
    const byLength = unpack(tests[measure]).map((values) => TIMES.map((n) => values[lengths.indexOf(n * lengths[0])]));
    const seeds = against === "length" ? byLength : unpack(curves[measure]);
    return {
      words: phraseOf(GRID.names[name]),
      rank: RANKS[asked.indexOf(name)],
      across: across(ms),
      seeds,
      band: bandOf(seeds),
      tested: bandOf(byLength),
    };
  });
  const chosen = asked.map((name) => all[names.indexOf(name)]);
  return { all, chosen, level, trained: lengths[0], unit: phraseOf(unit) };
});

/** Whether the horizontal axis is the length, whether the reader can guess the lines' ends, and whether the lines
 * are hidden until then. */
const isByLength = ({ against }) => against === "length";
const canGuess = ({ against, measure }) => against === "length" && measure === "accuracy";
const waits = (state) => canGuess(state) && state.doublings === 0;

/** The guessed heights in percent, one for each highlighted encoding. */
const guessOf = ({ guess }, { chosen }) => chosen.map((_, i) => guess[i] ?? PARKED);

const isNarrow = (width) => width < 480; // too narrow to name any but the highlighted lines

function legend(chosen, width) {
  const entries = chosen.map(({ words, rank }) => ({
    words,
    sign: (pen, x, y) => trace(pen, pointsAround([x, y], [2, 0], [26, 0]), rank),
  }));
  return legendOf(entries, width - 2, { sample: 32, text: 32 });
}

/** Lay out the legend and, below it, the chart with the lines' names on the right. */
function plan(width, state, { all, chosen }) {
  const named = isNarrow(width) ? chosen : all;
  const right = isByLength(state) ? roomForNames(named.map(({ words }) => words)) : 16;
  const y = 34 + legend(chosen, width).height;
  const box = { x: 40, y, w: width - 40 - right, h: isNarrow(width) ? 270 : 320 };
  return { box, height: y + box.h + 46 };
}

/**
 * The scale for a measure, with round ticks. It ends at 50 or 100 percent for the accuracy and is logarithmic for
 * the loss.
 * @returns {{place: (v: number) => number, ends: Pair, ticks: number[], format: (t: number) => string}}
 */
function scale(state, values) {
  if (state.measure === "accuracy") {
    const ticks = canGuess(state) || Math.max(...values) > 0.5 ? [0, 25, 50, 75, 100] : [0, 10, 20, 30, 40, 50];
    return { place: (v) => 100 * v, ends: [0, last(ticks)], ticks, format: String };
  }
  /** @type {Pair} */
  const ends = [powerOf(Math.min(...values)) - 0.05, powerOf(Math.max(...values)) + 0.05];
  const decades = range(Math.floor(ends[0]), Math.ceil(ends[1]));
  const wide = ends[1] - ends[0];
  const steps = wide > 2 ? [1] : wide > 0.8 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 6];
  const marks = decades.flatMap((power) => steps.map((step) => power + powerOf(step)));
  const format = (power) => decade(power, -3.5, 3.5);
  return { place: (v) => powerOf(v), ends, ticks: marks.filter((t) => t >= ends[0] && t <= ends[1]), format };
}

/** Draw a highlighted curve, outlining light colours so that they remain visible in greyscale. */
function trace(pen, path, { stroke, width, dash = undefined, edge = undefined }) {
  if (edge) pen.curve(path, { stroke: ink.text, width: edge });
  pen.curve(path, { stroke, width, dash });
}

/** A line's values up to the given number of doublings, interpolated at the end if that number is fractional. */
function upTo(values, doublings) {
  const whole = Math.floor(doublings);
  const part = doublings - whole;
  const points = values.slice(0, whole + 1).map((value, i) => [i, value]);
  return part ? [...points, [doublings, values[whole] + part * (values[whole + 1] - values[whole])]] : points;
}

/** Draw the axes. Returns the scales and `pathOf`, which maps an encoding and its values to a path. */
function drawAxes(pen, state, { all, level, trained, unit }, box) {
  const byLength = isByLength(state);
  const { place, ends, ticks, format } = scale(state, all.map(({ band }) => band).flat(2));
  const most = byLength ? FAR : Math.max(...all.map(({ across }) => last(across)));
  const xLabel = { steps: phrase`training steps`, seconds: phrase`CPU time (s)` }[state.against];
  const isShare = state.measure === "accuracy";
  const label = isShare ? phrase`Right answers (%)` : phrase`Loss (nats)`;
  const learning = isShare ? phrase`While learning: right (%)` : phrase`While learning: loss (nats)`;
  const {
    X,
    Y,
    level: levelLine,
  } = axes(pen, box, [0, most], ends, {
    xLabel: xLabel ?? (box.w < 230 ? phrase`length (${unit})` : phrase`length of the test texts (${unit})`),
    yLabel: byLength ? label : learning,
    xTicks: byLength ? range(0, FAR) : undefined,
    xFormat: byLength ? (t) => `${TIMES[t]}× (${TIMES[t] * trained})` : grouped,
    yTicks: ticks,
    yFormat: format,
  });
  if (isShare && !byLength) levelLine(100 * level, { stroke: ink.muted, width: 1, dash: "5 4" });
  const pathOf = ({ across }, values) =>
    byLength
      ? upTo(values, state.doublings).map(([t, value]) => [X(t), Y(place(value))])
      : values.map((value, i) => [X(across[i]), Y(place(value))]);
  return { X, Y, pathOf };
}

/** Draw grey medians first, then the band and median (or every seed) of each highlighted encoding. */
function drawLines(pen, { every_seed }, { all, chosen }, pathOf) {
  for (const encoding of all.filter(({ rank }) => !rank)) pen.curve(pathOf(encoding, encoding.band[1]), GREY);
  const firstOnTop = [...chosen].reverse();
  for (const encoding of firstOnTop) {
    const { rank, seeds, band } = encoding;
    if (every_seed) {
      const thin = { ...rank, width: 1.3, edge: rank.edge && 2.6 };
      for (const seed of seeds) trace(pen, pathOf(encoding, seed), thin);
    } else {
      const [low, middle, high] = band.map((values) => pathOf(encoding, values));
      pen.area([...low, ...high.reverse()], { fill: rank.stroke, opacity: rank.band });
      trace(pen, middle, rank);
    }
    const [x, y] = pathOf(encoding, band[1])[0];
    pen.circle(x, y, 3.5, { fill: rank.stroke, stroke: ink.text, width: 1 });
  }
}

/** The centre of a guess's ring at a height. While the rings wait, they lie side by side. @type {(state: State, i: number, height: number, scales: any) => Pair} */
const ringOf = (state, i, height, { X, Y }) => [X(FAR) - (waits(state) ? i * LANE : 0), Y(height)];

/** Draw rings where the reader guesses that the lines end, and return their handles. */
function drawGuess(pen, state, task, { X, Y, pathOf }) {
  const heights = guessOf(state, task);
  const isGuessed = state.guess.length > 0;
  /** @type {Record<string, Handle>} */
  const handles = {};
  task.chosen.forEach((encoding, i) => {
    const { rank, band, words } = encoding;
    const end = ringOf(state, i, heights[i], { X, Y });
    if (isGuessed) pen.curve([pathOf(encoding, band[1])[0], end], { stroke: rank.stroke, width: 1.5, dash: "3 5" });
    if (waits(state) || isGuessed) pen.circle(...end, 6, { fill: ink.paper, stroke: rank.stroke, width: 2 });
    const at = (_, py) =>
      heights.map((height, j) => (j === i ? clamp(Math.round((100 * (py - Y(0))) / (Y(100) - Y(0))), 0, 100) : height));
    if (waits(state)) handles[words] = { trait: "guess", x: end[0], y: end[1], at, ink: rank.stroke };
  });
  return handles;
}

/** Write the names at the ends of the lines or, while the figure waits for a guess, beside the rings. */
function drawNames(pen, state, task, { X, Y, pathOf }, box, width) {
  if (!isByLength(state)) return;
  const far = waits(state) ? FAR : state.doublings;
  const heights = guessOf(state, task);
  const named = waits(state) || isNarrow(width) ? task.chosen : task.all;
  const ends = named.map((encoding, i) => ({
    name: encoding.words,
    end: waits(state) ? ringOf(state, i, heights[i], { X, Y }) : last(pathOf(encoding, encoding.band[1])),
    stroke: encoding.rank?.stroke ?? ink.muted,
    words: encoding.rank?.words ?? ink.muted,
    weight: encoding.rank ? 600 : 400,
  }));
  nameEnds(pen, { ...box, w: X(far) - box.x }, ends);
}

function draw(pen, state, { width }) {
  const task = measured(state);
  const { box } = plan(width, state, task);
  legend(task.chosen, width).draw(pen, 11);
  const scales = drawAxes(pen, state, task, box);
  pen.part(() => drawLines(pen, state, task, scales.pathOf));
  pen.part(() => drawNames(pen, state, task, scales, box, width));
  let handles = {};
  pen.part(() => {
    if (canGuess(state)) handles = drawGuess(pen, state, task, scales);
  });
  return handles;
}

/** Describe an encoding's median and range over all seeds at the selected length. */
function told({ measure, doublings }, { words, tested }) {
  const [low, middle, high] = tested.map((values) =>
    measure === "loss" ? String(Number(values[doublings].toPrecision(2))) : fmt(100 * values[doublings], 0),
  );
  return phrase`${words} ${middle} (${low} to ${high})`;
}

/** Say when each encoding's median first reached the task's level, if the curves show that. */
function speed({ against, measure }, { chosen, level }) {
  if (against === "length" || measure === "loss") return "";
  const times = chosen.map(({ words, band, across }) => {
    const at = across[band[1].findIndex((share) => share >= level)];
    if (at === undefined) return phrase`${words} never`;
    return against === "steps" ? phrase`${words} by step ${grouped(at)}` : phrase`${words} within ${fmt(at, 1)} s`;
  });
  return phrase`The median run has ${fmt(100 * level, 0)} % right: ${listed(times)}. `;
}

/** Ask for a guess, or judge the one that was made. */
function opening(state, task) {
  if (waits(state))
    return phrase`Where will these lines end on texts four times as long? Drag each ring to your guess, then press Show. `;
  if (!canGuess(state) || state.doublings < FAR || !state.guess.length) return "";
  const gaps = guessOf(state, task).map((height, i) => Math.abs(height - 100 * task.chosen[i].tested[1][FAR]));
  return phrase`Your guess was off by ${fmt(sum(gaps) / gaps.length, 0)} points on average. `;
}

function readout(state) {
  const task = measured(state);
  const [times, length] = [TIMES[state.doublings], `${TIMES[state.doublings] * task.trained} ${task.unit}`];
  const texts =
    times === 1
      ? phrase`of the same length (${length})`
      : phrase`${times}× as long, at the places beyond training (${length})`;
  const what = state.measure === "loss" ? phrase`the loss is` : phrase`these are right, in %`;
  const seeds = task.all[0].seeds.length;
  const tests = task.chosen.map((encoding) => told(state, encoding));
  const first = opening(state, task) + speed(state, task);
  return phrase`${first}On new texts ${texts}, ${what}: ${listed(tests)}; median and span of ${seeds} seeds.`;
}

function results(state) {
  const [{ tested }] = measured({ ...state, measure: "accuracy" }).chosen;
  return { accuracy: 100 * tested[1][state.doublings] };
}

export default live({
  name: "TrainingCurves",
  title: phrase`Right answers of tiny models with each encoding on longer and longer texts, or while they learn`,
  height: (width, state) => plan(width, state, measured(state)).height,
  lines: 4,
  draw,
  readout,
  results,
  smooth: ["doublings"],
  time: 900,
  buttons: [
    { label: phrase`Show`, move: () => ({ doublings: FAR, against: "length" }) },
    { label: phrase`Guess again`, move: () => ({ doublings: 0, guess: [], against: "length", measure: "accuracy" }) },
  ],
});
