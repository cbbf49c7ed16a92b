import { axes } from "../lib/axes.js";
import { ink } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { planeOf, sector } from "../lib/geometry.js";
import { Labels, spotsBeyond } from "../lib/labels.js";
import { clamp, fmt, range } from "../lib/numbers.js";
import { textWidth } from "../lib/words.js";
import { angleOf, length } from "../maths/complex.js";
import { dot } from "../maths/dot_product.js";
import { TURN, turnsOf, withinTurn } from "../maths/frequencies.js";
import { rotatePair } from "../maths/rotary.js";

const SPAN = 2.2; // half of the plane's side, in units of the vectors; the longest is 1.5 √2

/** The turned pairs, their angles and their score. */
function turned({ position, key_position, inv_freq, q, k }) {
  const [qAngle, kAngle] = [position * inv_freq, key_position * inv_freq];
  const [qTurned, kTurned] = [rotatePair(q, qAngle), rotatePair(k, kAngle)];
  return { qAngle, kAngle, qTurned, kTurned, score: dot(qTurned, kTurned) };
}

const stacked = (width) => width < 560;
const height = (width, _, view) => (view.small ? planSmall(width, view).height : stacked(width) ? width + 330 : 372);

/** In degrees, for the small forms. */
const degrees = (angle) => `${fmt(360 * turnsOf(angle), Math.abs(angle) < 1 ? 1 : 0)}°`;

/** The turn from the key's arrow to the query's, at most half a turn either way: with the distance locked it stays. */
function between({ position, key_position, inv_freq, q, k }) {
  const turn = withinTurn(angleOf(q) - angleOf(k) + (position - key_position) * inv_freq);
  return 2 * turn > TURN ? turn - TURN : turn;
}

/** The plane: both pairs before (dashed) and after (solid) their turns. */
function drawPlane(pen, state, x, y, side, { small, shows }) {
  const { qAngle, kAngle, qTurned, kTurned } = turned(state);
  const [cx, cy, unit] = [x + side / 2, y + side / 2, side / 2 / SPAN];
  const { at, back } = planeOf(cx, cy, unit);
  pen.lines(
    [
      [x, cy, x + side, cy],
      [cx, y, cx, y + side],
    ],
    { stroke: ink.grid, width: 1 },
  );
  pen.circle(cx, cy, unit, { stroke: ink.grid, width: 1 });
  const pairs = [
    { pair: state.q, end: qTurned, angle: qAngle, colour: ink.q, words: ink.qWords, name: "q", place: "m", r: 0.5 },
    { pair: state.k, end: kTurned, angle: kAngle, colour: ink.k, words: ink.kWords, name: "k", place: "n", r: 0.34 },
  ].filter(({ name }) => name === "q" || shows("key"));
  if (small && shows("key")) drawBetween(pen, state, cx, cy, unit);
  for (const { pair, angle, colour, r } of pairs) {
    const start = angleOf(pair);
    pen.arc(cx, cy, unit * r, start, start + angle, { stroke: colour, width: 2, opacity: 0.75 });
    pen.arrow(cx, cy, ...at(pair), { stroke: colour, width: 1.5, dash: "5 4" });
  }
  for (const { end, colour } of pairs) pen.arrow(cx, cy, ...at(end), { stroke: colour, width: 3.5, head: 12 });
  nameArrows(pen, pairs, at, [cx, cy], { x, y, w: side, h: side });
  const steps = (px, py) => back(px, py).map((v) => Math.round(v * 20) / 20);
  const handle = (pair) => ({ x: at(pair)[0], y: at(pair)[1], at: steps });
  return small ? {} : { q: handle(state.q), k: handle(state.k) };
}

/** The angle between the turned arrows. */
function drawBetween(pen, state, cx, cy, unit) {
  const from = angleOf(state.k) + state.key_position * state.inv_freq;
  const turn = between(state);
  pen.area(sector(cx, cy, 0.9 * unit, from, from + turn, 24), { fill: ink.score, opacity: 0.35 });
  pen.arc(cx, cy, 0.9 * unit, from, from + turn, { stroke: ink.score, width: 2.5 });
  const words = `between them: ${degrees(turn < 0 ? -turn : turn)}`;
  pen.text(cx - SPAN * unit + 4, cy - SPAN * unit + 16, words, { fill: ink.scoreWords, weight: 600 });
}

/** A name beyond each tip, inside the plane; the turned pairs' names come first. */
function nameArrows(pen, pairs, at, centre, frame) {
  const labels = new Labels(frame);
  for (const { pair, end } of pairs) for (const z of [pair, end]) labels.avoidDot(at(z), 7);
  const name = (z, text, fill, bold) => {
    const width = textWidth(text, 13, bold);
    const { left, baseline } = labels.place(width, spotsBeyond(at(z), centre, width));
    pen.text(left, baseline, text, { fill, weight: bold ? 600 : 400 });
  };
  for (const { end, words, name: text } of pairs) name(end, `${text} turned`, words, true);
  for (const { pair, words, name: text } of pairs) name(pair, text, words, false);
}

/** The sentence as a row of places: where q and k stand and how far apart. Both can be dragged. */
function drawTokens(pen, { position, key_position, lock }, x, y, w, { small, shows }) {
  const X = (token) => x + (w * token) / 64;
  pen.text(x, y - 34, shows("key") ? "Where they stand (tokens): q ●, k ○" : "Place in the text (tokens): drag ●");
  const marks = range(0, 64, 8);
  pen.lines([[x, y, x + w, y], ...marks.map((t) => [X(t), y, X(t), y + 4])], { stroke: ink.muted, width: 1 });
  for (const t of marks) pen.text(X(t), y + 21, t, { anchor: "middle", size: 12, fill: ink.muted });
  const handle = (place) => ({
    x: X(place),
    y,
    at: (px) => Math.round(clamp((64 * (px - x)) / w, 0, 64)),
  });
  if (!shows("key")) {
    pen.circle(X(position), y, 7, { fill: ink.q });
    return { position: handle(position) };
  }
  pen.line(X(position), y, X(key_position), y, { stroke: ink.position, width: 6 });
  pen.circle(X(key_position), y, 8, { fill: ink.paper, stroke: ink.k, width: 3.5 }); // a ring, which shows around the dot
  pen.circle(X(position), y, 5, { fill: ink.q });
  const middle = clamp((X(position) + X(key_position)) / 2, x + 56, x + w - 56);
  const distance = position - key_position;
  pen.text(middle, y - 13, `m − n = ${fmt(distance, 0)}`, { anchor: "middle", fill: ink.positionWords, weight: 600 });
  const query = { position: handle(position) };
  return small && !lock ? query : { key_position: handle(key_position), ...query };
}

/** The score at every distance; the dot is where we are. */
function drawScore(pen, state, box) {
  const { position, key_position, inv_freq, q, k } = state;
  const most = Math.max(1, Math.ceil(length(q) * length(k)));
  const scoreAt = (distance) => dot(rotatePair(q, distance * inv_freq), k);
  const { X, Y } = axes(pen, box, [-64, 64], [-most, most], {
    xLabel: "distance m − n (tokens)",
    yLabel: "Score at that distance",
    xTicks: [-64, -32, 0, 32, 64],
    yTicks: [-most, 0, most],
  });
  pen.curve(
    range(-64, 64, 0.5).map((d) => [X(d), Y(scoreAt(d))]),
    { stroke: ink.score, width: 2 },
  );
  const distance = position - key_position;
  const score = scoreAt(distance);
  pen.line(X(distance), Y(0), X(distance), Y(score), { stroke: ink.position, width: 1.5, dash: "3 3" });
  pen.circle(X(distance), Y(score), 6.5, { fill: ink.score, stroke: ink.text, width: 1.5 });
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
  if (view.shows("arrows")) drawPlane(pen, state, left, 2, side, view);
  if (view.shows("score")) drawScore(pen, state, score);
  return view.shows("rail") ? drawTokens(pen, state, rail.x, rail.y, rail.w, view) : {};
}

function draw(pen, state, view) {
  const { width } = view;
  if (view.small) return drawSmall(pen, state, width, view);
  if (stacked(width)) {
    const handles = drawPlane(pen, state, 4, 4, width - 8, view);
    const tokens = drawTokens(pen, state, 12, width + 58, width - 24, view);
    drawScore(pen, state, { x: 34, y: width + 130, w: width - 48, h: 150 });
    return { ...handles, ...tokens };
  }
  const side = Math.min(356, width * 0.54);
  const handles = drawPlane(pen, state, 0, 8, side, view);
  const [x, w] = [side + 44, width - side - 58];
  const tokens = drawTokens(pen, state, x, 62, w, view);
  drawScore(pen, state, { x, y: 134, w, h: 190 });
  return { ...handles, ...tokens };
}

/** What the parts in sight say. */
function briefly(state, { shows }) {
  const { position, key_position, inv_freq, q, k } = state;
  if (!shows("key")) {
    return `The word at position ${position} is turned by ${position} × ${degrees(inv_freq)} = ${degrees(position * inv_freq)}.`;
  }
  const { score } = turned(state);
  const distance = position - key_position;
  if (shows("arrows")) {
    const angle = between(state);
    return (
      `The words are at ${key_position} and ${position}, ${Math.abs(distance)} apart. Between their arrows are ` +
      `${degrees(angle < 0 ? -angle : angle)}, and their score is ${fmt(score, 3)}.`
    );
  }
  const near = dot(rotatePair(q, inv_freq), k);
  return `At distance ${distance} the score is ${fmt(score, 3)}. A neighbour, at distance 1, has ${fmt(near, 3)}.`;
}

function readout(state, view) {
  if (view.small) return briefly(state, view);
  const { position, key_position, inv_freq } = state;
  const { qAngle, kAngle, score } = turned(state);
  const turn = (place, angle) => `${place} × ${fmt(inv_freq)} = ${fmt(angle)} rad`;
  return (
    `q stands at position ${position} and turns by ${turn(position, qAngle)}; ` +
    `k at ${key_position} turns by ${turn(key_position, kAngle)}. ` +
    `At distance ${fmt(position - key_position, 0)} the score is ${fmt(score, 3)}.`
  );
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
  title: "A query pair and a key pair, each turned by its position, and their score",
  height,
  draw,
  readout,
  follow,
  play: { trait: "position", perSecond: 4 },
});
