import { axes } from "../lib/axes.js";
import { ink, noteMiddle } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { polar } from "../lib/geometry.js";
import { centred, Labels, spotsBeyond } from "../lib/labels.js";
import { clamp, fmt, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { crossOf, planeOf, sector } from "../lib/shapes.js";
import { textWidth } from "../lib/words.js";
import { angleOf, length, wrapped } from "../maths/complex.js";
import { dot } from "../maths/dot_product.js";
import { turnsOf } from "../maths/frequencies.js";
import { angleBetween, contentAngle, positionTowards } from "../maths/pair_angle.js";
import { rotatePair } from "../maths/rotary.js";

const SPAN = 2.2; // half of the plane's side, in units of the vectors; the longest is 1.5 √2

/** The turned pairs, their angles and their score. */
function turned({ position, key_position, inv_freq, q, k }) {
  const [qAngle, kAngle] = [position * inv_freq, key_position * inv_freq];
  const [qTurned, kTurned] = [rotatePair(q, qAngle), rotatePair(k, kAngle)];
  return { qAngle, kAngle, qTurned, kTurned, score: dot(qTurned, kTurned) };
}

const stacked = (width) => width < 560;
const height = (width, _, view) => (view.small ? planSmall(width, view).height : stacked(width) ? width + 334 : 372);

/** In degrees, for the small forms. */
const degrees = (angle) => `${fmt(360 * turnsOf(angle), Math.abs(angle) < 1 ? 1 : 0)}°`;

/** φ + (m − n)θ, the angle from the key's solid arrow to the query's: while the distance stays, so does it. */
const between = ({ position, key_position, inv_freq, q, k }) => angleBetween(q, k, position - key_position, inv_freq);

/** The plane: both pairs before (dashed) and after (solid) their turns, and the angle between the solid ones. */
function drawPlane(pen, state, x, y, side, view) {
  const { qAngle, kAngle, qTurned, kTurned } = turned(state);
  const [cx, cy, unit] = [x + side / 2, y + side / 2, side / 2 / SPAN];
  const { at, back } = planeOf(cx, cy, unit);
  pen.lines(crossOf(x, y, side), { stroke: ink.grid, width: 1 });
  pen.circle(cx, cy, unit, { stroke: ink.grid, width: 1 });
  const query = { name: "q", trait: "position", colour: ink.q, words: ink.qWords, r: 0.5 };
  const key = { name: "k", trait: "key_position", colour: ink.k, words: ink.kWords, r: 0.3 };
  const both = [
    { ...query, pair: state.q, end: qTurned, angle: qAngle },
    { ...key, pair: state.k, end: kTurned, angle: kAngle },
  ];
  const pairs = view.shows("key") ? both : both.slice(0, 1);
  const frame = { x, y, w: side, h: side };
  if (view.shows("key")) drawBetween(pen, state, frame, unit, view);
  for (const { pair, angle, colour, r } of pairs) {
    const start = angleOf(pair);
    pen.curve(spiral(cx, cy, unit * r, unit * 0.035, start, angle), { stroke: colour, width: 1.5, opacity: 0.6 });
    pen.arrow(cx, cy, ...at(pair), { stroke: colour, width: 1.5, dash: "5 4" });
  }
  for (const { end, colour } of pairs) pen.arrow(cx, cy, ...at(end), { stroke: colour, width: 3.5, head: 12 });
  nameArrows(pen, pairs, at, [cx, cy], frame, view.shows("key") ? headline(state, view) : []);
  return arrowHandles(pairs, state, at, back, view);
}

/** What a hand may take: the dashed tips are the content; a solid tip, pulled round, walks its word along the text. */
function arrowHandles(pairs, { inv_freq, lock, ...state }, at, back, { small }) {
  const handles = {};
  const steps = (px, py) => back(px, py).map((v) => Math.round(v * 20) / 20);
  for (const { pair, name } of small ? [] : pairs) handles[name] = { x: at(pair)[0], y: at(pair)[1], at: steps };
  for (const { pair, end, trait, colour } of pairs) {
    if (inv_freq === 0 || length(pair) < 0.1 || (small && trait === "key_position" && !lock)) continue;
    const towards = (px, py) => positionTowards(pair, state[trait], inv_freq, back(px, py), 64);
    handles[`${trait}, by its arrow`] = { trait, x: at(end)[0], y: at(end)[1], at: towards, ink: colour };
  }
  return handles;
}

/** An arc about (cx, cy) that ends `r` pixels from it; each whole turn of it lies `gap` pixels further out than the last. */
function spiral(cx, cy, r, gap, from, sweep) {
  const turns = turnsOf(sweep < 0 ? -sweep : sweep);
  const inwards = Math.min(turns * gap, 0.6 * r);
  const steps = Math.max(24, Math.ceil(turns * 40));
  return range(0, steps).map((i) => polar(cx, cy, from + (sweep * i) / steps, r - inwards * (1 - i / steps)));
}

/** What is said of the angle between the solid arrows, in lines. */
function headline(state, { small }) {
  if (small) return [phrase`between them: ${degrees(Math.abs(wrapped(between(state))))}`];
  return [phrase`between the solid arrows:`, phrase`φ + (m − n)θ = ${fmt(between(state))} rad`];
}

/** The angle between the turned arrows: a field, and an arc from k to q, a spiral where it is more than a turn. */
function drawBetween(pen, state, { x, y, w: side }, unit, view) {
  const [cx, cy] = [x + side / 2, y + side / 2];
  const from = angleOf(state.k) + state.key_position * state.inv_freq;
  const all = between(state);
  const turn = view.small ? wrapped(all) : all;
  pen.area(sector(cx, cy, unit, from, from + wrapped(all), 24), { fill: ink.score, opacity: 0.35 });
  const arc = spiral(cx, cy, unit, unit * 0.12, from, turn);
  pen.curve(arc.slice(0, -1), { stroke: ink.score, width: 3 });
  const far = Math.abs(turn) * unit; // of the arc, in pixels: a short one has no room for a head
  const neck = polar(cx, cy, from + turn * (1 - 10 / far), unit);
  if (far > 10) pen.arrow(...neck, ...arc.at(-1), { stroke: ink.score, width: 3, head: 11 });
  headline(state, view).forEach((words, line) => {
    pen.text(x + 4, y + 16 + 18 * line, words, { fill: ink.scoreWords, weight: 600 });
  });
}

/** A name beyond each tip, inside the plane; the turned pairs' names come first. */
function nameArrows(pen, pairs, at, centre, frame, taken) {
  const labels = new Labels(frame);
  taken.forEach((words, line) => {
    const top = frame.y + 2 + 18 * line;
    labels.avoid(frame.x, top, frame.x + 8 + textWidth(words, 13, true), top + 20);
  });
  for (const { pair, end } of pairs) for (const z of [pair, end]) labels.avoidDot(at(z), 12);
  const name = (z, text, fill, bold) => {
    const width = textWidth(text, 13, bold);
    const { left, baseline } = labels.place(width, spotsBeyond(at(z), centre, width));
    pen.text(left, baseline, text, { fill, weight: bold ? 600 : 400 });
  };
  for (const { end, words, name: text } of pairs) name(end, phrase`${text} turned`, words, true);
  for (const { pair, words, name: text } of pairs) name(pair, text, words, false);
}

/** The sentence as a row of places: where q and k stand and how far apart. Both can be dragged. */
function drawTokens(pen, { position, key_position, lock }, x, y, w, { small, shows }) {
  const X = (token) => x + (w * token) / 64;
  pen.text(x, y - 38, shows("key") ? phrase`Positions (tokens): q ●, k ○` : phrase`Place in the text (tokens): drag ●`);
  const marks = range(0, 64, 8);
  pen.lines([[x, y, x + w, y], ...marks.map((t) => [X(t), y, X(t), y + 4])], { stroke: ink.muted, width: 1 });
  for (const t of marks) pen.text(X(t), y + 21, t, noteMiddle);
  const handle = (place, colour) => ({
    x: X(place),
    y,
    ring: 8, // two words may be close
    ink: colour,
    at: (px) => Math.round(clamp((64 * (px - x)) / w, 0, 64)),
  });
  if (!shows("key")) {
    pen.circle(X(position), y, 7, { fill: ink.q });
    return { position: handle(position, ink.q) };
  }
  pen.line(X(position), y, X(key_position), y, { stroke: ink.position, width: 6 });
  pen.circle(X(key_position), y, 8, { fill: ink.paper, stroke: ink.k, width: 3.5 }); // a ring, which shows around the dot
  pen.circle(X(position), y, 5, { fill: ink.q });
  const apart = fmt(position - key_position, 0);
  const words = lock ? phrase`m − n = ${apart}, locked` : `m − n = ${apart}`;
  const middle = centred((X(position) + X(key_position)) / 2, words, x, x + w, { bold: true });
  pen.text(middle, y - 17, words, { anchor: "middle", fill: ink.positionWords, weight: 600 });
  const query = { position: handle(position, ink.q) };
  return small && !lock ? query : { key_position: handle(key_position, ink.k), ...query };
}

/** The score at every distance; the dot is where we are, and takes the query with it unless the distance is locked. */
function drawScore(pen, state, box) {
  const { position, key_position, inv_freq, q, k, lock } = state;
  const most = Math.max(1, Math.ceil(length(q) * length(k)));
  const scoreAt = (distance) => dot(rotatePair(q, distance * inv_freq), k);
  const { X, Y, at } = axes(pen, box, [-64, 64], [-most, most], {
    xLabel: phrase`distance m − n (tokens)`,
    yLabel: phrase`Score at that distance`,
    xTicks: [-64, -32, 0, 32, 64],
    yTicks: [-most, 0, most],
  });
  const curve = range(-64, 64, 0.5).map((d) => [X(d), Y(scoreAt(d))]);
  pen.curve(/** @type {Pair[]} */ (curve), { stroke: ink.score, width: 2 });
  const distance = position - key_position;
  const score = scoreAt(distance);
  pen.line(X(distance), Y(0), X(distance), Y(score), { stroke: ink.position, width: 1.5, dash: "3 3" });
  pen.circle(X(distance), Y(score), 6.5, { fill: ink.score, stroke: ink.text, width: 1.5 });
  const query = (px) => clamp(key_position + Math.round(at(px)), 0, 64);
  return lock ? {} : { score: { trait: "position", x: X(distance), y: Y(score), at: query, ink: ink.score } };
}

/** Where the parts of a small form stand, in one column or two. */
function planSmall(width, { shows }) {
  const two = !stacked(width + 80) && shows("arrows");
  const side = shows("arrows") ? Math.min(two ? 270 : 300, width) : 0;
  const [x, w] = two ? [side + 34, width - side - 48] : [34, width - 48];
  let y = two || !side ? 0 : side + 6;
  const rail = { x, y: y + (two && !shows("score") ? side / 2 : 56), w };
  if (shows("rail")) y = rail.y + 30;
  const score = { x, y: y + 34, w, h: 130 };
  if (shows("score")) y = score.y + score.h + 46;
  return { side, left: two ? 0 : (width - side) / 2, rail, score, height: Math.max(y, side + 8) };
}

function drawSmall(pen, state, width, view) {
  const { side, left, rail, score } = planSmall(width, view);
  return {
    ...(view.shows("arrows") && drawPlane(pen, state, left, 2, side, view)),
    ...(view.shows("score") && drawScore(pen, state, score)),
    ...(view.shows("rail") && drawTokens(pen, state, rail.x, rail.y, rail.w, view)),
  };
}

function draw(pen, state, view) {
  const { width } = view;
  if (view.small) return drawSmall(pen, state, width, view);
  if (stacked(width)) {
    const handles = drawPlane(pen, state, 4, 4, width - 8, view);
    const tokens = drawTokens(pen, state, 12, width + 62, width - 24, view);
    const score = drawScore(pen, state, { x: 34, y: width + 134, w: width - 48, h: 150 });
    return { ...handles, ...tokens, ...score };
  }
  const side = Math.min(356, width * 0.54);
  const handles = drawPlane(pen, state, 0, 8, side, view);
  const [x, w] = [side + 44, width - side - 58];
  const tokens = drawTokens(pen, state, x, 60, w, view);
  const score = drawScore(pen, state, { x, y: 134, w, h: 190 });
  return { ...handles, ...tokens, ...score };
}

/** What the parts in sight say. */
function briefly(state, { shows }) {
  const { position, key_position, inv_freq, q, k } = state;
  if (!shows("key")) {
    return phrase`The word at position ${position} is turned by ${position} × ${degrees(inv_freq)} = ${degrees(position * inv_freq)}.`;
  }
  const { score } = turned(state);
  const distance = position - key_position;
  if (shows("arrows")) {
    const angle = degrees(Math.abs(wrapped(between(state))));
    return phrase`The words are at ${key_position} and ${position}, ${Math.abs(distance)} apart. Between their arrows are ${angle},
      and their score is ${fmt(score, 3)}.`;
  }
  const near = dot(rotatePair(q, inv_freq), k);
  return phrase`At distance ${distance} the score is ${fmt(score, 3)}. A neighbour, at distance 1, has ${fmt(near, 3)}.`;
}

function readout(state, view) {
  if (view.small) return briefly(state, view);
  const { position, key_position, inv_freq, q, k } = state;
  const { qAngle, kAngle, score } = turned(state);
  const distance = position - key_position;
  const [content, more] = [fmt(contentAngle(q, k)), fmt(distance * inv_freq)];
  return phrase`At position ${position} q turns by ${fmt(qAngle)} rad, at ${key_position} k turns by ${fmt(kAngle)} rad.
    Between the solid arrows is φ + (m − n)θ = ${content} + ${more} = ${fmt(between(state))} rad, so at distance
    ${fmt(distance, 0)} the score is ${fmt(score, 3)}.`;
}

const STEP = 10; // tokens by which the button slides both words

/** Both words further on, or back at the text's beginning where it ends. */
function slide({ position, key_position }) {
  const [first, last] = [Math.min(position, key_position), Math.max(position, key_position)];
  const by = last + STEP > 64 ? -first : STEP;
  return { position: position + by, key_position: key_position + by };
}

/** With the lock on, a position that is moved takes the other along, as far as both have room. */
function follow(before, held) {
  const lock = held.lock ?? before.lock;
  const moved = ["position", "key_position"].filter((name) => name in held);
  if (!lock || moved.length !== 1) return {};
  const [name] = moved;
  const other = name === "position" ? "key_position" : "position";
  const shift = clamp(held[name] - before[name], -before[other], 64 - before[other]);
  return { [name]: before[name] + shift, [other]: before[other] + shift };
}

export default live({
  name: "RotatePair",
  title: phrase`A query pair and a key pair, each turned by its position, and their score`,
  height,
  draw,
  readout,
  follow,
  panel: (width, _, view) => [0, view.small || !stacked(width) ? height(width, _, view) : width + 94],
  smooth: ["position", "key_position"],
  play: { trait: "position", perSecond: 4 },
  buttons: [{ label: phrase`Slide both by ${STEP}`, move: slide }],
});
