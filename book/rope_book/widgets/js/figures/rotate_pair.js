import { axes } from "../lib/axes.js";
import { ink, noteMiddle } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { polar } from "../lib/geometry.js";
import { centred } from "../lib/labels.js";
import { clamp, fmt, last, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { makePlane, nameTips, pairHandle } from "../lib/plane.js";
import { sector } from "../lib/shapes.js";
import { textWidth } from "../lib/words.js";
import { angleOf, length, wrapped } from "../maths/complex.js";
import { dot } from "../maths/dot_product.js";
import { turnsOf } from "../maths/frequencies.js";
import { angleBetween, contentAngle, positionTowards } from "../maths/pair_angle.js";
import { rotatePair } from "../maths/rotary.js";

const SPAN = 2.2; // half the side of the plane; the longest vector has length 1.5 √2
const LAST = 64; // the last position
const PAIRS = [
  { name: "q", trait: "position", colour: ink.q, words: ink.qWords, r: 0.5 },
  { name: "k", trait: "key_position", colour: ink.k, words: ink.kWords, r: 0.3 },
];

/** The visible pairs, each with its vector before (`z`) and after (`end`) rotation. */
const pairsOf = (state, { shows }) =>
  PAIRS.slice(0, shows("key") ? 2 : 1).map((pair) => {
    const [z, angle] = [state[pair.name], state[pair.trait] * state.inv_freq];
    return { ...pair, z, angle, end: rotatePair(z, angle) };
  });

/**
 * The distance between the words, their score, and the angle φ + (m − n)θ from the rotated k to the rotated q.
 * Positions affect the score and the angle only through the distance.
 */
function apart({ position, key_position, inv_freq, q, k }) {
  const distance = position - key_position;
  const scoreAt = (far) => dot(rotatePair(q, far * inv_freq), k);
  return { distance, between: angleBetween(q, k, distance, inv_freq), scoreAt, score: scoreAt(distance) };
}

/** Format an angle in degrees, for the small form of the figure. */
const degrees = (angle) => `${fmt(360 * turnsOf(angle), Math.abs(angle) < 1 ? 1 : 0)}°`;

const isWide = (width) => width >= 560;

/** Lay out the parts in one column or, in a wide figure, with the plane beside the other parts. */
function plan(width, { small, shows }) {
  if (small) return planSmall(width, shows);
  if (isWide(width)) {
    const side = Math.min(342, width * 0.54);
    const [x, w] = [side + 44, width - side - 58];
    return { plane: { x: 0, y: 8, side }, rail: { x, y: 60, w }, score: { x, y: 134, w, h: 174 }, height: 356 };
  }
  return {
    plane: { x: 4, y: 4, side: width - 8 },
    rail: { x: 12, y: width + 62, w: width - 24 },
    score: { x: 34, y: width + 134, w: width - 48, h: 150 },
    height: width + 334,
    panel: width + 94,
  };
}

function planSmall(width, shows) {
  const two = isWide(width + 80) && shows("arrows");
  const side = shows("arrows") ? Math.min(two ? 270 : 300, width) : 0;
  const [x, w] = two ? [side + 34, width - side - 48] : [34, width - 48];
  let y = two || !side ? 0 : side + 6;
  const rail = { x, y: y + (two && !shows("score") ? side / 2 : 56), w };
  if (shows("rail")) y = rail.y + 30;
  const score = { x, y: y + 34, w, h: 130 };
  if (shows("score")) y = score.y + score.h + 46;
  return { plane: { x: two ? 0 : (width - side) / 2, y: 2, side }, rail, score, height: Math.max(y, side + 8) };
}

/** Draw the plane: q and k before (dashed) and after (solid) rotation, and the angle between the solid arrows. */
function drawPlane(pen, state, square, view) {
  const pairs = pairsOf(state, view);
  const plane = makePlane(
    pen,
    square,
    SPAN,
    pairs.map(({ z }) => length(z)),
  ); // a turn keeps each tip on its circle
  const { cx, cy, unit, at } = plane;
  if (view.shows("key")) drawBetween(pen, state, plane, square, view);
  for (const { z, angle, colour, r } of pairs) {
    const turn = spiral(cx, cy, unit * r, unit * 0.035, angleOf(z), angle);
    pen.curve(turn, { stroke: colour, width: 1.5, opacity: 0.85 });
    pen.arrow(cx, cy, ...at(z), { stroke: colour, width: 1.5, dash: "5 4" });
  }
  for (const { end, colour } of pairs) pen.arrow(cx, cy, ...at(end), { stroke: colour, width: 3.5, head: 12 });
  nameTips(pen, plane, [
    ...pairs.map(({ end, name, words }) => ({ z: end, name: phrase`${name} turned`, fill: words, bold: true, r: 12 })),
    ...pairs.map(({ z, name, words }) => ({ z, name, fill: words, bold: false, r: view.small ? 5 : 12 })),
  ]);
  return arrowHandles(pairs, state, plane, view);
}

/** The drag handles. Dragging a dashed tip changes the vector, and dragging a solid tip changes the word's
 * position. */
function arrowHandles(pairs, { inv_freq, lock, ...state }, plane, { small }) {
  const handles = {};
  for (const { z, name } of small ? [] : pairs) handles[name] = pairHandle(plane, z);
  for (const { z, end, trait, colour } of pairs) {
    if (inv_freq === 0 || length(z) < 0.1 || (small && trait === "key_position" && !lock)) continue;
    const towards = (px, py) => positionTowards(z, state[trait], inv_freq, plane.back(px, py), LAST);
    const [x, y] = plane.at(end);
    handles[`${trait}, by its arrow`] = { trait, x, y, at: towards, ink: colour };
  }
  return handles;
}

/** The points of a spiral around (cx, cy) that ends at radius `r`, with `gap` pixels between successive turns. */
function spiral(cx, cy, r, gap, from, sweep) {
  const turns = turnsOf(Math.abs(sweep));
  const inwards = Math.min(turns * gap, 0.6 * r);
  const steps = Math.max(24, Math.ceil(turns * 40));
  return range(0, steps).map((i) => polar(cx, cy, from + (sweep * i) / steps, r - inwards * (1 - i / steps)));
}

/** Draw the angle between the rotated arrows as a sector, with a labelled arc from k to q. Beyond one turn, the arc
 * is a spiral. */
function drawBetween(pen, state, { cx, cy, unit, labels }, { x, y }, { small }) {
  const from = angleOf(state.k) + state.key_position * state.inv_freq;
  const { between } = apart(state);
  const turn = small ? wrapped(between) : between;
  pen.area(sector(cx, cy, unit, from, from + wrapped(between), 24), { fill: ink.position, opacity: 0.25 });
  const arc = spiral(cx, cy, unit, unit * 0.12, from, turn);
  pen.curve(arc.slice(0, -1), { stroke: ink.position, width: 3 });
  const far = Math.abs(turn) * unit; // arc length in pixels, which may be too short for an arrowhead
  const neck = polar(cx, cy, from + turn * (1 - 10 / far), unit);
  if (far > 10) pen.arrow(...neck, ...last(arc), { stroke: ink.position, width: 3, head: 11 });
  const lines = small
    ? [phrase`between them: ${degrees(Math.abs(wrapped(between)))}`]
    : [phrase`between the solid arrows:`, phrase`φ + (m − n)θ = ${fmt(between)} rad`];
  for (const [i, words] of lines.entries()) {
    const top = y + 18 * i;
    pen.text(x + 4, top + 16, words, { fill: ink.positionWords, weight: 600 });
    labels.avoid(x, top + 2, x + 8 + textWidth(words, 13, true), top + 22);
  }
}

/** Draw the text as a row of positions with q, k and their distance. q and k can be dragged. */
function drawTokens(pen, { position, key_position, lock }, { x, y, w }, { small, shows }) {
  const X = (token) => x + (w * token) / LAST;
  pen.text(x, y - 38, shows("key") ? phrase`Positions (tokens): q ●, k ○` : phrase`Place in the text (tokens): drag ●`);
  const marks = range(0, LAST, 8);
  pen.lines([[x, y, x + w, y], ...marks.map((t) => [X(t), y, X(t), y + 4])], { stroke: ink.muted, width: 1 });
  for (const t of marks) pen.text(X(t), y + 21, t, noteMiddle);
  const at = (px) => clamp((LAST * (px - x)) / w, 0, LAST);
  const handle = (place, colour) => ({ x: X(place), y, ring: 8, ink: colour, at }); // small: words may be close
  const query = { position: handle(position, ink.q) };
  if (!shows("key")) {
    pen.circle(X(position), y, 7, { fill: ink.q });
    return query;
  }
  pen.line(X(position), y, X(key_position), y, { stroke: ink.position, width: 6 });
  pen.circle(X(key_position), y, 8, { fill: ink.paper, stroke: ink.k, width: 3.5 }); // a ring around the dot
  pen.circle(X(position), y, 5, { fill: ink.q });
  const distance = fmt(position - key_position, 0);
  const words = lock ? phrase`m − n = ${distance}, locked` : `m − n = ${distance}`;
  const middle = centred((X(position) + X(key_position)) / 2, words, x, x + w, { bold: true });
  pen.text(middle, y - 17, words, { anchor: "middle", fill: ink.positionWords, weight: 600 });
  return small && !lock ? query : { key_position: handle(key_position, ink.k), ...query };
}

/** Plot the score at each distance. Dragging the dot moves the query, unless the distance is locked. */
function drawScore(pen, state, box) {
  const { distance, score, scoreAt } = apart(state);
  const most = Math.max(1, Math.ceil(length(state.q) * length(state.k)));
  const { X, Y, at } = axes(pen, box, [-LAST, LAST], [-most, most], {
    xLabel: phrase`distance m − n (tokens)`,
    yLabel: phrase`Score at that distance`,
    xTicks: range(-LAST, LAST, 32),
    yTicks: [-most, 0, most],
  });
  const curve = range(-LAST, LAST, 0.5).map((d) => [X(d), Y(scoreAt(d))]);
  pen.curve(/** @type {Pair[]} */ (curve), { stroke: ink.score, width: 2 });
  const [x, y] = [X(distance), Y(score)];
  pen.line(x, Y(0), x, y, { stroke: ink.position, width: 1.5, dash: "3 3" });
  pen.circle(x, y, 6.5, { fill: ink.score, stroke: ink.text, width: 1.5 });
  const query = (px) => clamp(state.key_position + at(px), 0, LAST);
  return state.lock ? {} : { score: { trait: "position", x, y, at: query, ink: ink.score } };
}

function draw(pen, state, view) {
  const { plane, rail, score } = plan(view.width, view);
  return {
    ...(view.shows("arrows") && drawPlane(pen, state, plane, view)),
    ...(view.shows("rail") && drawTokens(pen, state, rail, view)),
    ...(view.shows("score") && drawScore(pen, state, score)),
  };
}

/** A short readout that describes only the visible parts. */
function briefly(state, { shows }) {
  const { position, key_position, inv_freq } = state;
  if (!shows("key")) {
    return phrase`The word at position ${position} is turned by ${position} × ${degrees(inv_freq)} = ${degrees(position * inv_freq)}.`;
  }
  const { distance, between, score, scoreAt } = apart(state);
  if (shows("arrows")) {
    const angle = degrees(Math.abs(wrapped(between)));
    return phrase`The words are at ${key_position} and ${position}, ${Math.abs(distance)} apart. Between their arrows are ${angle},
      and their score is ${fmt(score, 3)}.`;
  }
  return phrase`At distance ${distance} the score is ${fmt(score, 3)}. A neighbour, at distance 1, has ${fmt(scoreAt(1), 3)}.`;
}

function readout(state, view) {
  if (view.small) return briefly(state, view);
  const { position, key_position, inv_freq, q, k } = state;
  const { distance, between, score } = apart(state);
  const [qTurn, kTurn] = [position, key_position].map((place) => fmt(place * inv_freq));
  const [content, more] = [fmt(contentAngle(q, k)), fmt(distance * inv_freq)];
  return phrase`At position ${position}, q has turned by ${qTurn} rad; at ${key_position}, k has turned by ${kTurn} rad.
    The angle between the solid arrows is φ + (m − n)θ = ${content} + ${more} = ${fmt(between)} rad, so at distance
    ${fmt(distance, 0)} the score is ${fmt(score, 3)}.`;
}

const results = (state) => {
  const { distance, between: angle, score } = apart(state);
  return { distance, angle, score };
};

const STEP = 10; // tokens that both words advance per press

/** The positions after the button is pressed: both words advance along the text, wrapping from the end to the
 * start.
 */
function slide({ position, key_position }) {
  const [first, last] = [Math.min(position, key_position), Math.max(position, key_position)];
  const by = last + STEP > LAST ? -first : STEP;
  return { position: position + by, key_position: key_position + by };
}

/** With the lock on, moving one position moves the other by the same amount, until one of them reaches an end of
 * the text. */
function follow(before, held) {
  const moved = ["position", "key_position"].filter((name) => name in held);
  if (!(held.lock ?? before.lock) || moved.length !== 1) return {};
  const [name] = moved;
  const other = name === "position" ? "key_position" : "position";
  const shift = clamp(held[name] - before[name], -before[other], LAST - before[other]);
  return { [name]: before[name] + shift, [other]: before[other] + shift };
}

export default live({
  name: "RotatePair",
  title: phrase`A query pair and a key pair, each turned by its position, and their score`,
  height: (width, _, view) => plan(width, view).height,
  draw,
  readout,
  results,
  follow,
  panel(width, _, view) {
    const { height, panel = height } = plan(width, view);
    return [0, panel];
  },
  smooth: ["position", "key_position"],
  play: { trait: "position", perSecond: 4 },
  buttons: [{ label: phrase`Slide both by ${STEP}`, move: slide }],
});
