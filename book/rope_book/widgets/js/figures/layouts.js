import { LAYOUTS } from "../data/layouts.js";
import { axes } from "../lib/axes.js";
import { ink, noteMiddle } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { onSpeed, speedShade } from "../lib/marks.js";
import { fmt, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { halfEllipse } from "../lib/shapes.js";
import { dot } from "../maths/dot_product.js";
import { invFreq, ropeAngles } from "../maths/frequencies.js";
import { layoutPermutation, pairFeatures, pairOf } from "../maths/layouts.js";
import { applyRope } from "../maths/rotary.js";

const DISTANCE = LAYOUTS.distance; // tokens from the key to the query
const REACH = 2.1; // magnitude drawn at full height
const speedOf = (pair, pairs) => pair / (pairs - 1); // from 0 for the fastest pair to 1 for the slowest

/** For a head of width d, functions that return the rotated query and key and their score in each run, and the
 * score curves. */
function head(d) {
  const frequencies = invFreq(d, LAYOUTS.base);
  const order = layoutPermutation(d);
  const rows = (way, m) =>
    [LAYOUTS.query, LAYOUTS.key].map((vector, i) => {
      const x = range(0, d - 1).map((seat) => vector[way === "converted" ? order[seat] : seat]);
      return applyRope(x, ropeAngles(m - i * DISTANCE, frequencies), LAYOUTS.runs[way][i]);
    });
  const score = (way, m) => {
    const [query, key] = rows(way, m);
    return dot(query, key);
  };
  const curve = (way) => range(DISTANCE, 64, 0.25).map((m) => [m, score(way, m)]);
  const curves = { converted: curve("converted"), unconverted: curve("unconverted"), mixed: curve("mixed") };
  const scores = Object.values(curves).flatMap((points) => points.map(([, s]) => Math.abs(s)));
  return { frequencies, order, rows, score, curves, most: Math.ceil(Math.max(...scores)) };
}
const heads = Object.fromEntries([4, 8, 12, 16].map((d) => [d, head(d)]));

/** The features of the selected pair in training, the features that the lower row rotates together, and the trained
 * feature in each seat of the lower row. */
function seatsOf({ head_dim, pair, run }) {
  const pairOfLayout = (layout) => pairFeatures(pair, head_dim / 2, layout);
  const from = run === "converted" ? heads[head_dim].order : range(0, head_dim - 1);
  return { trained: pairOfLayout("interleaved"), joined: pairOfLayout("half_split"), from };
}

const [BAR, TAB, GAP] = [36, 22, 40];
/** Vertical positions of a row's numbers, bars, tabs and top edge, in pixels. */
const UPPER = { number: 59, bars: 64, tab: 64 + BAR, top: 64 };
const LOWER_TOP = UPPER.tab + TAB + GAP;
const LOWER = { number: LOWER_TOP + TAB + BAR + 14, bars: LOWER_TOP + TAB, tab: LOWER_TOP, top: LOWER_TOP };
const BOTTOM = LOWER.number + 4;
const LOWER_TITLE = {
  converted: phrase`q, converted`,
  unconverted: phrase`q, not converted`,
  mixed: phrase`k, not converted`,
};

/** Draw a row of seats, each with a bar for the rotated value, the feature's number, and a tab with the number of
 * the pair that the feature was trained in. */
function drawRow(pen, values, feature, lit, { x, cell }, { number, bars, tab, top }) {
  const inner = cell - 3;
  const zero = bars + BAR / 2;
  const pairs = values.length / 2;
  const seats = values.map((value, seat) => {
    const home = pairOf(feature[seat]); // the pair of the feature in training
    return { seat, home, speed: speedOf(home, pairs), left: x + seat * cell + 1.5, tall: (value / REACH) * (BAR / 2) };
  });
  const frames = seats.map(({ left }) => [left, bars, inner, BAR]);
  pen.rects(frames, { stroke: ink.grid, width: 1 });
  for (const pair of range(0, pairs - 1)) {
    const both = seats.filter(({ home }) => home === pair);
    const bar = ({ left, tall }) => [left + inner * 0.22, zero, inner * 0.56, -tall];
    const tabs = both.map(({ left }) => [left, tab, inner, TAB]);
    pen.rects([...both.map(bar), ...tabs], { fill: speedShade(speedOf(pair, pairs)), stroke: ink.muted, width: 0.7 });
  }
  const zeros = seats.map(({ left }) => [left, zero, left + inner, zero]);
  pen.lines(zeros, { stroke: ink.muted, width: 1 });
  for (const { seat, home, speed, left } of seats) {
    const middle = left + inner / 2;
    pen.text(middle, tab + 16, home, { anchor: "middle", weight: 600, fill: onSpeed(speed) });
    const chosen = lit.includes(seat);
    // in narrow cells, write every other number, and none next to a selected feature
    const crowded = cell < 20 && !chosen && (seat % 2 === 1 || lit.some((other) => Math.abs(other - seat) === 1));
    const style = chosen ? { fill: ink.text, weight: 700 } : {};
    pen.text(middle, number, crowded ? "" : seat, { ...noteMiddle, ...style });
  }
  for (const seat of lit) {
    pen.rect(x + seat * cell, top, cell, BAR + TAB, { stroke: ink.text, width: 2, radius: 2 });
  }
}

/** Draw a line from each lower seat to the upper seat of the same feature, with the selected pair's lines on top. */
function drawLinks(pen, from, trained, centre) {
  const isChosen = (seat) => trained.includes(from[seat]);
  const seats = range(0, from.length - 1);
  for (const seat of [...seats.filter((s) => !isChosen(s)), ...seats.filter(isChosen)]) {
    const width = isChosen(seat) ? 5 : 2;
    const ends = [centre(from[seat]), UPPER.tab + TAB, centre(seat), LOWER.top];
    pen.line(...ends, { stroke: ink.muted, width: width + 1.2 }); // dark outline for light colours
    pen.line(...ends, { stroke: speedShade(speedOf(pairOf(from[seat]), from.length / 2)), width });
  }
}

/** Draw an arc between each pair of features that are rotated together, dashed if they were not paired in training. */
function drawArcs(pen, { pair, run, head_dim }, cell, centre) {
  const pairs = head_dim / 2;
  const arc = (layout, y, tall) => (i) => {
    const [a, b] = pairFeatures(i, pairs, layout);
    return halfEllipse(centre(a), centre(b), y, tall);
  };
  const above = arc("interleaved", UPPER.top - 18, Math.min(18, cell * 0.7));
  const below = arc("half_split", BOTTOM + 2, -30);
  const dash = run === "converted" ? undefined : "5 4";
  const others = range(0, pairs - 1).filter((i) => i !== pair);
  const faint = { stroke: ink.muted, width: 1.2, opacity: 0.75 };
  pen.curves(others.map(above), faint);
  pen.curves(others.map(below), { ...faint, dash });
  pen.curve(above(pair), { stroke: ink.text, width: 3 });
  pen.curve(below(pair), { stroke: ink.text, width: 3, dash });
}

/** Plot the score against the query's position, at a fixed distance. */
function drawScore(pen, { head_dim, position, run }, box) {
  const { score, curves, most } = heads[head_dim];
  const [wanted, now] = [score("trained", DISTANCE), score(run, position)];
  const known = { stroke: ink.text, width: 1.5, dash: "4 4" };
  pen.text(6, box.y - 30, phrase`Score with a key 4 tokens back`, { weight: 600 });
  pen.line(box.x, box.y - 12, box.x + 22, box.y - 12, { stroke: ink.score, width: 3 });
  pen.text(box.x + 28, box.y - 8, phrase`as run`);
  pen.line(box.x + 84, box.y - 12, box.x + 110, box.y - 12, known);
  pen.text(box.x + 116, box.y - 8, phrase`as trained`);
  const { X, Y } = axes(pen, box, [DISTANCE, 64], [-most, most], {
    xLabel: phrase`position of q, m (tokens)`,
    xTicks: [4, 16, 32, 48, 64],
    yTicks: [-most, 0, most],
  });
  const path = curves[run].map(([m, s]) => [X(m), Y(s)]);
  pen.curve(path, { stroke: ink.score, width: run === "mixed" ? 2 : 3.5 });
  pen.line(X(DISTANCE), Y(wanted), X(64), Y(wanted), known);
  pen.line(X(position), Y(-most), X(position), Y(now), { stroke: ink.position, width: 1.5, dash: "3 3" });
  pen.circle(X(position), Y(now), 6.5, { fill: ink.score, stroke: ink.text, width: 1.5 });
}

function draw(pen, state, { width }) {
  const { head_dim, position, run } = state;
  const { trained, joined, from } = seatsOf(state);
  const { rows } = heads[head_dim];
  const seats = { x: 6, cell: (width - 12) / head_dim };
  const centre = (seat) => seats.x + (seat + 0.5) * seats.cell;
  pen.text(6, 14, phrase`As trained: q, interleaved`, { weight: 600 });
  pen.text(6, BOTTOM + 50, phrase`${LOWER_TITLE[run]}: turned half_split`, { weight: 600 });
  drawLinks(pen, from, trained, centre);
  drawRow(pen, rows("trained", position)[0], range(0, head_dim - 1), trained, seats, UPPER);
  drawRow(pen, rows(run, position)[run === "mixed" ? 1 : 0], from, joined, seats, LOWER);
  drawArcs(pen, state, seats.cell, centre);
  drawScore(pen, state, { x: 30, y: BOTTOM + 104, w: width - 44, h: 78 });
}

function readout(state) {
  const { head_dim, run, position, pair: i } = state;
  const { trained, joined, from } = seatsOf(state);
  const { frequencies, rows, score, curves } = heads[head_dim];
  const [[a, b], [e, f]] = [trained, joined];
  const now = fmt(score(run, position), 3);
  const home = (seat) => pairOf(from[seat]);
  const strangers = phrase`Pair ${i} is features ${a} and ${b} on top. Below, features ${e} and ${f} are turned together, which come
    from pairs ${home(e)} and ${home(f)}.`;
  if (run === "converted") {
    const angle = `${fmt(position * frequencies[i])} rad`;
    const [upper] = rows("trained", position);
    return phrase`Pair ${i} is features ${a} and ${b} on top, ${e} and ${f} below: turned by ${angle}, both are (${fmt(upper[a])},
      ${fmt(upper[b])}). Score at distance 4: ${now}, wherever q is.`;
  }
  const wanted = fmt(score("trained", DISTANCE), 3);
  if (run === "unconverted") {
    return phrase`${strangers} Score at distance 4: ${now} wherever q is. Constant, and wrong: the model was trained for
      ${wanted}.`;
  }
  const whole = curves[run].filter(([m]) => Number.isInteger(m)).map(([, s]) => s);
  const [low, high] = [Math.min(...whole), Math.max(...whole)].map((s) => fmt(s, 1));
  return phrase`${strangers} Mixed: the score at distance 4 is ${now} here and runs from ${low} to ${high};
    trained: ${wanted}.`;
}

const results = ({ run, head_dim, position }) => ({
  score: heads[head_dim].score(run, position),
  trained: heads[head_dim].score("trained", DISTANCE),
});

export default live({
  name: "Layouts",
  title: phrase`One head of a query in two layouts, its pairs turned, and the score they give`,
  height: () => BOTTOM + 220,
  draw,
  readout,
  results,
  play: { trait: "position", perSecond: 6, speeds: [1, 4] },
});
