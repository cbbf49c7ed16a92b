import { axes } from "../lib/axes.js";
import { ink, note } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { Labels, spotsAround } from "../lib/labels.js";
import { fmt, range, ticks } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { makePlane, nameTips, pairHandle, WORDS } from "../lib/plane.js";
import { pointsAround } from "../lib/shapes.js";
import { listed, textWidth } from "../lib/words.js";
import { angleOf, length, timesConj } from "../maths/complex.js";
import { breaks, encoder, followedAngles, HOLDS, LAST, PLACES, slide, stepsOf, turnsOf } from "../maths/derivation.js";

const RINGED = 14; // radius of a handle ring plus a margin, in pixels
const FORMULA = {
  turn: "f(q, m) = q e^(imθ)",
  head_start: "f(q, m) = q e^(i(mθ + 0.5))",
  grow: "f(q, m) = q (1 + 0.08 m) e^(imθ)",
  content: "f(q, m) = q e^(imθ|q|)",
  square: "f(q, m) = q e^(im²θ/8)",
  add: "f(q, m) = q + 0.7 (e^(imθ) − 1)",
  mirror: phrase`f(q, m) = q, or conj(q) at odd m`,
};

/** The state in the derivation's notation, the product f(q, m) · conj f(k, n), and the products at every pair of
 * positions with the same distance, where n starts at `first`. */
function seenOf({ candidate, inv_freq, q, k, position: m, key_position: n }) {
  const f = encoder(candidate, inv_freq);
  return { f, q, k, m, n, product: timesConj(f(q, m), f(k, n)), ...slide(f, q, k, m - n) };
}

/** By how much each line of the derivation is violated, or 0 where it holds. */
const breaksOf = ({ f, q, k }) => breaks(f, q, k).map((amount) => (amount > HOLDS ? amount : 0));

const BLUE = { stroke: ink.q, words: ink.qWords };
const RED = { stroke: ink.k, words: ink.kWords };
const GIVEN = { width: 1.5, dash: "5 4" };

/** Arrows for the two given pairs, q and k. */
const given = ({ q, k }) => [
  { z: q, ...BLUE, name: "q", ...GIVEN },
  { z: k, ...RED, name: "k", ...GIVEN },
];
const ofQuery = (z) => ({ z, ...BLUE, name: "f(q, m)", width: 3.5 });
const ofKey = (z, place) => ({ z, ...RED, name: `f(k, ${place})`, width: 3.5 });
/** Arrows for both pairs, encoded at position m. */
const atEqual = ({ f, q, k, m }) => [ofQuery(f(q, m)), ofKey(f(k, m), "m")];
const fan = ({ f }, z, stroke) => PLACES.map((p) => ({ z: f(z, p), stroke, width: 1.3, opacity: 0.55, head: 6 }));

/** Line 1: each pair, both as real and imaginary parts and as a length and an angle. */
function sceneOfStart(seen) {
  const { f, q, k } = seen;
  const parts = (z, stroke) => [
    { from: [0, 0], to: [z[0], 0], stroke, width: 5, opacity: 0.45 },
    { from: [z[0], 0], to: z, stroke, width: 1.5, dash: "2 3" },
  ];
  return {
    segments: [...parts(q, ink.q), ...parts(k, ink.k)],
    arcs: [
      { r: 0.42, from: 0, to: angleOf(q), stroke: ink.q },
      { r: 0.28, from: 0, to: angleOf(k), stroke: ink.k },
    ],
    arrows: [...given(seen), { z: f(q, 0), ...BLUE, width: 3.5 }, { z: f(k, 0), ...RED, width: 3.5 }],
  };
}

/** Line 2: the product at the current positions, and at all other positions with the same distance. */
function sceneOfProduct(seen, opacity = 1) {
  const { f, q, k, m, n, product, products } = seen;
  const kn = f(k, n);
  const [start, difference] = [angleOf(kn), angleOf(product)];
  return {
    arcs: [
      { r: 0.3, from: 0, to: difference, stroke: ink.position },
      { r: 0.38, from: start, to: start + difference, stroke: ink.position },
    ],
    dots: [{ places: products, fill: ink.score, r: 4.5 }],
    arrows: [
      ...given(seen),
      { ...ofQuery(f(q, m)), width: 2.5, opacity },
      { ...ofKey(kn, "n"), width: 2.5, opacity },
      { z: product, stroke: ink.score, words: ink.scoreWords, name: phrase`product`, width: 3.5 },
    ],
  };
}

/** Line 3: the circle that each pair stays on if its length is constant. */
function sceneOfLengths(seen) {
  const { f, q, k } = seen;
  const trail = (z, fill) => ({ places: PLACES.map((p) => f(z, p)), fill, r: 3.5, opacity: 0.7 });
  return {
    circles: [
      { r: length(q), stroke: ink.q, width: 1.2, dash: "5 4" },
      { r: length(k), stroke: ink.k, width: 1.2, dash: "5 4" },
    ],
    dots: [trail(q, ink.q), trail(k, ink.k)],
    arrows: [...given(seen), ...atEqual(seen)],
  };
}

/** Line 4: how far both pairs have turned at the same position. */
function sceneOfTurns(seen) {
  const { f, q, k, m } = seen;
  const arc = (z, stroke, r) => ({ r, from: angleOf(z), to: angleOf(z) + turnsOf(f, z)[m], stroke });
  return {
    arcs: [arc(q, ink.q, 0.42), arc(k, ink.k, 0.28)],
    arrows: [...fan(seen, q, ink.q), ...fan(seen, k, ink.k), ...given(seen), ...atEqual(seen)],
  };
}

/** Line 5: the steps from each position to the next. */
function sceneOfSteps(seen) {
  const { f, q, m } = seen;
  const turns = turnsOf(f, q).map((turn) => angleOf(q) + turn);
  const arc = (p) => ({ r: p % 2 ? 0.42 : 0.37, from: turns[p - 1], to: turns[p], stroke: ink.position });
  return { arcs: PLACES.slice(1).map(arc), arrows: [...fan(seen, q, ink.q), given(seen)[0], ofQuery(f(q, m))] };
}

/** Line 6: the product's real part. */
function sceneOfScore(seen) {
  const { product, products } = seen;
  const { arcs, ...scene } = sceneOfProduct(seen, 0.55);
  const [score] = product;
  return {
    ...scene,
    arcs: arcs.slice(0, 1),
    segments: [
      ...products.map((z) => ({ from: z, to: [z[0], 0], stroke: ink.score, width: 1 })),
      { from: [0, 0], to: [score, 0], stroke: ink.score, width: 7 },
      { from: product, to: [score, 0], stroke: ink.score, width: 1.5, dash: "3 3" },
    ],
  };
}

/** Draw a scene in the plane, with axes that end at the next round number beyond the farthest tip. */
function drawPlane(pen, { segments = [], arcs = [], circles = [], dots = [], arrows }, square) {
  const tips = [...arrows.map(({ z }) => z), ...dots.flatMap(({ places }) => places)];
  const reach = 1.18 * Math.max(...tips.map(length), ...circles.map(({ r }) => r), 1);
  const round = [1.4, 1.7, 2, 2.4, 2.9, 3.5, 4.2, 5, 6, 7.2, 8.6, 10.4, 12.5].find((span) => span >= reach);
  const plane = makePlane(pen, square, round ?? reach, [1]);
  const { cx, cy, unit, at } = plane;
  nameAxes(pen, plane, square);
  for (const { r, ...style } of circles) pen.circle(cx, cy, r * unit, style);
  for (const { from, to, ...style } of segments) pen.line(...at(from), ...at(to), style);
  for (const { r, from, to, stroke } of arcs) pen.arc(cx, cy, (r * square.side) / 2, from, to, { stroke, width: 2 });
  for (const { z, stroke, width, dash, opacity, head = 10 } of arrows)
    pen.arrow(cx, cy, ...at(z), { stroke, width, dash, opacity, head });
  for (const { places, r, ...style } of dots) {
    const spots = places.map((z) => [...at(z), r]);
    pen.circles(spots, style);
  }
  const named = arrows.filter(({ name }) => name).reverse(); // place the name of the last arrow first
  const label = ({ z, name, words, dash }) => ({ z, name, fill: words, bold: name.length > 1, r: dash ? RINGED : 8 });
  nameTips(pen, plane, named.map(label));
  return plane;
}

/** Write the axes' names, and label 1 and i. */
function nameAxes(pen, { cx, cy, unit, labels }, { x, y, side }) {
  const name = (left, baseline, words) => {
    pen.text(left, baseline, words, note);
    labels.avoid(left - 4, baseline - 11, left + textWidth(words, 12) + 4, baseline + 4, WORDS);
  };
  name(cx + unit + 3, cy + 14, "1");
  name(cx + 4, cy - unit - 4, "i");
  const real = phrase`real`;
  name(x + side - 2 - textWidth(real, 12), cy + 14, real);
  name(cx + 5, y + 11, phrase`imaginary`);
}

/** Draw the axes of a chart over positions, with a vertical range that fits the values. Returns functions that draw
 * in the chart. */
function makeChart(pen, box, values, xLabel, yLabel) {
  const [low, top] = [Math.min(0, ...values), Math.max(0, ...values)];
  const marks = ticks(low, Math.max(top, low + 1), 4);
  const gap = marks.length > 1 ? marks[1] - marks[0] : 1;
  const [bottom, high] = [Math.floor(low / gap + 1e-6) * gap, Math.max(Math.ceil(top / gap - 1e-6), 1) * gap];
  const yTicks = ticks(bottom, high, 4);
  const options = { xLabel, yLabel, xTicks: range(0, LAST, 2), yTicks };
  const { X, Y, level, upright } = axes(pen, box, [0, LAST], [bottom, high], options);
  return {
    ...{ X, Y, upright, yTicks },
    /**
     * Draw the values as dots joined by a line, starting at position `from`, and return the dots.
     * @param {{dash?: string, r?: number, from?: number}} [style]
     */
    dotted(list, fill, style = {}) {
      const { dash, r = 3, from = 0 } = style;
      const dots = list.map((value, i) => [X(from + i), Y(value), r]);
      pen.curve(dots, { stroke: fill, width: 1.8, dash });
      pen.circles(dots, { fill });
      return dots;
    },
    /** Draw a dashed line at the value that all points should share. */
    reference: (value) => level(value, { stroke: ink.muted, width: 1.5, dash: "6 4" }),
    mark: (place, value, fill) => pen.circle(X(place), Y(value), 6, { fill, stroke: ink.text, width: 1.5 }),
  };
}

function panelOfProduct(pen, { n, first: from, products }, box) {
  const [lengths, angles] = [products.map(length), followedAngles(products)];
  const label = phrase`Product: length, angle (rad)`;
  const chart = makeChart(pen, box, [...lengths, ...angles], phrase`n, with m − n kept (tokens)`, label);
  const curves = [
    { words: phrase`length`, dots: chart.dotted(lengths, ink.score, { from }), fill: ink.scoreWords },
    { words: phrase`angle`, dots: chart.dotted(angles, ink.position, { from, dash: "5 3" }), fill: ink.positionWords },
  ];
  chart.mark(n, lengths[n - from], ink.score);
  chart.mark(n, angles[n - from], ink.position);
  nameCurves(pen, curves, chart.yTicks.map(chart.Y), box);
}

/** Write a name beside each curve, clear of the dots and, where possible, of the grid lines. */
function nameCurves(pen, curves, grid, box) {
  const labels = new Labels(box);
  for (const dot of curves.flatMap(({ dots }) => dots)) labels.avoidDot(dot, 6);
  for (const y of grid) labels.avoid(box.x, y - 1, box.x + box.w, y + 1);
  for (const { words, dots, fill } of curves) {
    const width = textWidth(words, 12, true);
    const spots = [...dots].reverse().flatMap((dot) => spotsAround(dot, width));
    const { left, baseline } = labels.place(width, spots);
    pen.text(left, baseline, words, { size: 12, weight: 600, fill });
  }
}

/** Plot values that should all equal `wanted`, starting at position `from`, and mark the current position. */
function drawSteady(pen, box, { values, wanted, current, from = 0, stroke = ink.score }, xLabel, yLabel) {
  const chart = makeChart(pen, box, [...values, wanted], xLabel, yLabel);
  chart.reference(wanted);
  chart.dotted(values, stroke, { from });
  chart.mark(current, values[current - from], stroke);
}

function panelOfLengths(pen, { f, q, k, m }, box) {
  const values = PLACES.map((p) => length(f(q, p)) * length(f(k, p)));
  const lengths = { values, wanted: length(q) * length(k), current: m, stroke: ink.text };
  drawSteady(pen, box, lengths, phrase`position m of both (tokens)`, phrase`Length times length`);
}

function panelOfTurns(pen, { f, q, k, m }, box) {
  const [qTurns, kTurns] = [turnsOf(f, q), turnsOf(f, k)];
  const label = phrase`Turned so far, φ(m) (rad)`;
  const chart = makeChart(pen, box, [...qTurns, ...kTurns], phrase`position m of both (tokens)`, label);
  chart.upright(m, { stroke: ink.position, width: 1.5, dash: "3 3" });
  chart.dotted(qTurns, ink.q, { r: 5.5 });
  chart.dotted(kTurns, ink.k, { dash: "5 5", r: 2.8 });
}

function panelOfSteps(pen, { f, q }, box) {
  const steps = stepsOf(f, q);
  const { X, Y, reference } = makeChart(pen, box, steps, phrase`from m to m + 1 (tokens)`, phrase`Step of q (rad)`);
  const wide = (X(1) - X(0)) * 0.6;
  const bar = (step, p) => [X(p + 0.5) - wide / 2, Y(0), wide, Y(step) - Y(0)];
  pen.rects(steps.map(bar), { fill: ink.position });
  reference(steps[0]);
}

function panelOfScore(pen, { m, n, first, product, products }, box) {
  const scores = { values: products.map(([re]) => re), wanted: product[0], current: n, from: first };
  drawSteady(pen, box, scores, phrase`n, with m − n kept (tokens)`, phrase`Score at distance ${fmt(m - n, 0)}`);
}

const complex = ([a, b]) => `${fmt(a)} ${b < -0.005 ? "−" : "+"} ${fmt(Math.abs(b))} i`;

/** Write out line 1 in numbers: each pair as a sum, in polar form, and after encoding at position 0. */
function drawNumbers(pen, { f, q, k }, { x, y }) {
  /** @type {[string, Pair, string][]} */
  const pairs = [
    ["q", q, ink.qWords],
    ["k", k, ink.kWords],
  ];
  for (const [i, [name, z, fill]] of pairs.entries()) {
    const top = y - 8 + 98 * i;
    pen.text(x - 20, top, `${name} = ${complex(z)}`, { fill, weight: 600, size: 14 });
    pen.text(x - 20, top + 21, phrase`length |${name}| = ${fmt(length(z))}`, { fill });
    pen.text(x - 20, top + 40, phrase`angle ${fmt(angleOf(z))} rad`, { fill });
    pen.text(x - 20, top + 61, `f(${name}, 0) = ${complex(f(z, 0))}`);
  }
}

/** @type {((seen: any) => any)[]} */
const SCENES = [sceneOfStart, sceneOfProduct, sceneOfLengths, sceneOfTurns, sceneOfSteps, sceneOfScore];
const PANELS = [drawNumbers, panelOfProduct, panelOfLengths, panelOfTurns, panelOfSteps, panelOfScore];
const TITLES = [
  [phrase`Line 1: position 0 changes nothing,`, "f(q, 0) = q"],
  [phrase`Line 2: f(q, m) · conj f(k, n)`, phrase`sees the distance m − n only`],
  [phrase`Line 3: at equal positions,`, "|f(q, m)| · |f(k, m)| = |q| · |k|"],
  [phrase`Line 4: at equal positions,`, phrase`q and k have turned alike, by φ(m)`],
  [phrase`Line 5: between neighbours,`, phrase`all steps φ(m+1) − φ(m) are equal`],
  [phrase`Line 6: the score is the real part;`, phrase`it sees the distance m − n only`],
];

/** Lay out the chart beside the plane, or below it. */
function plan(width) {
  if (width < 520)
    return {
      narrow: true,
      plane: { x: 4, y: 102, side: width - 8 },
      chart: { x: 34, y: width + 130, w: width - 52, h: 150 },
      height: width + 340,
      lead: width + 100,
    };
  const side = Math.min(364, width * 0.66 - 80);
  const chart = { x: side + 52, y: 122, w: width - side - 72, h: 200 };
  return { narrow: false, plane: { x: 4, y: 72, side }, chart, height: Math.max(side + 82, 366), lead: side + 82 };
}

/** Draw the selected line, f, and the marks for all lines. */
function drawHead(pen, { line, candidate }, amounts, width, narrow) {
  const size = width < 300 ? 12 : narrow ? 13 : 14;
  const title = narrow ? TITLES[line - 1] : [TITLES[line - 1].join(" ")];
  for (const [i, words] of title.entries()) pen.text(4, (narrow ? 16 : 18) + 18 * i, words, { weight: 600, size });
  pen.text(...(narrow ? [4, 56] : [Math.min(316, width - 220), 51]), FORMULA[candidate], { fill: ink.muted });
  return drawMarks(pen, line, amounts, { x: 2, y: narrow ? 68 : 34, step: Math.min(50, (width - 4) / 6) });
}

/** Draw six marks that show which lines hold for this f, frame the selected line's, and return the tap targets. */
function drawMarks(pen, line, amounts, { x, y, step }) {
  for (const [i, fails] of amounts.entries()) {
    const left = x + i * step;
    const chosen = line === i + 1;
    const frame = { stroke: chosen ? ink.text : ink.muted, width: chosen ? 2.5 : 1, radius: 5 };
    if (chosen) pen.rect(left + 6, y + 28, step - 14, 3.5, { fill: ink.text });
    pen.rect(left + 2, y, step - 6, 24, { ...frame, fill: fails ? ink.text : "none" });
    const pencil = { stroke: fails ? ink.paper : ink.text, width: 2 };
    pen.text(left + step / 2 - 12, y + 17, i + 1, { fill: pencil.stroke, weight: chosen ? 700 : 400 });
    /** @type {(...steps: Pair[]) => Pair[]} */
    const stroke = (...steps) => pointsAround([left + step / 2 + 5, y + 12], ...steps);
    const cross = [stroke([-4, -4], [4, 4]), stroke([-4, 4], [4, -4])];
    pen.curves(fails ? cross : [stroke([-5, 0], [-1, 4], [6, -5])], pencil);
  }
  const tap = (i) => ({ x: x + i * step + 2, y, w: step - 6, h: 24, set: { line: i + 1 } });
  return Object.fromEntries(amounts.map((_, i) => [`line ${i + 1}`, tap(i)]));
}

function draw(pen, state, { width }) {
  const { narrow, ...places } = plan(width);
  const seen = seenOf(state);
  const taps = drawHead(pen, state, breaksOf(seen), width, narrow);
  const plane = drawPlane(pen, SCENES[state.line - 1](seen), places.plane);
  PANELS[state.line - 1](pen, seen, places.chart);
  const keys = state.line === 5 ? {} : { k: pairHandle(plane, state.k) };
  return { q: pairHandle(plane, state.q), ...keys, taps };
}

const SAYS = [
  ({ f, q }) =>
    phrase`q = ${complex(q)} has length ${fmt(length(q))} and angle ${fmt(angleOf(q))} rad; at position 0 it becomes
      ${complex(f(q, 0))}.`,
  ({ m, n, product }) =>
    phrase`At m = ${m} and n = ${n} the product has length ${fmt(length(product))} and angle ${fmt(angleOf(product))} rad;
      the dots are all places with that distance.`,
  ({ f, q, k, m }) =>
    phrase`At m = n = ${m} the lengths are ${fmt(length(f(q, m)))} and ${fmt(length(f(k, m)))}; |q| · |k| =
      ${fmt(length(q) * length(k))}.`,
  ({ f, q, k, m }) =>
    phrase`At m = n = ${m}, q has turned by ${fmt(turnsOf(f, q)[m])} rad and k by ${fmt(turnsOf(f, k)[m])} rad.`,
  ({ f, q }) =>
    phrase`The first step of q is ${fmt(stepsOf(f, q)[0])} rad, the last ${fmt(stepsOf(f, q)[LAST - 1])} rad.`,
  ({ m, n, product }) => phrase`At m = ${m} and n = ${n}, ${fmt(m - n, 0)} apart, the score is ${fmt(product[0], 3)}.`,
];

function readout(state) {
  const { line } = state;
  const seen = seenOf(state);
  const amounts = breaksOf(seen);
  const amount = amounts[line - 1];
  const unit = line === 4 || line === 5 ? " rad" : "";
  const verdict = amount
    ? phrase`Line ${line} fails, off by up to ${fmt(amount)}${unit}.`
    : phrase`Line ${line} holds.`;
  const broken = amounts.flatMap((excess, i) => (excess ? [i + 1] : []));
  const some =
    broken.length > 1
      ? phrase`This f breaks lines ${listed(broken)} (positions 0 to 8).`
      : phrase`This f breaks line ${listed(broken)} (positions 0 to 8).`;
  const all = broken.length ? some : phrase`This f keeps all six lines (positions 0 to 8).`;
  return `${SAYS[line - 1](seen)} ${verdict} ${all}`;
}

/** The controls' values after the button is pressed: both positions advance by one, or move back to the start, at
 * the same distance, when either would pass the end. */
function slideBoth({ position, key_position }) {
  const by = Math.max(position, key_position) < LAST ? 1 : -Math.min(position, key_position);
  return { position: position + by, key_position: key_position + by };
}

const results = (state) => ({ excess: breaksOf(seenOf(state))[state.line - 1] });

export default live({
  name: "ComplexPlane",
  title: phrase`The complex plane, following the derivation of the rotation line by line`,
  height: (width) => plan(width).height,
  lines: 2,
  draw,
  readout,
  results,
  panel: (width) => [0, plan(width).lead],
  buttons: [
    { label: phrase`Next line`, move: ({ line }) => ({ line: (line % 6) + 1 }) },
    { label: phrase`Slide both`, move: slideBoth },
  ],
});
