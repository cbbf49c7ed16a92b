import { RULES } from "../data/rules.js";
import { ink, noteEnd, noteMiddle } from "../lib/colour.js";
import { flown, inRows, rims } from "../lib/faces.js";
import { live } from "../lib/figure.js";
import { centred } from "../lib/labels.js";
import { BEYOND, nameBeyond, unseenPoints } from "../lib/marks.js";
import { memo } from "../lib/memo.js";
import {
  abbreviated,
  clamp,
  fmt,
  fromPlace,
  grouped,
  last,
  placeFromZero,
  range,
  sorted,
  sum,
} from "../lib/numbers.js";
import { phrase, phraseOf } from "../lib/phrase.js";
import { listed, textWidth } from "../lib/words.js";
import { contentScore, extent, fern, followed, heightOf } from "../maths/fern.js";
import { invFreq } from "../maths/frequencies.js";
import { stretched } from "../maths/stretch.js";
import { meetsNewAngle } from "../maths/trained_range.js";

const FAR = 1048576; // end of the axis, in tokens
const SIDE_BY_SIDE = ["rope", "pi", "ntk-aware", "yarn", "llama3"];
const FEW = ["rope", "pi", "yarn"]; // rules drawn where space is tight
const LABELS = 34; // pixels below side-by-side ferns for their names and numbers
const CHUNKS = 8; // pieces of a stem, thinner from the root to the tip
const SAMPLES = sorted(range(0, 240).map((n) => Math.round(fromPlace((n / 240) * placeFromZero(FAR)))));
const GLOW = { stroke: ink.other, opacity: 0.5 };
const STRAIGHT = { stroke: ink.muted, width: 1.2, dash: "2 5" }; // the stem of distance 0
const TIP = { fill: ink.score, stroke: ink.text, width: 1.5 }; // its height is the score

/** A head's frequencies with and without a rule, and the attention factor, which scales the hands. */
const rotationOf = memo((rule, { head_dim, base, trained, factor, frequencies, attention_factor }) => {
  if (rule === "file") {
    const plain = invFreq(2 * frequencies.length || head_dim, base);
    return { invFreq: frequencies.length ? frequencies : plain, attentionFactor: attention_factor, plain };
  }
  return { ...stretched(rule, head_dim, base, trained, trained * factor), plain: invFreq(head_dim, base) };
}, 16);

const settingsOf = ({ head_dim, base, trained, factor, frequencies, attention_factor }) => ({
  ...{ head_dim, base, trained, factor, frequencies, attention_factor },
});
const contentOf = ({ lengths, angles }) => ({ lengths, angles });
const rotationIn = (state, rule = state.rule) => rotationOf(rule, settingsOf(state));
const pairsIn = (state) => rotationIn(state).invFreq.length;

/** The fern's joints for a state and a distance. */
const grown = (state, distance, rule) => fern(rotationIn(state, rule), distance, contentOf(state));

/** The score curve under a rule, and a box that bounds the fern at every distance. */
const allOf = memo((rule, settings, content) => {
  const ferns = SAMPLES.map((distance) => fern(rotationOf(rule, settings), distance, content));
  return { box: extent(ferns), scores: ferns.map(heightOf) };
}, 16);
const all = (state, rule = state.rule) => allOf(rule, settingsOf(state), contentOf(state));

/** Lay out columns as wide as their ferns, with equal gaps. Returns the x of each column's middle and of its fern's
 * root.
 */
function columnsOf(boxes, scale, { left, wide }) {
  const widths = boxes.map((box) => (box[1] - box[0]) * scale);
  const gap = (wide - sum(widths)) / boxes.length;
  const starts = boxes.map((_, n) => left + n * gap + sum(widths.slice(0, n)));
  return starts.map((start, n) => ({
    middle: start + (widths[n] + gap) / 2,
    root: start + gap / 2 - boxes[n][0] * scale,
  }));
}

/** Lay out one fern, or several side by side at the same height, above the distance rail. */
function plan(width, state, { shows }) {
  const several = state.shown === "rules";
  const room = Math.round(clamp(0.46 * width + 46, 300, 376)); // height from the top of the ferns to the rail
  const tall = room - (several ? LABELS : 0) - 12;
  const [left, right, top] = [38, width - 14, 42];
  const both = shows("fern") && shows("score") && !several;
  const wide = both ? clamp(0.3 * width, 84, 230) : right - left;
  const rail = several || !both ? [left + 14, right - 4] : [left + wide + 14, right - 4];
  const rules = several ? (width < 480 ? FEW : SIDE_BY_SIDE) : [state.rule];
  const boxes = rules.map((rule) => all(state, rule).box);
  const lowest = Math.min(-0.12, ...boxes.map((box) => box[2]));
  const highest = Math.max(1, ...boxes.map((box) => box[3]));
  const across = sum(boxes.map((box) => box[1] - box[0]));
  const most = shows("fern") ? (wide - 10 * rules.length) / across : Infinity;
  const scale = Math.min(tall / (highest - lowest), most);
  const ground = top + tall + lowest * scale;
  const columns = columnsOf(boxes, scale, { left, wide });
  const thick = clamp(wide / rules.length / 26, 3, 7); // line width of the slowest hand
  const foot = top + room;
  const frame = { left, right, top, tall, foot, height: foot + 64 };
  return { ...frame, several, rail, rules, columns, thick, scale, ground, lowest, highest };
}

/** Convert joints to pixels. @type {(joints: Pair[], root: number, at: {ground: number, scale: number}) => Pair[]}
 */
const inPicture = (joints, root, { ground, scale }) => joints.map(([x, y]) => [root + x * scale, ground - y * scale]);

/** Draw the ground, and grid lines at multiples of one half. */
function drawGround(pen, { left, right, ground, scale, lowest, highest }, faint) {
  const ticks = range(-1, 1.5, 0.5).filter((tick) => tick >= lowest && tick <= highest + 1e-9);
  const Y = (value) => ground - value * scale;
  const levels = ticks.map((tick) => [left, Y(tick), right, Y(tick)]);
  pen.lines(levels, { stroke: ink.grid, width: 1, opacity: faint });
  pen.line(left, ground, right, ground, { stroke: ink.muted, width: 2, opacity: faint });
  pen.part(() => {
    for (const tick of ticks)
      pen.text(left - 5, Y(tick) + 4, fmt(tick, tick % 1 ? 1 : 0), { ...noteEnd, opacity: faint });
  });
}

/** @type {(n: number, joints: Pair[]) => Pair} */
const midway = (n, joints) => [(joints[n][0] + joints[n + 1][0]) / 2, (joints[n][1] + joints[n + 1][1]) / 2];

/** Draw the stem, thicker where its hands are slower, with an orange diamond at each hand whose angle was never
 * seen in training. */
function drawStem(pen, joints, fresh, thick) {
  const pairs = joints.length - 1;
  const odd = range(0, pairs - 1).filter((n) => fresh[pairs - 1 - n]);
  const glowing = odd.map((n) => /** @type {Segment} */ ([...joints[n], ...joints[n + 1]]));
  pen.lines(glowing, { ...GLOW, width: thick + 7 });
  for (const chunk of range(0, CHUNKS - 1)) {
    const [from, to] = [chunk, chunk + 1].map((n) => Math.round((n * pairs) / CHUNKS));
    const width = thick * (1 - (0.72 * chunk) / (CHUNKS - 1));
    pen.curve(joints.slice(from, to + 1), { stroke: ink.position, width });
  }
  const middles = odd.map((n) => midway(n, joints));
  unseenPoints(pen, middles, 1.6);
}

/** Draw a fern beside the straight stem of distance 0, and return the fern's joints in pixels. */
function drawFern(pen, state, rule, root, { ground, scale, thick, highest }) {
  const rotation = rotationIn(state, rule);
  const joints = inPicture(grown(state, state.distance, rule), root, { ground, scale });
  const fresh = meetsNewAngle(state.distance, rotation.invFreq, state.trained, rotation.plain);
  const whole = heightOf(fern({ ...rotation, invFreq: rotation.invFreq.map(() => 0) }, 0));
  pen.line(root, ground, root, ground - Math.min(whole, highest) * scale, STRAIGHT);
  drawStem(pen, joints, fresh, thick);
  return joints;
}

/** Draw each hand on its way from its clock to its position in the stem, slow hands first. */
function drawGathering(pen, state, at) {
  const joints = inPicture(grown(state, state.distance), at.columns[0].root, at);
  const pairs = joints.length - 1;
  const [w, h] = [at.right - at.left, at.tall];
  const cellOf = (columns) => Math.min(w / columns, (columns * h) / pairs);
  const [columns] = range(1, pairs)
    .filter((count) => pairs % count === 0) // allow only full rows
    .sort((one, other) => cellOf(other) - cellOf(one));
  const cell = cellOf(columns);
  const grid = { x: at.left + (w - columns * cell) / 2, y: at.top, columns, cell, row: cell, r: 0.42 * cell };
  const hours = range(0, pairs - 1).map((i) => ({ i }));
  const faces = inRows(hours, grid);
  const shareOf = (i) => clamp(1.8 * state.gathered - (0.8 * i) / pairs, 0, 1); // the fastest hand comes last
  pen.circles(rims(faces), { stroke: ink.grid, width: 1.5, opacity: 1 - state.gathered });
  const hands = faces.map(({ i, ...face }) =>
    flown(face, [joints[pairs - 1 - i], joints[pairs - i]], shareOf(pairs - 1 - i)),
  );
  pen.lines(hands, { stroke: ink.position, width: 2.5 });
}

/** Draw the words on the rail: the dog is fixed, and the pig can be dragged. */
function drawRail(pen, state, { rail, foot, left }, width) {
  const [x0, x1] = rail;
  const X = (distance) => x0 + ((x1 - x0) * placeFromZero(distance)) / placeFromZero(FAR);
  const ticks = width < 520 ? [0, 10, 1000, 1e5] : [0, 1, 10, 100, 1000, 1e4, 1e5, 1e6];
  const marks = ticks.map((tick) => [X(tick), foot, X(tick), foot + 5]);
  pen.lines(marks, { stroke: ink.muted, width: 1.2 });
  pen.line(x0, foot, x1, foot, { stroke: ink.grid, width: 3 });
  pen.line(x0, foot, X(state.distance), foot, { stroke: ink.position, width: 4 });
  pen.part(() => {
    for (const tick of ticks) pen.text(X(tick), foot + 22, abbreviated(tick), noteMiddle);
  });
  const at = Math.round(state.start);
  const [dog, pig] = at ? [`dog ${grouped(at)}`, `pig ${grouped(at + Math.round(state.distance))}`] : ["dog", "pig"];
  const bold = { size: 14, bold: true };
  const [wide, half] = [textWidth(dog, 14, true), textWidth(pig, 14, true) / 2];
  const wanted = centred(X(state.distance), pig, left, width - 4, bold);
  const first = Math.max(2, Math.min(x0 - wide / 2, wanted - half - 8 - wide)); // place the two names side by side
  const middle = Math.max(wanted, first + wide + 8 + half);
  pen.circle(x0, foot, 8, { fill: ink.q, stroke: ink.paper, width: 1.5 });
  pen.circle(X(state.distance), foot, 10, { fill: ink.k, stroke: ink.paper, width: 1.5 });
  pen.text(first, foot + 42, dog, { size: 14, weight: 700, fill: ink.qWords });
  pen.text(middle, foot + 42, pig, { anchor: "middle", size: 14, weight: 700, fill: ink.kWords });
  pen.text((x0 + x1) / 2, foot + 59, phrase`distance (tokens)`, noteMiddle);
  const to = (px) => fromPlace(clamp((px - x0) / (x1 - x0), 0, 1) * placeFromZero(FAR));
  return { X, pig: { x: X(state.distance), y: foot, ring: 12, ink: ink.k, trait: "distance", at: to } };
}

/** Plot the height of the tip against distance, solid up to the current distance and dotted beyond. */
function drawScore(pen, state, { ground, scale, top, tall, rail }, X, shown) {
  const { scores } = all(state);
  const here = heightOf(grown(state, state.distance));
  const Y = (value) => ground - value * scale;
  const beyond = X(Math.min(state.trained, FAR));
  pen.rect(beyond, top, rail[1] - beyond, tall, { ...BEYOND, opacity: BEYOND.opacity * shown });
  const point = (n) => [X(SAMPLES[n]), Y(scores[n])];
  const walked = range(0, SAMPLES.length - 1).filter((n) => SAMPLES[n] < state.distance);
  const spot = /** @type {Pair} */ ([X(state.distance), Y(here)]);
  const rest = range(walked.length, SAMPLES.length - 1).map(point);
  pen.curve([spot, ...rest], { stroke: ink.score, width: 1.4, dash: "2 4", opacity: 0.8 * shown });
  pen.curve([...walked.map(point), spot], { stroke: ink.score, width: 2.6, opacity: shown });
  nameBeyond(pen, { x: beyond, y: top, w: rail[1] - beyond }, shown);
  return spot;
}

/** Draw a horizontal line from the tip to the score curve. */
function drawLevel(pen, state, tip, [x, y], { right, top }, width) {
  pen.line(tip[0], tip[1], x, y, { stroke: ink.score, width: 1.5, dash: "5 4" });
  pen.circle(x, y, 6, TIP);
  const words = phrase`score ${fmt(heightOf(grown(state, Math.round(state.distance))))}`;
  const style = { size: 15, bold: true };
  const at = centred(x + 14 + textWidth(words, 15, true) / 2, words, 2, Math.min(right, width - 2), style);
  const wide = textWidth(words, 15, true);
  const baseline = Math.max(y + (at - wide / 2 < x + 10 ? -14 : -8), top + 26);
  pen.rect(at - wide / 2 - 3, baseline - 14, wide + 6, 19, { fill: ink.paper, opacity: 0.8, radius: 4 });
  pen.text(at, baseline, words, { anchor: "middle", size: 15, weight: 700, fill: ink.scoreWords });
}

/** Draw the rules' ferns side by side, each with the rule's name and its tip's height. */
function drawRules(pen, state, at) {
  for (const [n, rule] of at.rules.entries()) {
    const joints = drawFern(pen, state, rule, at.columns[n].root, at);
    const { middle } = at.columns[n];
    const height = fmt(heightOf(grown(state, Math.round(state.distance), rule)));
    const [x, y] = last(joints);
    pen.circle(x, y, 4, { fill: ink.score, stroke: ink.text, width: 1 });
    pen.text(middle, at.top + at.tall + 14, phraseOf(RULES[rule]), { anchor: "middle", size: 12, weight: 600 });
    pen.text(middle, at.top + at.tall + 30, height, { anchor: "middle", size: 13, weight: 700, fill: ink.scoreWords });
  }
}

function draw(pen, state, { width, shows }) {
  const at = plan(width, state, { shows });
  const shown = at.several ? 1 : state.gathered;
  const name =
    width < 420
      ? phrase`Height of the tip = score`
      : phrase`Height of the tip = score, as a share of the straight stem`;
  pen.text(2, 16, shown < 0.5 ? phrase`${pairsIn(state)} pairs of numbers as clocks` : name);
  drawGround(pen, at, shown);
  const { X, pig } = drawRail(pen, state, at, width);
  if (at.several) {
    pen.part(() => drawRules(pen, state, at));
    return { pig };
  }
  const spot = shows("score") ? drawScore(pen, state, at, X, shown) : undefined;
  if (shown < 1) {
    drawGathering(pen, state, at);
    return { pig };
  }
  const tip = last(drawFern(pen, state, state.rule, at.columns[0].root, at));
  if (spot) drawLevel(pen, state, tip, spot, at, width);
  pen.circle(...tip, 6, TIP);
  const to = (px, py) => {
    const point = [(px - at.columns[0].root) / at.scale, (at.ground - py) / at.scale];
    return followed(rotationIn(state), state.distance, /** @type {Pair} */ (point), contentOf(state));
  };
  return { pig, tip: { x: tip[0], y: tip[1], ink: ink.score, trait: "distance", at: to } };
}

const apart = (distance) => (distance === 1 ? phrase`1 token apart` : phrase`${grouped(distance)} tokens apart`);

/** A sentence that counts the hands at angles never seen in training, or "" if there are none. */
function freshWords(state, distance) {
  const { invFreq: rates, plain } = rotationIn(state);
  const fresh = meetsNewAngle(distance, rates, state.trained, plain).filter(Boolean).length;
  if (!fresh) return "";
  return fresh === 1
    ? phrase` One hand glows: it points where training never showed it.`
    : phrase` ${fresh} hands glow: they point where training never showed them.`;
}

/** A clause that gives the score of a query and a key, computed from the height of their fern. */
function contentWords(state, distance) {
  const score = contentScore(grown(state, distance), contentOf(state));
  return phrase`the score of this query and key is ${fmt(score, 1)}.`;
}

function readout(state) {
  const distance = Math.round(state.distance);
  const hands = pairsIn(state);
  const height = (rule) => fmt(heightOf(grown(state, distance, rule)));
  const near = (rule) => fmt(heightOf(grown(state, 1, rule)), 4);
  if (state.shown === "rules") {
    const each = (heights) => listed(SIDE_BY_SIDE.map((rule) => `${phraseOf(RULES[rule])} ${heights(rule)}`));
    return phrase`${apart(distance)} the ferns reach: ${each(height)}. One token apart they reach: ${each(near)}.`;
  }
  if (state.gathered < 1) {
    return phrase`Dog and pig are ${apart(distance)}. Each of the ${hands} pairs is a clock that this distance has turned, the first the fastest.`;
  }
  const score =
    state.lengths.length || state.angles.length
      ? contentWords(state, distance)
      : phrase`that is the score of two equal vectors.`;
  const from = Math.round(state.start);
  const where = from
    ? phrase` Their positions are ${grouped(from)} and ${grouped(from + distance)}, but only the distance turns the hands.`
    : "";
  return phrase`${apart(distance)}, the ${hands} hands reach ${height()} of the straight stem: ${score}${where}${freshWords(state, distance)}`;
}

/** Setting the stretch factor selects PI if no rule is selected; setting the attention factor selects the file's own rule. */
function follow(before, held) {
  if ("rule" in held || "model" in held || before.shown !== "one") return {};
  if ("attention_factor" in held) return { rule: "file" };
  return "factor" in held && before.rule === "rope" ? { rule: "pi" } : {};
}

const OF_FILE = ["frequencies", "attention_factor"];

/** The names of the controls that currently have an effect. */
function uses(state) {
  const several = state.shown === "rules";
  const isFile = state.rule === "file" && !several;
  const idle = [
    ...(several ? ["rule", "gathered"] : []),
    ...(isFile ? ["factor", ...(state.frequencies.length ? ["head_dim", "base"] : [])] : OF_FILE),
    ...(state.rule === "rope" && !several ? ["factor"] : []),
  ];
  return Object.keys(state).filter((name) => !idle.includes(name));
}

export default live({
  name: "Fern",
  title: phrase`A head's hands laid tip to tail: a stem that curls as two words move apart; the height of its tip is their score`,
  height: (width, state, view) => plan(width, state, view).height,
  draw,
  readout,
  follow,
  uses,
  smooth: ["distance", "start"],
  time: 900,
});
