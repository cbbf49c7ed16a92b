import { RULES } from "../data/rules.js";
import { axes } from "../lib/axes.js";
import { ink, noteMiddle, ruleInk } from "../lib/colour.js";
import { boxAround, hands, inRows, rims, tips, wedges } from "../lib/faces.js";
import { live } from "../lib/figure.js";
import { centred } from "../lib/labels.js";
import { legendOf } from "../lib/legend.js";
import { SEEN, UNSEEN, unseenPoints } from "../lib/marks.js";
import { abbreviated, clamp, decade, fmt, grouped, powerOf, range } from "../lib/numbers.js";
import { phrase, phraseOf } from "../lib/phrase.js";
import { counted, textWidth } from "../lib/words.js";
import { invFreq, reachWithin, ropeAngles, withinTurn } from "../maths/frequencies.js";
import { divisors, stretched } from "../maths/stretch.js";
import { completesTurn, meetsNewAngle, reach } from "../maths/trained_range.js";

/** For each pair: the frequency before and after the rule, the range of angles seen in training, and whether the
 * rule slows the pair enough. */
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
const KEY = [
  { words: phrase`seen in training`, box: SEEN },
  { words: phrase`never seen`, box: UNSEEN, sign: (pen, x, y) => unseenPoints(pen, [[x + 12, y]], 3) },
  { words: phrase`hand under the rule`, style: { stroke: ink.text, width: 2.4 } },
  { words: phrase`without it`, style: WITHOUT },
];
const legend = (width) => legendOf(KEY, width - 4, { drop: 5 });

const NUMBER = 14; // pixels under a face for its pair's number

/** Place faces in a box, as large as possible, with `below` pixels under each. */
function placed(faces, { x, y, w, h }, below) {
  const sizes = range(1, Math.max(1, faces.length)).map((rows) => {
    const columns = Math.max(1, Math.ceil(faces.length / rows));
    return { columns, cell: Math.min(w / columns, h / rows - below, 92) };
  });
  const [{ columns, cell }] = sizes.sort((one, other) => other.cell - one.cell);
  const r = cell / 2 - (below ? 6 : 2);
  return inRows(faces, { x: x + (w - columns * cell) / 2, y, columns, cell, row: cell + below, r });
}

/** Lay out, from top to bottom, the rail, the legend, the fast faces, the slow faces, and the chart of slowdowns.
 */
function parts(width) {
  const narrow = width < 560;
  const [rail, key] = [34, 70];
  const fast = { x: 2, y: key + legend(width).height + 28, w: width - 4, h: narrow ? 66 : 58 };
  const slow = { ...fast, y: fast.y + fast.h + 30, h: narrow ? 226 : 190 };
  const chart = { x: 52, y: slow.y + slow.h + 38, w: width - 70, h: 92 };
  return { rail, key, fast, slow, chart, height: chart.y + chart.h + 44 };
}

/** Draw the text up to the wanted length, marking the trained part and the current position. */
function drawRail(pen, { position, trained, wanted }, width, y) {
  const [x, w, most] = [14, width - 28, Math.max(trained, wanted)];
  const X = (token) => x + (w * token) / most;
  pen.rect(x, y - 6, X(trained) - x, 12, SEEN);
  pen.line(x, y, x + w, y, { stroke: ink.muted, width: 1 });
  const marks = [trained, wanted].map((token) => [X(token), y - 6, X(token), y + 6]);
  pen.lines(marks, { stroke: ink.text, width: 1.5 });
  const short = (length) => (length < 1e6 ? grouped(length) : abbreviated(Math.round(length / 1e4) * 1e4));
  const names = [`L = ${short(trained)}`, `L′ = ${short(wanted)}`];
  const halves = names.map((name) => textWidth(name, 12) / 2);
  const ends = [trained, wanted].map((token, i) => centred(X(token), names[i], 2, width - 2, { size: 12 }));
  const room = halves[0] + halves[1] + 8;
  if (Math.abs(ends[1] - ends[0]) < room) {
    const [left, right] = ends[0] <= ends[1] ? [0, 1] : [1, 0]; // keep both names inside the edges
    ends[left] = clamp((ends[0] + ends[1] - room) / 2, 2 + halves[left], width - 2 - room - halves[right]);
    ends[right] = ends[left] + room;
  }
  for (const [i, name] of names.entries()) pen.text(ends[i], y + 22, name, { anchor: "middle", size: 12 });
  const words = `m = ${grouped(position)}`;
  const at = centred(X(position), words, 2, width - 2, { bold: true });
  pen.text(at, y - 14, words, { anchor: "middle", fill: ink.positionWords, weight: 600 });
  pen.circle(X(position), y, 7, { fill: ink.position, stroke: ink.text, width: 1.5 });
  const token = (px) => clamp((most * (px - x)) / w, 1, wanted);
  return { position: { x: X(position), y, at: token } };
}

/** Draw each pair as a clock face with the wedge seen in training, the angles that the text has reached, and the
 * hand with and without the rule. */
function facesOf({ position, trained }, { plain, changed, seen }, way) {
  const before = way ? measured(way.from).changed : [];
  const share = before.length === changed.length ? way.share : 1; // share of the way from the previous rule
  const speeds = changed.map((speed, i) => (share < 1 ? before[i] + (speed - before[i]) * share : speed));
  const [angles, without] = [speeds, plain].map((rates) => ropeAngles(position, rates).map(withinTurn));
  const fresh = meetsNewAngle(position, changed, trained, plain);
  return speeds.map((speed, i) => {
    const used = reachWithin(position, speed);
    return { i, seen: seen[i], used, angle: angles[i], ghost: without[i], fresh: fresh[i] };
  });
}

/** Draw the fast pairs, which completed a turn in training. */
function drawFast(pen, faces, field) {
  const pairs = counted(faces.length, "pair");
  const words =
    field.w < 330 ? phrase`${pairs} went all the way round` : phrase`${pairs} went all the way round in training`;
  pen.text(2, field.y - 8, faces.length ? words : "");
  const at = placed(faces, field, 0);
  pen.circles(rims(at), { ...SEEN, stroke: ink.position, width: 1 });
  pen.lines(hands(at, 1), { stroke: ink.text, width: 1.6 });
}

/** Draw the slow pairs, with the wedge seen in training, the new angles that the text has reached, and the hands.
 */
function drawSlow(pen, faces, field, ghosts) {
  const words = faces.length ? phrase`${counted(faces.length, "pair")} saw only a wedge` : "";
  pen.text(2, field.y - 8, words);
  const at = placed(faces, field, NUMBER);
  pen.areas(wedges(at, "seen", "", 6), SEEN);
  const past = at.filter(({ used, seen }) => used > seen * (1 + 1e-12));
  pen.areas(wedges(past, "used", "seen", 6), UNSEEN);
  pen.circles(rims(at), { stroke: ink.muted, width: 1, dash: "3 3" });
  const without = ghosts ? at.map((face) => ({ ...face, angle: face.ghost })) : [];
  pen.lines(hands(without, 1), WITHOUT);
  pen.lines(hands(at, 1), { stroke: ink.text, width: 2.6 });
  const fresh = at.filter((face) => face.fresh);
  unseenPoints(pen, tips(fresh, 1), Math.min(5, (at[0]?.r ?? 0) / 3));
  pen.part(() => {
    for (const { i, cx, cy, r } of at) pen.text(cx, cy + r + NUMBER, i, noteMiddle);
  });
  return Object.fromEntries(at.map((face) => [`pair ${face.i}`, boxAround(face, 2, NUMBER + 2)]));
}

/** Draw the lower chart, which compares each pair's slowdown with the slowdown needed. */
function drawSlowed(pen, box, { rule }, { factor, slowed, short, complete }) {
  const pairs = slowed.length;
  const powers = [...slowed, factor].map(powerOf);
  /** @type {Pair} */
  const ends = [Math.min(0, ...powers) - 0.06, Math.max(0.35, ...powers) + 0.1];
  const step = pairs >= 32 ? (box.w < 420 ? 16 : 8) : pairs / 4;
  const decades = range(Math.floor(ends[0]), Math.ceil(ends[1]));
  const apart = ends[1] - ends[0];
  const marks = decades.flatMap((power) => (apart > 1.4 ? [1] : [1, 2, 5]).map((m) => power + powerOf(m)));
  const { X, Y } = axes(pen, box, [-0.5, pairs - 0.5], ends, {
    xLabel: box.w < 300 ? phrase`pair i (fast to slow)` : phrase`pair i (the fast ones left, the slow ones right)`,
    yLabel: phrase`Slowed down by (logarithmic)`,
    xTicks: range(0, pairs - 1, step),
    yTicks: marks.filter((t) => t >= ends[0] && t <= ends[1]),
    yFormat: (power) => decade(power, -1.5, 3.5),
  });
  const full = complete.filter(Boolean).length;
  pen.rect(box.x, box.y, X(full - 0.5) - box.x, box.h, full ? SEEN : { opacity: 0 });
  const y = Y(powerOf(factor));
  pen.line(box.x, y, box.x + box.w, y, { stroke: ink.text, width: 1.2, dash: "2 3" });
  const points = slowed.map((by, i) => /** @type {Pair} */ ([X(i), Y(powerOf(by))]));
  pen.curve(points, { stroke: ruleInk[rule], width: 3.5 });
  const tooLittle = points.filter((_, i) => short[i]);
  unseenPoints(pen, tooLittle, 3.5);
  const words = `L′/L = ${fmt(factor, factor < 10 ? 2 : 0)}`;
  pen.text(box.x + 6, y < box.y + 20 ? y + 16 : y - 6, words, { size: 12 });
}

/** @param {any} pen @param {any} state @param {{width: number, way?: Way}} size */
function draw(pen, state, { width, way }) {
  const all = measured(state);
  const { rail, key, fast, slow, chart } = parts(width);
  const faces = facesOf(state, all, way);
  legend(width).draw(pen, key + 10);
  const [round, partly] = [true, false].map((whole) => faces.filter(({ i }) => all.complete[i] === whole));
  drawFast(pen, round, fast);
  const marks = drawSlow(pen, partly, slow, state.rule !== "rope");
  drawSlowed(pen, chart, state, all);
  return { ...drawRail(pen, state, width, rail), marks };
}

function readout(state) {
  const all = measured(state);
  const { slowed, far, factor } = all;
  const last = slowed.length - 1;
  const by = (value) => fmt(value, value < 100 ? 2 : 0);
  const many = facesOf(state, all).filter(({ fresh }) => fresh).length;
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
  title: phrase`Each pair's clock: the wedge that training has shown, and how far the hand goes under a rule`,
  height: (width) => parts(width).height,
  draw,
  readout,
  results,
  panel: (width) => [0, parts(width).chart.y - 26],
  smooth: ["position", "wanted", "trained"],
  play: { trait: "position", perSecond: 4096, speeds: [1, 4, 16] },
});
