import { axes } from "../lib/axes.js";
import { ink } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { onSpeed, speedShade } from "../lib/marks.js";
import { fmt, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { halfEllipse } from "../lib/shapes.js";
import { dot } from "../maths/dot_product.js";
import { invFreq, ropeAngles } from "../maths/frequencies.js";
import { layoutPermutation, pairFeatures, pairOf } from "../maths/layouts.js";
import { applyRope } from "../maths/rotary.js";

const DISTANCE = 4; // tokens from the key to the query
const BASE = 100;
// one head of a query and of a key, interleaved; a narrower head takes the first features
const QUERY = [-0.8, -1.3, 0.6, 0.7, -0.3, 0.4, 1.7, 1.1, 0.7, 0.7, -0.9, 1, -1.6, -0.3, -0.4, -1.7];
const KEY = [-0.1, 1.6, -0.3, -1.2, -0.1, 0.9, 0.2, 0.3, -1.4, 0.5, 0.5, 1.3, 1.5, 0.7, -1.6, -1.4];
const REACH = 2.1; // no turned feature is larger
const speedOf = (pair, pairs) => pair / (pairs - 1); // from fast to slow

/** A query and a key of width d: their rows at a position as trained and in the three ways to run them, and their scores. */
function head(d) {
  const frequencies = invFreq(d, BASE);
  const order = layoutPermutation(d);
  const reseat = (x) => order.map((feature) => x[feature]);
  const [q, k] = [QUERY.slice(0, d), KEY.slice(0, d)];
  const turn = (x, m, layout) => applyRope(x, ropeAngles(m, frequencies), layout);
  const rows = {
    trained: (m) => [turn(q, m, "interleaved"), turn(k, m - DISTANCE, "interleaved")],
    converted: (m) => [turn(reseat(q), m, "half_split"), turn(reseat(k), m - DISTANCE, "half_split")],
    unconverted: (m) => [turn(q, m, "half_split"), turn(k, m - DISTANCE, "half_split")],
    mixed: (m) => [turn(q, m, "interleaved"), turn(k, m - DISTANCE, "half_split")],
  };
  const score = (way, m) => {
    const [query, key] = rows[way](m);
    return dot(query, key);
  };
  const trained = score("trained", DISTANCE);
  const curves = {};
  for (const way of ["converted", "unconverted", "mixed"]) {
    curves[way] = range(DISTANCE, 64, 0.25).map((m) => [m, score(way, m)]);
  }
  const scores = Object.values(curves).flatMap((curve) => curve.map(([, s]) => Math.abs(s)));
  return { pairs: d / 2, frequencies, order, rows, score, trained, curves, most: Math.ceil(Math.max(...scores)) };
}
const heads = Object.fromEntries([4, 8, 12, 16].map((d) => [d, head(d)]));

/** What the picture shows now. */
function world({ head_dim, position, pair, run }) {
  const { pairs, order, rows, score, curves, ...rest } = heads[head_dim];
  const heights = curves[run].filter(([m]) => Number.isInteger(m)).map(([, s]) => s);
  return {
    ...rest,
    pairs,
    chosen: pair,
    from: run === "converted" ? order : range(0, head_dim - 1), // the trained feature in each lower seat
    upper: rows.trained(position)[0],
    lower: rows[run](position)[run === "mixed" ? 1 : 0],
    now: score(run, position),
    low: Math.min(...heights),
    high: Math.max(...heights),
    curve: curves[run],
  };
}

const BAR = 54;
const TAB = 22;
const GAP = 58;
const UPPER = 46; // top of the upper row
const LOWER = UPPER + 18 + BAR + TAB + GAP; // top of the lower row
const BOTTOM = LOWER + TAB + BAR + 18;
const LOWER_TITLE = {
  converted: phrase`q, converted`,
  unconverted: phrase`q, not converted`,
  mixed: phrase`k, not converted`,
};

const height = () => BOTTOM + 282;

/** One row of seats: a tab with the trained pair's number, a bar with the turned value, the feature's number. */
function drawRow(pen, { values, feature, pairs, lit }, x, cell, y, down) {
  const inner = cell - 3;
  const [tab, bars] = down ? [y, y + TAB] : [y + 18 + BAR, y + 18];
  const zero = bars + BAR / 2;
  const home = (seat) => pairOf(feature[seat]); // the trained pair
  const seats = values.map((value, seat) => ({ seat, left: x + seat * cell + 1.5, tall: (value / REACH) * (BAR / 2) }));
  const frames = seats.map(({ left }) => [left, bars, inner, BAR]);
  pen.rects(frames, { stroke: ink.grid, width: 1 });
  for (const pair of range(0, pairs - 1)) {
    const bar = ({ left, tall }) => [left + inner * 0.22, zero, inner * 0.56, -tall];
    const own = seats.filter(({ seat }) => home(seat) === pair);
    pen.rects([...own.map(bar), ...own.map(({ left }) => [left, tab, inner, TAB])], {
      fill: speedShade(speedOf(pair, pairs)),
      stroke: ink.muted,
      width: 0.7,
    });
  }
  const zeros = seats.map(({ left }) => [left, zero, left + inner, zero]);
  pen.lines(zeros, { stroke: ink.muted, width: 1 });
  for (const { seat, left } of seats) {
    const middle = left + inner / 2;
    const fillOn = onSpeed(speedOf(home(seat), pairs));
    pen.text(middle, tab + 16, home(seat), { anchor: "middle", size: 13, weight: 600, fill: fillOn });
    const chosen = lit.includes(seat);
    const label = down ? bars + BAR + 14 : y + 13;
    const fill = chosen ? ink.text : ink.muted;
    // in narrow cells every second number, and none beside a chosen one
    const crowded = cell < 20 && !chosen && (seat % 2 === 1 || lit.some((other) => Math.abs(other - seat) === 1));
    pen.text(middle, label, crowded ? "" : seat, { anchor: "middle", size: 12, weight: chosen ? 700 : 400, fill });
  }
  for (const seat of lit) {
    const top = down ? y : y + 18;
    pen.rect(x + seat * cell, top, cell, BAR + TAB, { stroke: ink.text, width: 2, radius: 2 });
  }
}

function draw(pen, state, { width }) {
  const { head_dim: d, run, position } = state;
  const { pairs, chosen, from, upper, lower, ...scores } = world(state);
  const x = 6;
  const cell = (width - 12) / d;
  const centre = (seat) => x + (seat + 0.5) * cell;
  const trained = pairFeatures(chosen, pairs, "interleaved");
  const joined = pairFeatures(chosen, pairs, "half_split");

  pen.text(x, 14, phrase`As trained: q, interleaved`, { weight: 600 });
  pen.text(x, BOTTOM + 62, phrase`${LOWER_TITLE[run]}: turned half_split`, { weight: 600 });

  // from each lower seat up to the feature that came from there
  const places = range(0, d - 1);
  const isChosen = (seat) => trained.includes(from[seat]);
  for (const seat of [...places.filter((s) => !isChosen(s)), ...places.filter(isChosen)]) {
    const tint = speedShade(speedOf(pairOf(from[seat]), pairs));
    const style = isChosen(seat) ? { width: 5 } : { width: 2 };
    const ends = [centre(from[seat]), UPPER + 18 + BAR + TAB, centre(seat), LOWER];
    pen.line(...ends, { stroke: ink.muted, width: style.width + 1.2 }); // an edge: one end of the ramp is dark, the other light
    pen.line(...ends, { stroke: tint, ...style });
  }
  drawRow(pen, { values: upper, feature: places, pairs, lit: trained }, x, cell, UPPER, false);
  drawRow(pen, { values: lower, feature: from, pairs, lit: joined }, x, cell, LOWER, true);

  // an arc joins the two features that are turned together; dashed where they were not trained together
  const arc = (layout, y, tall) => (i) => {
    const [a, b] = pairFeatures(i, pairs, layout);
    return halfEllipse(centre(a), centre(b), y, tall);
  };
  const [above, below] = [arc("interleaved", UPPER, Math.min(18, cell * 0.7)), arc("half_split", BOTTOM + 2, -42)];
  const dash = run === "converted" ? undefined : "5 4";
  const others = range(0, pairs - 1).filter((i) => i !== chosen);
  const faint = { stroke: ink.muted, width: 1.2, opacity: 0.75 };
  pen.curves(others.map(above), faint);
  pen.curves(others.map(below), { ...faint, dash });
  pen.curve(above(chosen), { stroke: ink.text, width: 3 });
  pen.curve(below(chosen), { stroke: ink.text, width: 3, dash });
  drawScore(pen, scores, position, run, { x: 30, y: BOTTOM + 128, w: width - 44, h: 112 });
}

/** The score against the place of the query, at one distance. */
function drawScore(pen, { now, trained, curve, most }, position, run, box) {
  pen.text(6, box.y - 30, phrase`Score with a key 4 tokens back`, { weight: 600 });
  pen.line(box.x, box.y - 12, box.x + 22, box.y - 12, { stroke: ink.score, width: 3 });
  pen.text(box.x + 28, box.y - 8, phrase`as run`);
  pen.line(box.x + 84, box.y - 12, box.x + 110, box.y - 12, { stroke: ink.text, width: 1.5, dash: "4 4" });
  pen.text(box.x + 116, box.y - 8, phrase`as trained`);
  const { X, Y } = axes(pen, box, [DISTANCE, 64], [-most, most], {
    xLabel: phrase`position of q, m (tokens)`,
    xTicks: [4, 16, 32, 48, 64],
    yTicks: [-most, 0, most],
  });
  const path = curve.map(([m, s]) => [X(m), Y(s)]);
  pen.curve(path, { stroke: ink.score, width: run === "mixed" ? 2 : 3.5 });
  pen.line(X(DISTANCE), Y(trained), X(64), Y(trained), { stroke: ink.text, width: 1.5, dash: "4 4" });
  pen.line(X(position), Y(-most), X(position), Y(now), { stroke: ink.position, width: 1.5, dash: "3 3" });
  pen.circle(X(position), Y(now), 6.5, { fill: ink.score, stroke: ink.text, width: 1.5 });
}

function readout(state) {
  const { pairs, chosen: i, frequencies, from, upper, now, trained, low, high } = world(state);
  const [a, b] = pairFeatures(i, pairs, "interleaved");
  const [e, f] = pairFeatures(i, pairs, "half_split");
  const angle = `${fmt(state.position * frequencies[i])} rad`;
  const home = (seat) => pairOf(from[seat]);
  const strangers = phrase`Pair ${i} is features ${a} and ${b} on top. Below, features ${e} and ${f} are turned together, which come
    from pairs ${home(e)} and ${home(f)}.`;
  if (state.run === "converted") {
    return phrase`Pair ${i} is features ${a} and ${b} on top, ${e} and ${f} below: turned by ${angle}, both are (${fmt(upper[a])},
      ${fmt(upper[b])}). Score at distance 4: ${fmt(now, 3)}, wherever q is.`;
  }
  if (state.run === "unconverted") {
    return phrase`${strangers} Score at distance 4: ${fmt(now, 3)} wherever q is. Constant, and wrong: the model was trained for
      ${fmt(trained, 3)}.`;
  }
  return phrase`${strangers} Mixed: the score at distance 4 is ${fmt(now, 3)} here and runs from ${fmt(low, 1)} to ${fmt(high, 1)};
    trained: ${fmt(trained, 3)}.`;
}

export default live({
  name: "Layouts",
  title: phrase`One head of a query in two layouts, its pairs turned, and the score they give`,
  height,
  draw,
  readout,
  play: { trait: "position", perSecond: 6, speeds: [1, 4] },
});
