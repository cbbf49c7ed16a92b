import { GRID } from "../data/grid.js";
import { axes } from "../lib/axes.js";
import { ink, note, noteMiddle } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { inLines } from "../lib/labels.js";
import { memo } from "../lib/memo.js";
import { decade, fmt, grouped, last, powerOf, range } from "../lib/numbers.js";
import { phrase, phraseOf } from "../lib/phrase.js";
import { diamond, pointsAround } from "../lib/shapes.js";
import { listed } from "../lib/words.js";
import { span, unpackLosses, unpackShares } from "../maths/results.js";

const ROW = 21; // pixels per encoding
const LANES = 14; // pixels for the seeds in each row

/** Styles for the three highlighted encodings; all others are grey. `edge` is the width of a dark outline. */
const RANKS = [
  { stroke: ink.text, words: ink.text, width: 2.6, band: 0.13, mark: "circle" },
  { stroke: ink.other, words: ink.otherWords, width: 2.6, edge: 5, band: 0.25, mark: "square" },
  { stroke: ink.text, words: ink.text, width: 2.2, dash: "2 4", band: 0.07, mark: "diamond" },
];

/** The pointwise minimum, median and maximum of the seeds' curves. */
function bandOf(seeds) {
  const spans = seeds[0].map((_, i) => span(seeds.map((values) => values[i])));
  return [0, 1, 2].map((k) => spans.map((part) => part[k]));
}

/** The selected task: its encodings and their measurements, up to three highlighted encodings, and the test length.
 */
const measured = memo(({ task, measure, against, doublings, first, second, third }) => {
  const { runs, steps, level, unit, lengths } = GRID.tasks[task];
  const names = Object.keys(runs);
  const asked = [...new Set([first, second, third])].filter((name) => names.includes(name));
  const unpack = (texts) => texts.map(measure === "loss" ? unpackLosses : unpackShares);
  const times = [1, 2, 4][doublings];
  const length = times * lengths[0];
  const place = lengths.indexOf(length);
  const all = names.map((name) => {
    const [seeds, tests] = [unpack(runs[name].curves[measure]), unpack(runs[name].tests[measure])];
    return {
      words: phraseOf(GRID.names[name]),
      rank: RANKS[asked.indexOf(name)],
      cost: against === "steps" ? steps : steps.map((step) => (step * runs[name].ms) / 1000),
      seeds,
      band: bandOf(seeds),
      tests,
      results: tests.map((values) => values[place]),
      trained: span(tests.map((values) => values[0]))[1],
    };
  });
  const chosen = asked.map((name) => all[names.indexOf(name)]);
  return { all, chosen, times, level, length: `${length} ${phraseOf(unit)}` };
});

const stacked = (width) => width < 520;

const legend = (/** @type {any[]} */ chosen, width) => inLines(chosen, width - 2, { sample: 32, bold: true });

/** Lay out the curves and the tests side by side, or one below the other. */
function places(width, { all, chosen }) {
  const narrow = stacked(width);
  const tall = ROW * all.length;
  const y = 62 + 20 * legend(chosen, width).at(-1).line;
  const left = { x: 40, y, w: narrow ? width - 60 : Math.round(width * 0.5) - 68, h: narrow ? 190 : tall };
  const x = 116 + (narrow ? 0 : left.w + 76); // 116 pixels for the names
  const right = { x, y: narrow ? y + 282 : y, w: width - x - 16, h: tall };
  return { left, right, height: right.y + tall + (narrow ? 30 : 46) };
}

/**
 * The scale for a measure, with round ticks: percent up to 100 or 50, or logarithmic for the loss.
 * @returns {{place: (v: number) => number, ends: Pair, ticks: number[], format: (t: number) => string}}
 */
function scale(measure, values) {
  if (measure === "accuracy") {
    const ticks = Math.max(...values) > 0.5 ? [0, 25, 50, 75, 100] : [0, 10, 20, 30, 40, 50];
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

/** Every n-th tick, for the smallest n at which the labels do not touch. */
function roomy(ticks, across, format) {
  const half = (t) => 4 * format(t).length + 3;
  const some = (stride) => ticks.filter((_, i) => (ticks.length - 1 - i) % stride === 0);
  const fits = (kept) => kept.every((t, i) => !i || across(t) - half(t) >= across(kept[i - 1]) + half(kept[i - 1]));
  return some(range(1, ticks.length).find((stride) => fits(some(stride))));
}

/** Draw a highlighted curve, outlining light colours so that they remain visible in greyscale. */
function trace(pen, path, { stroke, width, dash = undefined, edge = undefined }) {
  if (edge) pen.curve(path, { stroke: ink.text, width: edge });
  pen.curve(path, { stroke, width, dash });
}

function mark(pen, x, y, kind, fill, opacity) {
  if (kind === "square") pen.rect(x - 2.6, y - 2.6, 5.2, 5.2, { fill, opacity, stroke: ink.text, width: 1 });
  else if (kind === "diamond") pen.area(diamond([x, y], 3.8), { fill, opacity });
  else pen.circle(x, y, 2.8, { fill, opacity });
}

function drawLegend(pen, chosen, across) {
  for (const { words, rank, x, line } of legend(chosen, across)) {
    const y = 11 + 20 * line;
    trace(pen, pointsAround([x + 2, y], [0, 0], [24, 0]), rank);
    pen.text(x + 32, y + 4, words, { fill: rank.words, weight: 600 });
  }
}

/** Draw the learning curves: grey medians first, then the band and median (or every seed) of each highlighted
 * encoding. */
function drawCurves(pen, { measure, against, every_seed }, { all, chosen, level }, box) {
  const share = measure === "accuracy";
  const { place, ends, ticks, format } = scale(measure, all.map(({ band }) => band).flat(2));
  const most = Math.max(...all.map(({ cost }) => cost.at(-1)));
  const { X, Y } = axes(pen, box, [0, most], ends, {
    xLabel: against === "steps" ? phrase`training steps` : phrase`CPU time (s)`,
    yLabel: share ? phrase`While learning: right (%)` : phrase`While learning: loss (nats)`,
    yTicks: ticks,
    yFormat: format,
    xFormat: grouped,
  });
  const y = Y(100 * level);
  if (share) pen.line(box.x, y, box.x + box.w, y, { stroke: ink.muted, width: 1, dash: "5 4" });
  const path = (cost, values) => values.map((value, i) => [X(cost[i]), Y(place(value))]);
  for (const { cost, band } of all.filter(({ rank }) => !rank))
    pen.curve(path(cost, band[1]), { stroke: ink.muted, width: 1, opacity: 0.7 });
  const firstOnTop = [...chosen].reverse();
  for (const { rank, cost, seeds, band } of firstOnTop) {
    if (every_seed) {
      const thin = { ...rank, width: 1.3, edge: rank.edge && 2.6 };
      for (const seed of seeds) trace(pen, path(cost, seed), thin);
    } else {
      const [low, middle, high] = band.map((values) => path(cost, values));
      pen.area([...low, ...high.reverse()], { fill: rank.stroke, opacity: rank.band });
      trace(pen, middle, rank);
    }
  }
}

/** Draw the tests in one row per encoding, with a mark for each seed and a bar at the median, connected to the
 * median at the trained length. */
function drawTests(pen, { measure }, { all, times }, box) {
  const { place, ends, ticks, format } = scale(measure, all.map(({ tests }) => tests).flat(2));
  const across = (t) => box.x + (box.w * (t - ends[0])) / (ends[1] - ends[0]);
  const X = (value) => across(place(value));
  const title = times === 1 ? phrase`New texts, same length` : phrase`${times}× as long, new places`;
  const unit = measure === "accuracy" ? phrase`right (%)` : phrase`loss`;
  pen.text(box.x + box.w, box.y - 9, phrase`${title}: ${unit}`, { anchor: "end" });
  for (const t of roomy(ticks, across, format)) {
    const x = across(t);
    pen.line(x, box.y, x, box.y + box.h, { stroke: ink.grid, width: 1 });
    pen.text(x, box.y + box.h + 17, format(t).replace("-", "−"), noteMiddle);
  }
  all.forEach(({ words, rank, results, trained }, row) => {
    const y = box.y + ROW * (row + 0.5);
    const [fill, opacity] = rank ? [rank.stroke, 1] : [ink.muted, 0.7];
    const style = rank ? { fill: rank.words, weight: 600 } : note;
    pen.text(box.x - 8, y + 4, words, { ...style, anchor: "end" });
    const now = X(span(results)[1]);
    pen.line(X(trained), y, now, y, { stroke: fill, width: 1 });
    pen.line(now, y - 9, now, y + 9, { stroke: fill, width: 1.5, opacity });
    const lanes = Math.max(1, results.length - 1);
    results.forEach((result, seed) => {
      mark(pen, X(result), y + LANES * (seed / lanes - 0.5), rank?.mark, fill, rank ? 0.9 : 0.55);
    });
  });
}

function draw(pen, state, { width }) {
  const task = measured(state);
  const { left, right } = places(width, task);
  drawLegend(pen, task.chosen, width);
  drawCurves(pen, state, task, left);
  drawTests(pen, state, task, right);
}

/** Describe the median and the range of the tests over all seeds. */
function told(measure, { words, results }) {
  const [low, middle, high] = span(results).map((value) =>
    measure === "loss" ? String(Number(value.toPrecision(2))) : fmt(100 * value, 0),
  );
  return phrase`${words} ${middle} (${low} to ${high})`;
}

/** Describe when each encoding's median first reached the task's level. */
function speed({ against }, { chosen, level }) {
  const times = chosen.map(({ words, band, cost }) => {
    const at = cost[band[1].findIndex((share) => share >= level)];
    if (at === undefined) return phrase`${words} never`;
    return against === "steps" ? phrase`${words} by step ${grouped(at)}` : phrase`${words} within ${fmt(at, 1)} s`;
  });
  return phrase`The median run has ${fmt(100 * level, 0)} % right: ${listed(times)}. `;
}

function readout(state) {
  const { measure, doublings } = state;
  const task = measured(state);
  const tests = task.chosen.map((encoding) => told(measure, encoding));
  const texts =
    task.times === 1
      ? phrase`of the same length (${task.length})`
      : phrase`${task.times}× as long, at the places beyond training (${task.length})`;
  const what = measure === "loss" ? phrase`the loss is` : phrase`these are right, in %`;
  const seeds = task.all[0].seeds.length;
  const ask = doublings ? "" : phrase`Which of these will hold on texts 4× as long? Guess, then slide. `;
  const first = `${ask}${measure === "loss" ? "" : speed(state, task)}`;
  return phrase`${first}On new texts ${texts}, ${what}: ${listed(tests)}; median and span of ${seeds} seeds.`;
}

export default live({
  name: "TrainingCurves",
  title: phrase`Learning curves of tiny models with each encoding, and their tests on longer texts`,
  height: (width, state) => places(width, measured(state)).height,
  lines: 4,
  draw,
  readout,
  panel(width, state) {
    const { right, height } = places(width, measured(state));
    return [stacked(width) ? right.y - 30 : 0, height];
  },
});
