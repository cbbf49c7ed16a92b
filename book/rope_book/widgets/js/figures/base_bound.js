import { BASES } from "../data/bases.js";
import { axes } from "../lib/axes.js";
import { ink, noteEnd } from "../lib/colour.js";
import { CURSOR, cursor } from "../lib/cursor.js";
import { live } from "../lib/figure.js";
import { centred, Labels } from "../lib/labels.js";
import { legendOf } from "../lib/legend.js";
import { memo } from "../lib/memo.js";
import { clamp, decade, fmt, geometric, grouped, last, powerOf, range, sorted } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { pointsAround } from "../lib/shapes.js";
import { textWidth } from "../lib/words.js";
import { firstNegativeDistance } from "../maths/base_bound.js";
import { distance } from "../maths/complex.js";
import { meanCosine } from "../maths/decay.js";
import { invFreq } from "../maths/frequencies.js";

const [FARTHEST, LOWEST, HIGHEST] = [1048576, 1000, 10000000]; // FARTHEST is in tokens; the others are bases
const SEARCHED = 294912; // tokens; the first negative distance is below this in every state
const SPREAD = geometric(1, FARTHEST, 380).map(Math.round);

/** The first negative distance for a head width and base, and the mean cosine at sampled distances, which are
 * densest near that distance. */
const curveOf = memo((headDim, base) => {
  const frequencies = invFreq(headDim, base);
  const first = firstNegativeDistance(frequencies, SEARCHED) ?? SEARCHED;
  const distances = sorted([...SPREAD, ...range(Math.max(1, first - 3), first + 3)]);
  return { first, distances, means: meanCosine(frequencies, distances) };
});

const BOTTOM = -0.25; // the curve is clipped here
const FOOT = 20; // pixels below it, for the first negative distance in words

/** Lay out the models' chart, with the curve at its right or, on a narrow screen, above it. */
function plan(width) {
  const narrow = width < 560;
  const plane = { x: 44, y: 66 + legend(width).height, w: narrow ? width - 58 : width - 350, h: narrow ? 250 : 204 };
  if (!narrow) return { plane, curve: { ...plane, x: width - 250, w: 236 }, key: 32, height: plane.y + plane.h + 42 };
  const curve = { ...plane, y: 78, h: 90 + FOOT };
  const key = curve.y + curve.h + 56;
  return {
    plane: { ...plane, y: key + legend(width).height + 22 },
    curve,
    key,
    height: key + legend(width).height + 314,
  };
}

const LOG_TICKS = range(0, 6).map((power) => Number(`1e${power}`));

const asPower = (value) => decade(Math.round(powerOf(value)), 0, 2);

/**
 * The regions enclosed by the zero line and the curve where the curve is negative.
 * @type {(path: Pair[], zero: number) => Pair[][]}
 */
function below(path, zero) {
  /** @type {Pair[][]} */
  const parts = [];
  for (const [i, [x, y]] of path.entries()) {
    if (y <= zero) continue;
    if (!(path[i - 1]?.[1] > zero)) parts.push([[x, zero]]);
    parts.at(-1)?.push([x, y]);
    if (!(path[i + 1]?.[1] > zero)) parts.at(-1)?.push([x, zero]);
  }
  return parts;
}

/** Draw the chart of the mean cosine by distance. */
function drawCurve(pen, { base, head_dim, context }, box, width) {
  const { first, distances, means } = curveOf(head_dim, base);
  const low = BOTTOM - ((1 - BOTTOM) * FOOT) / (box.h - FOOT);
  const { X, Y, at, level } = axes(pen, box, [1, FARTHEST], [low, 1], {
    xLabel: phrase`distance r (tokens)`,
    yLabel: phrase`Mean of cos(r·θ)`,
    xLog: true,
    xTicks: LOG_TICKS.filter((_, power) => power % 2 === 0),
    xFormat: asPower,
    yTicks: [0, 0.5, 1],
  });
  level(0);
  /** @type {(r: number, mean: number) => Pair} */
  const point = (r, mean) => [X(r), Y(Math.max(mean, BOTTOM))];
  const now = point(context, meanCosine(invFreq(head_dim, base), [context])[0]);
  const path = [...distances.map((r, i) => point(r, means[i])), now].sort(([one], [other]) => one - other);
  pen.areas(below(path, Y(0)), { fill: ink.k, opacity: 0.55 });
  pen.curve(path, { stroke: ink.score, width: 1.8 });

  cursor(pen, { ...box, h: box.h - FOOT }, now[0], phrase`context ${grouped(context)}`, width);
  pen.circle(...now, 5, CURRENT);
  const fx = X(first);
  pen.line(fx, Y(0) - 6, fx, Y(BOTTOM), { stroke: ink.text, width: 2.5 });
  const words = phrase`first negative: ${grouped(first)}`;
  pen.text(centred(fx, words, box.x, width - 2), box.y + box.h - 5, words, { anchor: "middle", fill: ink.kWords });
  return { context: { x: now[0], y: now[1], at: (px) => Math.round(clamp(at(px), 256, FARTHEST)) } };
}

const MODEL = { fill: ink.value, stroke: ink.text, width: 1 };
const CURRENT = { fill: ink.position, stroke: ink.text, width: 1.5 };
const SAFE = phrase`safe below the line`;
const LEGEND = [
  { words: phrase`first negative distance`, style: { stroke: ink.text, width: 2 } },
  { words: phrase`a model`, sign: (pen, x, y) => pen.circle(x + 14, y, 4.5, MODEL) },
  { words: phrase`this state`, sign: (pen, x, y) => pen.circle(x + 14, y, 6, CURRENT) },
];
const legend = (width) => legendOf(LEGEND, width, { text: 30 });

const LED = 13; // pixels beyond which a line leads from a name to its dot

/** Candidate label positions on both sides of a dot, nearest first. @type {(at: Pair, width: number) => Pair[]} */
const spotsBeside = (at, width) =>
  range(0, 140, 6.5)
    .flatMap((lift) => [12, 26, 44, 64, 90, 120].map((out) => ({ lift, out })))
    .sort((one, other) => one.lift + one.out - other.lift - other.out)
    .flatMap(({ lift, out }) =>
      [-lift, lift].flatMap((rise) => pointsAround(at, [out, rise - 8], [-out - width, rise - 8])),
    );

/** The point of a name that is nearest to a dot. @type {(spot: Pair, width: number, at: Pair) => Pair} */
const edgeOf = ([left, top], width, [x, y]) => [clamp(x, left, left + width), clamp(y, top + 3, top + 12)];

/** Points on the line from the nearest edge of a name to its dot. @type {(spot: Pair, width: number, at: Pair) => Pair[]} */
function leaderTo(spot, width, [x, y]) {
  const [x0, y0] = edgeOf(spot, width, [x, y]);
  return range(0, 1, 0.1).map((t) => [x0 + t * (x - x0), y0 + t * (y - y0)]);
}

/** Whether a line of points crosses a box. @type {(line: Pair[], boxes: Box[]) => boolean} */
const crosses = (line, boxes) =>
  boxes.some((box) => line.some(([x, y]) => x > box.x && x < box.x + box.w && y > box.y && y < box.y + box.h));

/** Write each model's name beside its dot where there is room. Clicking a name works like clicking its dot. */
function nameModels(pen, models, box, path, [x, y]) {
  const labels = new Labels({ x: box.x + 4, y: box.y, w: box.w - 4, h: box.h });
  labels.avoidDot([x, y], 12);
  labels.avoid(x - 3, box.y, x + 3, box.y + box.h); // avoid the line at the current base
  labels.avoid(box.x + box.w - 12 - textWidth(SAFE, 12), box.y + box.h - 22, box.x + box.w, box.y + box.h);
  for (const { at } of models) labels.avoidDot(at, 5);
  for (const dot of path) labels.avoidDot(dot, 2);
  /** @type {Box[]} */
  const boxes = []; // of the names so far
  const rightmost = [...models].sort((a, b) => b.base - a.base || b.context - a.context);
  return rightmost.flatMap(({ name, at }) => {
    const wide = textWidth(name, 12);
    const gapTo = (spot, dot) => distance(edgeOf(spot, wide, dot), dot);
    const isBesideAnother = (spot) => models.some((other) => gapTo(spot, other.at) < Math.min(LED, gapTo(spot, at)));
    const suits = (spot) => !isBesideAnother(spot) && !crosses(leaderTo(spot, wide, at), boxes);
    const spot = labels.placeFree(wide, spotsBeside(at, wide), suits);
    if (!spot) return [];
    const { left, baseline } = spot;
    pen.text(left, baseline, name, { size: 12 });
    const leader = leaderTo([left, baseline - 12], wide, at);
    if (distance(leader[0], at) > LED) {
      pen.line(...leader[0], ...at, { stroke: ink.muted, width: 1 });
      for (const dot of leader) labels.avoidDot(dot, 2);
    }
    boxes.push({ x: left - 2, y: baseline - 13, w: wide + 4, h: 17 });
    return [[`the name ${name}`, { ...last(boxes), set: { model: name } }]];
  });
}

/** Draw the models' chart: the first negative distance at each base, a dot per model, and the current state. */
function drawPlane(pen, { base, head_dim, context, model }, box) {
  const { X, Y, at, upright } = axes(pen, box, [LOWEST, HIGHEST], [2, 6.1], {
    xLabel: phrase`base b`,
    yLabel: phrase`Context (tokens)`,
    xLog: true,
    xTicks: LOG_TICKS.slice(3).concat(HIGHEST),
    xFormat: asPower,
    yTicks: range(2, 6),
    yFormat: (power) => decade(power, 0, 2),
  });
  /** @type {(base: number, tokens: number) => Pair} */
  const point = (b, tokens) => [X(b), Y(powerOf(tokens))];
  const firsts = BASES.firstNegative[head_dim];
  const path = BASES.bases.filter((b) => b <= HIGHEST).map((b, i) => point(b, firsts[i]));
  pen.area([...path, [last(path)[0], Y(2)], [path[0][0], Y(2)]], { fill: ink.position, opacity: 0.14 });
  pen.curve(path, { stroke: ink.text, width: 1.6 });
  const others = BASES.models.filter(({ name }) => name !== model).map((m) => ({ ...m, at: point(m.base, m.context) }));
  const dots = others.map(({ at: [cx, cy] }) => /** @type {[number, number, number]} */ ([cx, cy, 4.5]));
  pen.circles(dots, MODEL);
  const now = point(base, context);
  upright(base, CURSOR);
  pen.circle(...now, 7, CURRENT);
  pen.text(box.x + box.w - 6, box.y + box.h - 8, SAFE, { ...noteEnd, fill: ink.positionWords });
  const tap = ({ name, at: [cx, cy] }) => [name, { x: cx - 11, y: cy - 11, w: 22, h: 22, set: { model: name } }];
  /** @type {any[]} */
  let names = [];
  pen.part(() => (names = nameModels(pen, others, box, path, now)));
  const handle = { x: now[0], y: now[1], at: (px) => Number(at(px).toPrecision(3)) };
  return { base: handle, taps: Object.fromEntries([...others.map(tap), ...names]) };
}

function draw(pen, state, { width }) {
  const { plane, curve, key } = plan(width);
  pen.text(2, 15, state.model === "own" ? phrase`A head of your own` : state.model, { weight: 600 });
  legend(width).draw(pen, key);
  return { ...drawCurve(pen, state, curve, width), ...drawPlane(pen, state, plane) };
}

function readout({ base, head_dim, context }) {
  const { first } = curveOf(head_dim, base);
  const [at] = meanCosine(invFreq(head_dim, base), [context]);
  const verdict =
    first >= context
      ? phrase`No distance within a context of ${grouped(context)} tokens is negative.`
      : phrase`A context of ${grouped(context)} tokens reaches ${fmt(context / first, 1)} times as far.`;
  return phrase`With base ${grouped(base)} and ${head_dim / 2} pairs the expected score of like vectors is first negative at distance
    ${grouped(first)}. ${verdict} At ${grouped(context)} the mean cosine is ${fmt(at, 3)}.`;
}

const results = ({ head_dim, base }) => ({ first_negative: curveOf(head_dim, base).first });

export default live({
  name: "BaseBound",
  title: phrase`The base of RoPE, the first distance at which like vectors score below zero, and the contexts of models`,
  height: (width) => plan(width).height,
  draw,
  readout,
  results,
  panel: (width) => [0, plan(width).height],
});
