import { axes } from "../lib/axes.js";
import { ink, note } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { Labels, spotsAround, spotsBeyond } from "../lib/labels.js";
import { fmt, range, ticks } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { crossOf, planeOf, pointsAround } from "../lib/shapes.js";
import { listed, textWidth } from "../lib/words.js";
import { angleOf, length, timesConj } from "../maths/complex.js";
import { breaks, encoder, followedAngles, HOLDS, LAST, PLACES, slide, stepsOf, turnsOf } from "../maths/derivation.js";

const RINGED = 14; // pixels: the ring of a handle and some air
const FORMULA = {
  turn: "f(q, m) = q e^(imθ)",
  head_start: "f(q, m) = q e^(i(mθ + 0.5))",
  grow: "f(q, m) = q (1 + 0.08 m) e^(imθ)",
  content: "f(q, m) = q e^(imθ|q|)",
  square: "f(q, m) = q e^(im²θ/8)",
  add: "f(q, m) = q + 0.7 (e^(imθ) − 1)",
  mirror: phrase`f(q, m) = q, or conj(q) at odd m`,
};

const functionOf = ({ candidate, inv_freq }) => encoder(candidate, inv_freq);
const slideOf = (f, { q, k, position, key_position }) => slide(f, q, k, position - key_position);
const breaksOf = (state) => breaks(functionOf(state), state.q, state.k);

// ------------------------------------------------------------------------------------ the six lines

const TITLES = [
  [phrase`Line 1: position 0 changes nothing,`, "f(q, 0) = q"],
  [phrase`Line 2: f(q, m) · conj f(k, n)`, phrase`sees the distance m − n only`],
  [phrase`Line 3: at equal positions,`, "|f(q, m)| · |f(k, m)| = |q| · |k|"],
  [phrase`Line 4: at equal positions,`, phrase`q and k have turned alike, by φ(m)`],
  [phrase`Line 5: between neighbours,`, phrase`all steps φ(m+1) − φ(m) are equal`],
  [phrase`Line 6: the score is the real part;`, phrase`it sees the distance m − n only`],
];

const BLUE = { stroke: ink.q, words: ink.qWords };
const RED = { stroke: ink.k, words: ink.kWords };
const SCORE = { stroke: ink.score, words: ink.scoreWords };

/** The pairs as they are given. */
const own = ({ q, k }) => [
  { z: q, ...BLUE, name: "q", width: 1.5, dash: "5 4" },
  { z: k, ...RED, name: "k", width: 1.5, dash: "5 4" },
];
const ofQuery = (z, width = 3.5, opacity) => ({ z, ...BLUE, name: "f(q, m)", width, opacity });
const ofKey = (z, place, width = 3.5, opacity) => ({ z, ...RED, name: `f(k, ${place})`, width, opacity });
const fan = (f, z, stroke) => PLACES.map((p) => ({ z: f(z, p), stroke, width: 1.3, opacity: 0.55, head: 6 }));

/** Line 1: sums of a real and an imaginary part, lengths and angles. */
function sceneOfStart(f, state) {
  const { q, k } = state;
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
    arrows: [...own(state), { z: f(q, 0), ...BLUE, width: 3.5 }, { z: f(k, 0), ...RED, width: 3.5 }],
  };
}

/** Line 2: the product, here and wherever else the distance is the same. */
function sceneOfProduct(f, state) {
  const [qm, kn] = [f(state.q, state.position), f(state.k, state.key_position)];
  const product = timesConj(qm, kn);
  const [start, difference] = [angleOf(kn), angleOf(product)];
  return {
    arcs: [
      { r: 0.3, from: 0, to: difference, stroke: ink.position },
      { r: 0.38, from: start, to: start + difference, stroke: ink.position },
    ],
    dots: [{ places: slideOf(f, state).products, fill: ink.score, r: 4.5 }],
    arrows: [
      ...own(state),
      ofQuery(qm, 2.5, 1),
      ofKey(kn, "n", 2.5, 1),
      { z: product, ...SCORE, name: phrase`product`, width: 3.5 },
    ],
  };
}

/** Line 3: circles that a pair stays on as long as its length is kept. */
function sceneOfLengths(f, state) {
  const { q, k, position: m } = state;
  const trail = (z, fill) => ({ places: PLACES.map((p) => f(z, p)), fill, r: 3.5, opacity: 0.7 });
  return {
    circles: [
      { r: length(q), stroke: ink.q, width: 1.2, dash: "5 4" },
      { r: length(k), stroke: ink.k, width: 1.2, dash: "5 4" },
    ],
    dots: [trail(q, ink.q), trail(k, ink.k)],
    arrows: [...own(state), ofQuery(f(q, m)), ofKey(f(k, m), "m")],
  };
}

/** Line 4: how far both have turned at the same position. */
function sceneOfTurns(f, state) {
  const { q, k, position: m } = state;
  const arc = (z, stroke, r) => ({ r, from: angleOf(z), to: angleOf(z) + turnsOf(f, z)[m], stroke });
  return {
    arcs: [arc(q, ink.q, 0.42), arc(k, ink.k, 0.28)],
    arrows: [...fan(f, q, ink.q), ...fan(f, k, ink.k), ...own(state), ofQuery(f(q, m)), ofKey(f(k, m), "m")],
  };
}

/** Line 5: the steps from each position to the next. */
function sceneOfSteps(f, state) {
  const { q, position: m } = state;
  const turns = turnsOf(f, q).map((turn) => angleOf(q) + turn);
  const arc = (p) => ({ r: p % 2 ? 0.42 : 0.37, from: turns[p - 1], to: turns[p], stroke: ink.position });
  return { arcs: PLACES.slice(1).map(arc), arrows: [...fan(f, q, ink.q), own(state)[0], ofQuery(f(q, m))] };
}

/** Line 6: the real part of the product. */
function sceneOfScore(f, state) {
  const scene = sceneOfProduct(f, state);
  const product = scene.arrows.at(-1).z;
  const drops = scene.dots[0].places.map((z) => ({ from: z, to: [z[0], 0], stroke: ink.score, width: 1 }));
  return {
    segments: [
      ...drops,
      { from: [0, 0], to: [product[0], 0], stroke: ink.score, width: 7 },
      { from: product, to: [product[0], 0], stroke: ink.score, width: 1.5, dash: "3 3" },
    ],
    arcs: scene.arcs.slice(0, 1),
    dots: scene.dots,
    arrows: scene.arrows.map((arrow) => (arrow.width === 2.5 ? { ...arrow, opacity: 0.55 } : arrow)),
  };
}

const SCENES = [sceneOfStart, sceneOfProduct, sceneOfLengths, sceneOfTurns, sceneOfSteps, sceneOfScore];

/**
 * What the plane shows, in the units of the pairs.
 * @returns {{segments?: any[], arcs?: any[], circles?: any[], dots?: any[], arrows: any[]}}
 */
function scene(state) {
  return SCENES[state.line - 1](functionOf(state), state);
}

/** The plane in a square of pixels; returns where q and k can be taken. */
function drawPlane(pen, state, x, y, side) {
  const { segments = [], arcs = [], circles = [], dots = [], arrows } = scene(state);
  const tips = [...arrows.map(({ z }) => z), ...dots.flatMap(({ places }) => places)];
  const seen = [...tips.map(length), ...circles.map(({ r }) => r), 1];
  const reach = 1.18 * Math.max(...seen);
  const span = [1.4, 1.7, 2, 2.4, 2.9, 3.5, 4.2, 5, 6, 7.2, 8.6, 10.4, 12.5].find((s) => s >= reach) ?? reach;
  const [cx, cy, unit] = [x + side / 2, y + side / 2, side / 2 / span];
  const { at, back } = planeOf(cx, cy, unit);
  const grid = { stroke: ink.grid, width: 1 };
  pen.lines(crossOf(x, y, side), grid);
  pen.circle(cx, cy, unit, grid);
  const labels = new Labels({ x, y, w: side, h: side });
  nameAxes(pen, labels, { x, y, side, cx, cy, unit });
  for (const { r, ...style } of circles) pen.circle(cx, cy, r * unit, style);
  for (const { from, to, ...style } of segments) pen.line(...at(from), ...at(to), style);
  for (const { r, from, to, stroke } of arcs)
    pen.arc(cx, cy, (r * side) / 2, from, to, { stroke, width: 2, opacity: 0.8 });
  for (const { z, head = 10, ...style } of arrows) {
    const { stroke, width, dash, opacity } = style;
    pen.arrow(cx, cy, ...at(z), { stroke, width, dash, opacity, head });
  }
  for (const { places, r, ...style } of dots) {
    const spots = places.map((z) => [...at(z), r]);
    pen.circles(spots, style);
  }
  const named = arrows.filter(({ name }) => name);
  nameArrows(pen, labels, named, at, [cx, cy]);
  const steps = (px, py) => back(px, py).map((v) => Math.round(v * 20) / 20);
  const handle = (pair) => ({ x: at(pair)[0], y: at(pair)[1], at: steps });
  return { q: handle(state.q), ...(state.line !== 5 && { k: handle(state.k) }) };
}

/** What the axes are and where 1 and i are. */
function nameAxes(pen, labels, { x, y, side, cx, cy, unit }) {
  const name = (left, baseline, words) => {
    pen.text(left, baseline, words, note);
    labels.avoid(left - 2, baseline - 10, left + textWidth(words, 12) + 2, baseline + 3);
  };
  name(cx + unit + 3, cy + 14, "1");
  name(cx + 4, cy - unit - 4, "i");
  const real = phrase`real`;
  name(x + side - 2 - textWidth(real, 12), cy + 14, real);
  name(cx + 5, y + 11, phrase`imaginary`);
}

/** Names just beyond the tips, inside the plane, the last arrow's first; no name covers a tip, an axis's name or another. */
function nameArrows(pen, labels, arrows, at, centre) {
  for (const { z, dash } of arrows) labels.avoidDot(at(z), dash ? RINGED : 8); // a pair as given has a ring to drag it by
  for (const { z, name, words } of [...arrows].reverse()) {
    const bold = name.length > 1;
    const width = textWidth(name, 13, bold);
    const { left, baseline } = labels.place(width, spotsBeyond(at(z), centre, width));
    pen.text(left, baseline, name, { fill: words, weight: bold ? 600 : 400 });
  }
}

/** Six marks: which lines hold for this f; the chosen one is framed. */
function drawMarks(pen, state, x, y, width) {
  const broken = breaksOf(state).map((amount) => amount > HOLDS);
  const step = Math.min(50, width / 6);
  for (const [i, fails] of broken.entries()) {
    const left = x + i * step;
    const chosen = state.line === i + 1;
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
  return { wide: 6 * step, taps: Object.fromEntries(broken.map((_, i) => [`line ${i + 1}`, tap(i)])) };
}

/** A name beside each curve, clear of all their dots and, where there is room, of the grid's lines. */
function nameCurves(pen, curves, grid, box) {
  const labels = new Labels(box);
  for (const dot of curves.flatMap(({ path }) => path)) labels.avoidDot(dot, 6);
  for (const y of grid) labels.avoid(box.x, y - 1, box.x + box.w, y + 1);
  for (const { words, path, fill } of curves) {
    const width = textWidth(words, 12, true);
    const spots = [...path].reverse().flatMap((dot) => spotsAround(dot, width));
    const { left, baseline } = labels.place(width, spots);
    pen.text(left, baseline, words, { size: 12, weight: 600, fill });
  }
}

/** A chart over positions, its vertical axis round around the values: a way to draw into it. */
function makeChart(pen, box, values, xLabel, yLabel) {
  const [low, top] = [Math.min(0, ...values), Math.max(0, ...values)];
  const marks = ticks(low, Math.max(top, low + 1), 4);
  const gap = marks.length > 1 ? marks[1] - marks[0] : 1;
  const [bottom, high] = [Math.floor(low / gap + 1e-6) * gap, Math.max(Math.ceil(top / gap - 1e-6), 1) * gap];
  const yTicks = ticks(bottom, high, 4);
  const { X, Y } = axes(pen, box, [0, LAST], [bottom, high], { xLabel, yLabel, xTicks: range(0, LAST, 2), yTicks });
  return {
    X,
    Y,
    yTicks,
    /** The values from a position on, as dots on a line. */
    dotted(list, fill, { dash = undefined, r = 3, from = 0 } = {}) {
      const dots = list.map((value, i) => [X(from + i), Y(value), r]);
      pen.curve(dots, { stroke: fill, width: 1.8, dash });
      pen.circles(dots, { fill });
    },
    /** The value that all should have. */
    reference: (value) => pen.line(X(0), Y(value), X(LAST), Y(value), { stroke: ink.muted, width: 1.5, dash: "6 4" }),
    here: (place, value, fill) => pen.circle(X(place), Y(value), 6, { fill, stroke: ink.text, width: 1.5 }),
  };
}

function panelOfProduct(pen, f, state, box) {
  const { first: from, products } = slideOf(f, state);
  const [lengths, angles] = [products.map(length), followedAngles(products)];
  const label = phrase`Product: length, angle (rad)`;
  const chart = makeChart(pen, box, [...lengths, ...angles], phrase`n, with m − n kept (tokens)`, label);
  chart.dotted(lengths, ink.score, { from });
  chart.dotted(angles, ink.position, { from, dash: "5 3" });
  chart.here(state.key_position, lengths[state.key_position - from], ink.score);
  chart.here(state.key_position, angles[state.key_position - from], ink.position);
  const path = (values) => values.map((value, i) => [chart.X(from + i), chart.Y(value)]);
  const curves = [
    { words: phrase`length`, path: path(lengths), fill: ink.scoreWords },
    { words: phrase`angle`, path: path(angles), fill: ink.positionWords },
  ];
  nameCurves(pen, curves, chart.yTicks.map(chart.Y), box);
}

function panelOfLengths(pen, f, { q, k, position }, box) {
  const products = PLACES.map((p) => length(f(q, p)) * length(f(k, p)));
  const wanted = length(q) * length(k);
  const label = phrase`Length times length`;
  const chart = makeChart(pen, box, [...products, wanted], phrase`position m of both (tokens)`, label);
  chart.reference(wanted);
  chart.dotted(products, ink.score);
  chart.here(position, products[position], ink.score);
}

function panelOfTurns(pen, f, { q, k, position }, box) {
  const [qTurns, kTurns] = [turnsOf(f, q), turnsOf(f, k)];
  const label = phrase`Turned so far, φ(m) (rad)`;
  const chart = makeChart(pen, box, [...qTurns, ...kTurns], phrase`position m of both (tokens)`, label);
  const x = chart.X(position);
  pen.line(x, box.y, x, box.y + box.h, { stroke: ink.position, width: 1.5, dash: "3 3" });
  chart.dotted(qTurns, ink.q, { r: 5.5 });
  chart.dotted(kTurns, ink.k, { dash: "5 5", r: 2.8 });
}

function panelOfSteps(pen, f, { q }, box) {
  const steps = stepsOf(f, q);
  const { X, Y, reference } = makeChart(pen, box, steps, phrase`from m to m + 1 (tokens)`, phrase`Step of q (rad)`);
  const wide = (X(1) - X(0)) * 0.6;
  const bar = (step, p) => [X(p + 0.5) - wide / 2, Y(0), wide, Y(step) - Y(0)];
  pen.rects(steps.map(bar), { fill: ink.position });
  reference(steps[0]);
}

function panelOfScore(pen, f, state, box) {
  const { position: m, key_position: n } = state;
  const { first: from, products } = slideOf(f, state);
  const scores = products.map(([re]) => re);
  const label = phrase`Score at distance ${fmt(m - n, 0)}`;
  const chart = makeChart(pen, box, scores, phrase`n, with m − n kept (tokens)`, label);
  chart.reference(scores[n - from]);
  chart.dotted(scores, ink.score, { from });
  chart.here(n, scores[n - from], ink.score);
}

const PANELS = [drawNumbers, panelOfProduct, panelOfLengths, panelOfTurns, panelOfSteps, panelOfScore];

/** The panel beside the plane: what the chosen line says, at every position. */
function drawPanel(pen, state, box) {
  PANELS[state.line - 1](pen, functionOf(state), state, box);
}

const complex = ([a, b]) => `${fmt(a)} ${b < -0.005 ? "−" : "+"} ${fmt(Math.abs(b))} i`;

/** Line 1 in numbers: sum form, polar form, and what position 0 does. */
function drawNumbers(pen, f, state, { x, y }) {
  const rows = [
    ["q", state.q, ink.qWords],
    ["k", state.k, ink.kWords],
  ];
  let top = y - 8;
  for (const [name, z, fill] of rows) {
    pen.text(x - 20, top, `${name} = ${complex(z)}`, { fill, weight: 600, size: 14 });
    pen.text(x - 20, top + 21, phrase`length |${name}| = ${fmt(length(z))}`, { fill });
    pen.text(x - 20, top + 40, phrase`angle ${fmt(angleOf(z))} rad`, { fill });
    pen.text(x - 20, top + 61, `f(${name}, 0) = ${complex(f(z, 0))}`, {});
    top += 98;
  }
}

// ------------------------------------------------------------------------------------ the figure

const narrow = (width) => width < 540;
const sideOf = (width) => Math.min(364, width * 0.58);
const height = (width) => (narrow(width) ? width + 340 : sideOf(width) + 82);

function draw(pen, state, { width }) {
  const [first, second] = TITLES[state.line - 1];
  const formula = FORMULA[state.candidate];
  if (narrow(width)) {
    const bold = { weight: 600, size: width < 300 ? 12 : 13 };
    pen.text(4, 16, first, bold);
    pen.text(4, 34, second, bold);
    pen.text(4, 56, formula, { fill: ink.muted });
    const { taps } = drawMarks(pen, state, 2, 68, width - 4);
    const handles = drawPlane(pen, state, 4, 102, width - 8);
    drawPanel(pen, state, { x: 34, y: width + 130, w: width - 52, h: 150 });
    return { ...handles, taps };
  }
  pen.text(4, 18, `${first} ${second}`, { weight: 600, size: 14 });
  const { wide, taps } = drawMarks(pen, state, 2, 34, 300);
  pen.text(wide + 16, 51, formula, { fill: ink.muted });
  const side = sideOf(width);
  const handles = drawPlane(pen, state, 4, 72, side);
  drawPanel(pen, state, { x: side + 52, y: 122, w: width - side - 72, h: 200 });
  return { ...handles, taps };
}

function readout(state) {
  const { line, q, k, position: m, key_position: n } = state;
  const f = functionOf(state);
  const product = timesConj(f(q, m), f(k, n));
  const says = [
    () =>
      phrase`q = ${complex(q)} has length ${fmt(length(q))} and angle ${fmt(angleOf(q))} rad; at position 0 it becomes
        ${complex(f(q, 0))}.`,
    () =>
      phrase`At m = ${m} and n = ${n} the product has length ${fmt(length(product))} and angle ${fmt(angleOf(product))} rad;
        the dots are all places with that distance.`,
    () =>
      phrase`At m = n = ${m} the lengths are ${fmt(length(f(q, m)))} and ${fmt(length(f(k, m)))}; |q| · |k| =
        ${fmt(length(q) * length(k))}.`,
    () => phrase`At m = n = ${m}, q has turned by ${fmt(turnsOf(f, q)[m])} rad and k by ${fmt(turnsOf(f, k)[m])} rad.`,
    () => phrase`The first step of q is ${fmt(stepsOf(f, q)[0])} rad, the last ${fmt(stepsOf(f, q)[LAST - 1])} rad.`,
    () => phrase`At m = ${m} and n = ${n}, ${fmt(m - n, 0)} apart, the score is ${fmt(product[0], 3)}.`,
  ];
  const amounts = breaksOf(state);
  const unit = line === 4 || line === 5 ? " rad" : "";
  const verdict =
    amounts[line - 1] > HOLDS
      ? phrase`Line ${line} breaks, by up to ${fmt(amounts[line - 1])}${unit}.`
      : phrase`Line ${line} holds.`;
  const broken = amounts.flatMap((amount, i) => (amount > HOLDS ? [i + 1] : []));
  const all = broken.length
    ? broken.length > 1
      ? phrase`This f breaks lines ${listed(broken)} (positions 0 to 8).`
      : phrase`This f breaks line ${listed(broken)} (positions 0 to 8).`
    : phrase`This f keeps all six lines (positions 0 to 8).`;
  return `${says[line - 1]()} ${verdict} ${all}`;
}

export default live({
  name: "ComplexPlane",
  title: phrase`The complex plane, following the derivation of the rotation line by line`,
  height,
  draw,
  readout,
  panel: (width) => [0, narrow(width) ? width + 100 : height(width)],
  buttons: [
    { label: phrase`Next line`, move: ({ line }) => ({ line: (line % 6) + 1 }) },
    {
      label: phrase`Slide both`,
      move: ({ position, key_position }) => {
        const by = Math.max(position, key_position) < LAST ? 1 : -Math.min(position, key_position);
        return { position: position + by, key_position: key_position + by };
      },
    },
  ],
});
