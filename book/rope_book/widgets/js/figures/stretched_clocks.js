import { RULES } from "../data/rules.js";
import { axes } from "../lib/axes.js";
import { ink, noteEnd, ruleInk } from "../lib/colour.js";
import { nameOver } from "../lib/cursor.js";
import { hands, rims, tips, wedges } from "../lib/faces.js";
import { live } from "../lib/figure.js";
import { centred } from "../lib/labels.js";
import { legendOf } from "../lib/legend.js";
import { SEEN, UNSEEN, unseenPoints } from "../lib/marks.js";
import { abbreviated, clamp, fmt, grouped, powerOf, range } from "../lib/numbers.js";
import { phrase, phraseOf } from "../lib/phrase.js";
import { counted, textWidth } from "../lib/words.js";
import { invFreq, reachWithin, ropeAngles, turnsOf, withinTurn } from "../maths/frequencies.js";
import { divisors, stretched } from "../maths/stretch.js";
import { completesTurn, meetsNewAngle, reach } from "../maths/trained_range.js";

/** Each pair's frequency with and without the rule, the range of angles it saw in training, and whether the rule
 * slows it enough. */
function measured({ rule, head_dim, base, trained, wanted, abf_base }) {
  const plain = invFreq(head_dim, base);
  const changed = stretched(rule, head_dim, base, trained, wanted, abf_base).invFreq;
  const factor = Math.max(1, wanted / trained);
  const slowed = divisors(plain, changed);
  const complete = completesTurn(plain, trained);
  const seen = plain.map((frequency) => reachWithin(trained, frequency));
  const short = slowed.map((by, i) => !complete[i] && by < factor * (1 - 1e-9));
  return { plain, changed, factor, slowed, complete, seen, short, far: reach(changed, trained, plain) };
}

const WITHOUT = { stroke: ink.muted, width: 1.6, dash: "3 3" };
const HAND = { stroke: ink.text, width: 2.6 };
const KEY = [
  { words: phrase`seen in training`, box: SEEN },
  { words: phrase`never seen`, box: UNSEEN },
  { words: phrase`hand now`, sign: (pen, x, y) => pen.circle(x + 12, y, 3.5, { fill: ink.text }) },
  { words: phrase`at a new angle`, sign: (pen, x, y) => unseenPoints(pen, [[x + 12, y]], 3.5) },
  { words: phrase`without the rule`, style: WITHOUT },
];
const legend = (width, ruled) => legendOf(ruled ? KEY : KEY.slice(0, -1), width - 4, { sample: 28, drop: 5 });

/** Lay out, from top to bottom, the rail, the legend, the slowdowns and the bars, with the clock to their right or,
 * on a narrow screen, below them. */
function plan(width) {
  const narrow = width < 560;
  const key = 62;
  const slow = { x: 48, y: key + legend(width, true).height + 26, w: width - (narrow ? 62 : 226), h: 26 };
  const bars = { ...slow, y: slow.y + slow.h + 26, h: narrow ? 150 : 132 };
  const below = bars.y + bars.h + 42;
  const r = narrow ? 46 : 58;
  const clock = narrow ? { cx: 56, cy: below + 58, r } : { cx: width - 78, cy: bars.y + 54, r };
  return { rail: 30, key, slow, bars, clock, narrow, height: narrow ? below + 112 : below };
}

/** The labels under the rail at the trained and the wanted length, placed so that they do not overlap. */
function lengthNames(lengths, X, width) {
  const short = (length) => (length < 1e6 ? grouped(length) : abbreviated(Math.round(length / 1e4) * 1e4));
  const names = [`L = ${short(lengths[0])}`, `L′ = ${short(lengths[1])}`];
  const halves = names.map((name) => textWidth(name, 12) / 2);
  const ends = lengths.map((token, i) => centred(X(token), names[i], 2, width - 2, { size: 12 }));
  const room = halves[0] + halves[1] + 8;
  if (Math.abs(ends[1] - ends[0]) < room) {
    const [left, right] = ends[0] <= ends[1] ? [0, 1] : [1, 0];
    ends[left] = clamp((ends[0] + ends[1] - room) / 2, 2 + halves[left], width - 2 - room - halves[right]);
    ends[right] = ends[left] + room;
  }
  return names.map((name, i) => ({ name, x: ends[i] }));
}

/** Draw the text up to the wanted length, marking the trained part and the current position. */
function drawRail(pen, { position, trained, wanted }, width, y) {
  const [x, w, most] = [14, width - 28, Math.max(trained, wanted)];
  const X = (token) => x + (w * token) / most;
  pen.rect(x, y - 6, X(trained) - x, 12, SEEN);
  pen.line(x, y, x + w, y, { stroke: ink.muted, width: 1 });
  const marks = [trained, wanted].map((token) => [X(token), y - 6, X(token), y + 6]);
  pen.lines(marks, { stroke: ink.text, width: 1.5 });
  for (const end of lengthNames([trained, wanted], X, width))
    pen.text(end.x, y + 22, end.name, { anchor: "middle", size: 12 });
  const words = `m = ${grouped(position)}`;
  nameOver(pen, X(position), y - 14, words, width);
  pen.circle(X(position), y, 7, { fill: ink.position, stroke: ink.text, width: 1.5 });
  const token = (px) => clamp((most * (px - x)) / w, 1, wanted);
  return { position: { x: X(position), y, at: token } };
}

/** Each pair's current angles: of the hand with and without the rule, the largest seen in training, and the largest
 * reached with and without the rule. */
function pairsOf({ position, trained }, { plain, changed, seen, complete, slowed }, way) {
  const before = way ? measured(way.from).changed : [];
  const share = before.length === changed.length ? way.share : 1; // progress of the animation, from 0 to 1
  const speeds = changed.map((speed, i) => (share < 1 ? before[i] + (speed - before[i]) * share : speed));
  const [angles, without] = [speeds, plain].map((rates) => ropeAngles(position, rates).map(withinTurn));
  const fresh = meetsNewAngle(position, changed, trained, plain);
  return speeds.map((speed, i) => ({
    i,
    seen: seen[i],
    complete: complete[i],
    slowed: slowed[i],
    used: Math.max(seen[i], reachWithin(position, speed)),
    usedWithout: Math.max(seen[i], reachWithin(position, plain[i])),
    angle: angles[i],
    ghost: without[i],
    fresh: fresh[i],
  }));
}

/** Format the factor by which a pair turns more slowly. */
const by = (value) => fmt(value, value < 100 ? 2 : 0);

const isPast = ({ used, seen }) => used > seen * (1 + 1e-12);

/** Draw each pair as a bar that shows the share of a turn seen in training, how far beyond it the text has reached,
 * and the hand. Returns a box for each pair. */
function drawBars(pen, box, pairs, state) {
  const column = box.w / pairs.length;
  const step = pairs.length >= 32 ? (box.w < 420 ? 16 : 8) : pairs.length / 4;
  const { X, Y } = axes(pen, box, [-0.5, pairs.length - 0.5], [0, 1], {
    xLabel: box.w < 300 ? phrase`pair i (fast to slow)` : phrase`pair i (the fast ones left, the slow ones right)`,
    yLabel: phrase`Share of a turn`,
    xTicks: range(0, pairs.length - 1, step),
    yTicks: [0, 0.5, 1],
    yFormat: (turns) => (turns === 0.5 ? "½" : turns),
  });
  const barOf = (from, to) => (pair) => {
    const [top, bottom] = [Y(turnsOf(pair[to])), Y(turnsOf(pair[from] ?? 0))];
    return [X(pair.i - 0.5) + column * 0.08, top, column * 0.84, bottom - top];
  };
  const [whole, partly] = [true, false].map((complete) => pairs.filter((pair) => pair.complete === complete));
  const past = partly.filter(isPast);
  pen.rect(box.x, box.y, column * whole.length, box.h, SEEN);
  pen.rects(partly.map(barOf("", "seen")), SEEN);
  pen.rects(past.map(barOf("seen", "used")), UNSEEN);
  const steps = partly.flatMap(({ i, usedWithout }) =>
    [-0.5, 0.5].map((side) => [X(i + side), Y(turnsOf(usedWithout))]),
  );
  pen.curve(state.rule === "rope" ? [] : steps, WITHOUT);
  const chosen = pairs[state.pair];
  pen.rect(...[X(chosen.i - 0.5), box.y, column, box.h], { stroke: ink.text, width: 1.5 });
  const r = clamp(column / 2.6, 1.8, 4);
  const shown = pairs.filter(({ i, complete }) => !complete || i === state.pair);
  const points = (fresh) =>
    shown.filter((pair) => pair.fresh === fresh).map(({ i, angle }) => [X(i), Y(turnsOf(angle))]);
  const known = points(false).map((point) => [...point, r]);
  pen.circles(known, { fill: ink.text });
  unseenPoints(pen, points(true), r + 0.6);
  drawWhole(pen, box, whole.length, column);
  const at = (px) => ({ pair: clamp(Math.floor((px - box.x) / column), 0, pairs.length - 1) });
  const marks = pairs.map(({ i }) => [`pair ${i}`, { x: X(i - 0.5), y: box.y, w: column, h: box.h }]);
  return { taps: { bars: { ...box, at } }, marks: Object.fromEntries(marks) };
}

/** Label the fast pairs' bars as having gone all the way round, if there is room. */
function drawWhole(pen, { x, y, h }, count, column) {
  const room = count * column - 12;
  const lines = [counted(count, "pair"), phrase`went all the way`, phrase`round in training`];
  const fits = lines.every((words) => textWidth(words) < room);
  lines.forEach((words, n) => {
    pen.text(x + (count * column) / 2, y + h / 2 - 14 + 18 * n, fits ? words : "", { anchor: "middle" });
  });
}

/** Plot how much the rule slows each pair, and how much slowing the slow pairs need. */
function drawSlowed(pen, { x, y, w, h }, { rule }, pairs, factor) {
  const values = pairs.map(({ slowed }) => slowed);
  const [low, high] = [Math.min(1, ...values), Math.max(factor, 2, ...values)];
  const Y = (value) => y + h - (h * (powerOf(value) - powerOf(low))) / (powerOf(high) - powerOf(low));
  const tick = (value) => (value < 1000 ? fmt(value, value < 10 ? 1 : 0) : abbreviated(Number(value.toPrecision(2))));
  pen.text(x, y - 9, phrase`Slowed down by (needed: ${by(factor)})`, { size: 12 });
  pen.line(x, Y(factor), x + w, Y(factor), { stroke: ink.text, width: 1.2, dash: "2 3" });
  const column = w / pairs.length;
  const path = values.map((value, i) => [x + (i + 0.5) * column, Y(value)]);
  pen.curve(path, { stroke: ruleInk[rule], width: 3 });
  pen.text(x - 6, Y(low) + 4, tick(low), noteEnd);
  pen.text(x - 6, Y(high) + 4, tick(high), noteEnd);
}

/** Draw the selected pair's clock, with its numbers. */
function drawClock(pen, face, { rule }, factor, { narrow }) {
  const { cx, cy, r, i } = face;
  pen.areas(wedges([face], "seen", "", 6), SEEN);
  pen.areas(isPast(face) ? wedges([face], "used", "seen", 6) : [], UNSEEN);
  pen.circles(rims([face]), { stroke: ink.muted, width: 1, dash: "3 3" });
  pen.lines(rule === "rope" ? [] : hands([{ ...face, angle: face.ghost }], 1), WITHOUT);
  pen.lines(hands([face], 1), HAND);
  unseenPoints(pen, face.fresh ? tips([face], 1) : [], 5);
  const side = { x: narrow ? cx + r + 24 : cx, anchor: narrow ? "start" : "middle" };
  const top = narrow ? cy - 18 : cy + r + 22;
  const shown = face.complete ? phrase`a whole turn seen` : phrase`${fmt(turnsOf(face.seen))} of a turn seen`;
  const lines = [shown, phrase`slowed down by ${by(face.slowed)}`];
  if (!face.complete) lines.push(phrase`it needs ${by(factor)}`);
  pen.text(narrow ? side.x : cx, narrow ? top : cy - r - 10, phrase`Pair ${i}`, { ...side, weight: 600 });
  pen.part(() =>
    lines.forEach((words, n) => void pen.text(side.x, top + 17 * (narrow ? n + 1 : n), words, { ...side, size: 12 })),
  );
}

/** @param {any} pen @param {any} state @param {{width: number, way?: Way}} size */
function draw(pen, state, { width, way }) {
  const all = measured(state);
  const at = plan(width);
  const pairs = pairsOf(state, all, way);
  legend(width, state.rule !== "rope").draw(pen, at.key + 10);
  const handles = drawRail(pen, state, width, at.rail);
  drawSlowed(pen, at.slow, state, pairs, all.factor);
  const grasp = drawBars(pen, at.bars, pairs, state);
  drawClock(pen, { ...pairs[state.pair], ...at.clock }, state, all.factor, at);
  return { ...handles, ...grasp };
}

function readout(state) {
  const all = measured(state);
  const { slowed, far, factor } = all;
  const last = slowed.length - 1;
  const many = pairsOf(state, all).filter(({ fresh }) => fresh).length;
  const hands =
    many === 1
      ? phrase`${many} of ${last + 1} hands points where training never showed one`
      : phrase`${many} of ${last + 1} hands point where training never showed one`;
  const none = phrase`no hand points where training never showed one`;
  const place = phrase`At position ${grouped(state.position)}, ${many ? hands : none}.`;
  const rule =
    state.rule === "rope"
      ? phrase`No rule slows a pair down`
      : phrase`Stretch ${by(factor)}, ${phraseOf(RULES[state.rule])}: pair 0 is slowed down by ${by(slowed[0])}, pair ${last}
          by ${by(slowed[last])}`;
  if (!Number.isFinite(far))
    return phrase`${place} ${rule}. Every pair completes a turn in training: no angle is ever new.`;
  const until =
    far >= state.wanted * (1 - 1e-9)
      ? phrase`no angle is new up to the wanted ${grouped(state.wanted)} tokens`
      : phrase`the first new angle comes at ${grouped(far)} tokens`;
  return phrase`${place} ${rule}; ${until}.`;
}

const results = (state) => ({ reach: measured(state).far });

export default live({
  name: "StretchedClocks",
  title: phrase`For each pair the share of a turn that training has shown, and how far its hand goes under a rule`,
  height: (width) => plan(width).height,
  draw,
  readout,
  results,
  panel: (width) => [0, plan(width).bars.y + plan(width).bars.h + 40],
  smooth: ["position", "wanted", "trained"],
  play: { trait: "position", perSecond: 4096, speeds: [1, 4, 16] },
});
