import { GRID } from "../data/grid.js";
import { axes } from "../lib/axes.js";
import { ink, note, noteMiddle } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { inLines } from "../lib/labels.js";
import { memo } from "../lib/memo.js";
import { decade, fmt, grouped, powerOf, range } from "../lib/numbers.js";
import { phrase, phraseOf } from "../lib/phrase.js";
import { diamond, pointsAround } from "../lib/shapes.js";
import { listed } from "../lib/words.js";
import { span, unpackLosses, unpackShares } from "../maths/results.js";

const ROW = 21; // pixels for one encoding
const LANES = 14; // of these, for its seeds

/** How each of the three that stand out is drawn, with dark edges where `edge` says how wide they are; all others are grey. */
const RANKS = [
  { stroke: ink.text, words: ink.text, width: 2.6, band: 0.13, mark: "circle" },
  { stroke: ink.other, words: ink.otherWords, width: 2.6, edge: 5, band: 0.25, mark: "square" },
  { stroke: ink.text, words: ink.text, width: 2.2, dash: "2 4", band: 0.07, mark: "diamond" },
];

const losses = memo(unpackLosses, Infinity);
const shares = memo(unpackShares, Infinity);
const unpack = (texts, measure) => texts.map(measure === "loss" ? losses : shares);

/** What a state shows of one task: its encodings, those that stand out first to third, and their numbers. */
function measured({ task, measure, against, doublings, ...state }) {
  const { runs, steps, level, unit, lengths } = GRID.tasks[task];
  const names = Object.keys(runs);
  const asked = [state.first, state.second, state.third].filter((name) => names.includes(name));
  const chosen = [...new Set(asked)];
  const times = [1, 2, 4][doublings];
  const place = lengths.indexOf(times * lengths[0]);
  const cost = (name) => steps.map((step) => (against === "steps" ? step : (step * runs[name].ms) / 1000));
  const curves = (name) => unpack(runs[name].curves[measure], measure);
  const tests = (name) => unpack(runs[name].tests[measure], measure);
  return { names, chosen, times, place, level, unit, lengths, cost, curves, tests };
}

/** For every point of the curves, the span of the seeds. */
const spans = (seeds) => seeds[0].map((_, i) => span(seeds.map((values) => values[i])));

const stacked = (width) => width < 520;

/** Where the names of those that stand out are written. */
function legend(chosen, width) {
  /** @type {{words: string, rank: typeof RANKS[number]}[]} */
  const items = chosen.map((name, i) => ({ words: phraseOf(GRID.names[name]), rank: RANKS[i] }));
  return inLines(items, width - 2, { sample: 32, bold: true }).map((item) => ({ ...item, x: item.x + 2 }));
}

/** Where the parts stand. */
function places(width, { names, chosen }) {
  const tall = ROW * names.length;
  const label = 116;
  const top = 62 + 20 * legend(chosen, width).at(-1).line;
  if (stacked(width)) {
    const below = top + 282;
    return {
      left: { x: 40, y: top, w: width - 60, h: 190 },
      right: { x: label, y: below, w: width - label - 16, h: tall },
      height: below + tall + 30,
    };
  }
  const w = Math.round(width * 0.5) - 68;
  const x = w + 76 + label;
  return {
    left: { x: 40, y: top, w, h: tall },
    right: { x, y: top, w: width - x - 16, h: tall },
    height: top + tall + 46,
  };
}
const height = (width, state) => places(width, measured(state)).height;

/**
 * The scale of a measure: per cent to 100 or 50; the loss logarithmic, with round numbers beside it.
 * @returns {{place: (v: number) => number, ends: Pair, ticks: number[], format: (t: number) => string}}
 */
function scale(measure, values) {
  if (measure === "accuracy") {
    const ticks = Math.max(...values) > 0.5 ? [0, 25, 50, 75, 100] : [0, 10, 20, 30, 40, 50];
    return { place: (v) => 100 * v, ends: [0, ticks.at(-1)], ticks, format: String };
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
/** Every tick, or every second, third …, so that their words do not meet. */
function roomy(ticks, across, format) {
  const half = (t) => 4 * format(t).length + 3;
  const some = (stride) => ticks.filter((_, i) => (ticks.length - 1 - i) % stride === 0);
  const fits = (kept) => kept.every((t, i) => !i || across(t) - half(t) >= across(kept[i - 1]) + half(kept[i - 1]));
  return some(range(1, ticks.length).find((stride) => fits(some(stride))));
}

/** A curve of one that stands out; a light colour has dark edges, which are seen without colours too. */
function trace(pen, path, { stroke, width, dash = undefined, edge = undefined }) {
  if (edge) pen.curve(path, { stroke: ink.text, width: edge });
  pen.curve(path, { stroke, width, dash });
}

/** One seed's mark. */
function mark(pen, x, y, kind, fill, opacity) {
  if (kind === "square") pen.rect(x - 2.6, y - 2.6, 5.2, 5.2, { fill, opacity, stroke: ink.text, width: 1 });
  else if (kind === "diamond") pen.area(diamond([x, y], 3.8), { fill, opacity });
  else pen.circle(x, y, 2.8, { fill, opacity });
}

/** The names of those that stand out, with a sample of their lines. */
function drawLegend(pen, chosen, across) {
  for (const { words: name, rank, x, line } of legend(chosen, across)) {
    const y = 11 + 20 * line;
    trace(pen, pointsAround([x, y], [0, 0], [24, 0]), rank);
    pen.text(x + 30, y + 4, name, { fill: rank.words, weight: 600 });
  }
}

/** The learning curves: the others' medians in grey, then band and median, or each seed, of those that stand out. */
function drawCurves(pen, state, all, box) {
  const { measure, against, every_seed } = state;
  const medians = Object.fromEntries(all.names.map((name) => [name, spans(all.curves(name))]));
  const spansOf = (name, k) => medians[name].map((part) => part[k]);
  const values = all.names.flatMap((name) => medians[name].flat());
  const { place, ends, ticks, format } = scale(measure, values);
  const most = Math.max(...all.names.map((name) => all.cost(name).at(-1)));
  const { X, Y } = axes(pen, box, [0, most], ends, {
    xLabel: against === "steps" ? phrase`training steps` : phrase`CPU time (s)`,
    yLabel: measure === "accuracy" ? phrase`While learning: right (%)` : phrase`While learning: loss (nats)`,
    yTicks: ticks,
    yFormat: format,
    xFormat: grouped,
  });
  const level = Y(100 * all.level);
  if (measure === "accuracy")
    pen.line(box.x, level, box.x + box.w, level, { stroke: ink.muted, width: 1, dash: "5 4" });
  const path = (name, ys) => ys.map((y, i) => [X(all.cost(name)[i]), Y(place(y))]);
  const band = (name) => [0, 1, 2].map((k) => path(name, spansOf(name, k)));
  for (const name of all.names.filter((other) => !all.chosen.includes(other)))
    pen.curve(band(name)[1], { stroke: ink.muted, width: 1, opacity: 0.55 });
  const drawn = all.chosen.map((name, i) => [name, RANKS[i]]).reverse(); // the first lies on top
  for (const [name, rank] of drawn) {
    const [low, middle, high] = band(name);
    if (every_seed) {
      for (const seed of all.curves(name))
        trace(pen, path(name, seed), { ...rank, width: 1.3, edge: rank.edge && 2.6 });
    } else {
      pen.area([...low, ...high.reverse()], { fill: rank.stroke, opacity: rank.band });
      trace(pen, middle, rank);
    }
  }
}

/** The tests: a row for each encoding, a mark for each seed, a bar at the median and its way from the training length. */
function drawTests(pen, { measure }, all, box) {
  const tests = Object.fromEntries(all.names.map((name) => [name, all.tests(name)]));
  const values = all.names.flatMap((name) => tests[name].flat());
  const { place, ends, ticks, format } = scale(measure, values);
  const X = (v) => box.x + (box.w * (place(v) - ends[0])) / (ends[1] - ends[0]);
  const title = all.times === 1 ? phrase`New texts, same length` : phrase`${all.times}× as long, new places`;
  const unit = measure === "accuracy" ? phrase`right (%)` : phrase`loss`;
  pen.text(box.x + box.w, box.y - 9, phrase`${title}: ${unit}`, { anchor: "end" });
  const across = (t) => box.x + (box.w * (t - ends[0])) / (ends[1] - ends[0]);
  for (const t of roomy(ticks, across, format)) {
    const x = across(t);
    pen.line(x, box.y, x, box.y + box.h, { stroke: ink.grid, width: 1 });
    pen.text(x, box.y + box.h + 17, format(t).replace("-", "−"), noteMiddle);
  }
  all.names.forEach((name, row) => {
    const rank = RANKS[all.chosen.indexOf(name)];
    const y = box.y + ROW * (row + 0.5);
    const [fill, opacity] = rank ? [rank.stroke, 1] : [ink.muted, 0.6];
    const style = rank ? { fill: rank.words, weight: 600, size: 13 } : note;
    pen.text(box.x - 8, y + 4, phraseOf(GRID.names[name]), { anchor: "end", ...style });
    const middle = (k) => span(tests[name].map((values) => values[k]))[1];
    const [before, now] = [X(middle(0)), X(middle(all.place))];
    pen.line(before, y, now, y, { stroke: fill, width: 1, opacity: 0.6 });
    pen.line(now, y - 9, now, y + 9, { stroke: fill, width: 1.5, opacity });
    const lanes = Math.max(1, tests[name].length - 1);
    tests[name].forEach((values, seed) => {
      const lane = y + LANES * (seed / lanes - 0.5);
      mark(pen, X(values[all.place]), lane, rank?.mark, fill, rank ? 0.9 : 0.55);
    });
  });
}

function draw(pen, state, { width }) {
  const all = measured(state);
  const { left, right } = places(width, all);
  drawLegend(pen, all.chosen, width);
  drawCurves(pen, state, all, left);
  drawTests(pen, state, all, right);
}

/** The seeds' median at the tests, and their span. */
function told(measure, name, values) {
  const [low, middle, high] = span(values);
  const say = measure === "loss" ? (v) => String(Number(v.toPrecision(2))) : (v) => fmt(100 * v, 0);
  return phrase`${phraseOf(GRID.names[name])} ${say(middle)} (${say(low)} to ${say(high)})`;
}

/** When the median of each first had the task's level. */
function speed({ against }, { chosen, curves, cost, level }) {
  const times = chosen.map((name) => {
    const reached = spans(curves(name)).findIndex(([, share]) => share >= level);
    const called = phraseOf(GRID.names[name]);
    if (reached < 0) return phrase`${called} never`;
    const at = cost(name)[reached];
    return against === "steps" ? phrase`${called} by step ${grouped(at)}` : phrase`${called} within ${fmt(at, 1)} s`;
  });
  return phrase`The median run has ${fmt(100 * level, 0)} % right: ${listed(times)}. `;
}

function readout(state) {
  const { measure } = state;
  const all = measured(state);
  const results = (name) => all.tests(name).map((values) => values[all.place]);
  const tests = all.chosen.map((name) => told(measure, name, results(name)));
  const length = `${all.lengths[all.place]} ${phraseOf(all.unit)}`;
  const texts =
    all.times === 1
      ? phrase`of the same length (${length})`
      : phrase`${all.times}× as long, at the places beyond training (${length})`;
  const what = measure === "loss" ? phrase`the loss is` : phrase`these are right, in %`;
  const seeds = all.curves(all.names[0]).length;
  const ask = state.doublings ? "" : phrase`Which of these will hold on texts 4× as long? Guess, then slide. `;
  const first = `${ask}${measure === "loss" ? "" : speed(state, all)}`;
  return phrase`${first}On new texts ${texts}, ${what}: ${listed(tests)}; median and span of ${seeds} seeds.`;
}

export default live({
  name: "TrainingCurves",
  title: phrase`Learning curves of tiny models with each encoding, and their tests on longer texts`,
  height,
  draw,
  readout,
  panel(width, /** @type {any} */ state) {
    const all = measured(state);
    return stacked(width) ? [places(width, all).right.y - 30, places(width, all).height] : [0, height(width, state)];
  },
});
