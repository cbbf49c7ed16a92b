import { ENGINE } from "../data/engine.js";
import { PROSE } from "../data/prose.js";
import { RECORD } from "../data/record.js";
import { axes } from "../lib/axes.js";
import { ink, noteMiddle } from "../lib/colour.js";
import { allowed } from "../lib/controls.js";
import { live } from "../lib/figure.js";
import { makeHelper } from "../lib/helper.js";
import { legendOf } from "../lib/legend.js";
import { clamp, fmt, grouped, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { attentionPicture, drawPlaceBars, entriesOfPlaces, isRightEnough, LEVEL } from "../lib/places.js";
import { counted, listed, textWidth } from "../lib/words.js";
import { binSize, means } from "../maths/long_text.js";
import { answer } from "../maths/page_answer.js";
import { trainedRope } from "../maths/page_doors.js";
import { fileOf, readFile } from "../maths/page_file.js";
import { runName } from "../maths/page_plan.js";
import { holdProse } from "../maths/page_prose.js";
import { guessOf, pageTask, placesOf } from "../maths/page_tasks.js";
import { sizeOf } from "../maths/page_weights.js";

const CHART = 170; // height of a chart, in pixels
const HEADMAP = 150; // side of the attention map, in pixels
const POINTS = 160; // maximum number of points per curve
const MOST_STEPS = 2000;
const PAIRS = 8; // pairs per head
const ASK = 200; // target duration of a worker's request, in ms
const LOOK = 1000; // ms between two evaluations of the model
const NAMES = {
  rotary: "RoPE",
  "p-rope": "p-RoPE",
  sinusoidal: phrase`Sinusoids`,
  learned: phrase`Learned vectors`,
  alibi: "ALiBi",
  t5: phrase`T5’s bias`,
  none: phrase`No encoding`,
};
const RULES = {
  pi: "PI",
  "ntk-aware": "NTK-aware",
  "by-parts": phrase`by parts`,
  yarn: "YaRN",
  llama3: phrase`Llama 3’s rule`,
  abf: "ABF",
};

holdProse(PROSE);
const helpers = [makeHelper(ENGINE), makeHelper(ENGINE)]; // one per encoding: at most two threads

/** The progress of each run: losses, steps requested, and answers for each way of reading. */
const standings = new Map();
const untrained = () => ({ step: 0, losses: [], asked: 0, kept: undefined, looks: new Map() });
const begun = () => ({ ...untrained(), chunk: 8, looked: 0 });
function standing(state) {
  const name = runName(state);
  if (!standings.has(name)) standings.set(name, begun());
  return standings.get(name);
}
const readingName = ({ times, rule, abf_base, head }) => `${times} ${rule} ${abf_base} ${head}`;

/** The runs that a state includes, each as a state of its own, with the main run first. */
function membersOf(state) {
  const { encoding, against, seeds, seed } = state;
  const encodings = [encoding, against].filter((name, i, all) => name && all.indexOf(name) === i);
  return encodings.flatMap((name) => range(0, seeds - 1).map((n) => ({ ...state, encoding: name, seed: seed + n })));
}

/** The answers of a run by position, unless they belong to a later step than the current state. */
function lookAt(member) {
  const look = standing(member).looks.get(readingName(member));
  return look && look.step <= member.steps ? look : undefined;
}
const stepOf = (member) => Math.min(standing(member).step, member.steps);
const isDone = (member) => standing(member).step === member.steps && lookAt(member)?.step === member.steps;

/** Store a reply from an engine. */
function keep(member, { step, losses, right, inside }, asked) {
  const run = standing(member);
  Object.assign(run, { step, losses, asked, kept: undefined });
  if (right) run.looks.set(readingName(member), { step, right, inside });
}

/** Train up to the state's step, in workers or on this thread; with `whole`, train synchronously. */
function* work(state, whole) {
  const members = membersOf(state);
  if (state.steps === 0 || members.every(isDone)) return;
  if (!whole) yield; // do not start training while a control is still moving
  for (const run of members.map(standing)) {
    if (run.step > state.steps) Object.assign(run, untrained()); // the run is already past the requested step
  }
  while (!members.every(isDone)) {
    const left = members.filter((member) => !isDone(member));
    if (!whole && helpers[0].works()) {
      yield Promise.all(left.map((member) => asked(member, state.encoding)));
      continue;
    }
    for (const member of left) {
      const question = questionOf(member, 1);
      keep(member, answer(question), question.until);
      yield;
    }
  }
}

/** The next request to an engine: `chunk` steps, plus an evaluation at the end of the run or when one is due. */
function questionOf(member, chunk) {
  const run = standing(member);
  const until = Math.min(member.steps, run.step + chunk);
  const look = until === member.steps || (chunk > 1 && performance.now() - run.looked > LOOK);
  run.asked = until;
  return { settings: member, until, look, kept: run.kept };
}

/** Send a request to a worker; if none is available, the next round runs on this thread. Each run stays with the
 * worker that started it. */
async function asked(member, first) {
  const run = standing(member);
  run.helper ??= member.encoding === first ? 0 : 1;
  const question = questionOf(member, run.chunk);
  const text = member.task === "text" ? PROSE : undefined;
  const began = performance.now();
  try {
    keep(member, await helpers[run.helper].ask({ ...question, text }), question.until);
  } catch {
    return;
  }
  if (question.look) run.looked = performance.now();
  else run.chunk = clamp(Math.round(run.chunk * clamp(ASK / (performance.now() - began), 0.5, 2)), 1, 100);
}

/** What to show for a state: all runs, the first encoding's runs as `own`, and a function that computes bars of
 * mean accuracy, in percent. */
function shown(state) {
  const { task, length, times, encoding } = state;
  const [trained, total] = [placesOf(task, length) - 1, placesOf(task, length * times) - 1];
  const mean = (part) => (part?.length ? means([part], part.length)[0] : NaN);
  const runs = membersOf(state).map((member) => {
    const look = lookAt(member);
    const places = look && Float64Array.from(look.right).subarray(1);
    return {
      encoding: member.encoding,
      isOwn: member.encoding === encoding,
      places,
      inside: look?.inside,
      known: mean(places?.subarray(0, trained)),
      beyond: mean(places?.subarray(trained, total)),
      losses: standing(member).losses.slice(0, stepOf(member)),
    };
  });
  const size = binSize(trained, times);
  function barsOf(runs) {
    const known = runs.map(({ places }) => places).filter(Boolean);
    return known.length ? means(known, size).map((bar) => 100 * bar) : [];
  }
  return { trained, total, size, runs, own: runs.filter(({ isOwn }) => isOwn), barsOf, guess: guessOf(task) };
}

const RING = { fill: ink.paper, stroke: ink.text, width: 1.6 };
const GUESSING = { words: phrase`guessing`, style: LEVEL };
const SEED = { words: phrase`one seed`, sign: (pen, x, y) => pen.circle(x + 12, y, 3.5, { fill: ink.text }) };
function legend({ task, length, against, seeds, encoding }, width) {
  const other = { words: NAMES[against], sign: (pen, x, y) => pen.circle(x + 12, y, 4, RING) };
  const beside = against && against !== encoding ? [other] : [];
  return legendOf(
    [...entriesOfPlaces(placesOf(task, length) - 1), GUESSING, ...(seeds > 1 ? [SEED] : []), ...beside],
    width - 4,
  );
}

/** Lay out the losses beside or above the answers by position, with the head and its pairs below. */
function plan(width, state) {
  const top = legend(state, width).height + 32;
  const isWide = width >= 560;
  const left = { x: 44, y: top, w: isWide ? Math.round(0.36 * width) - 44 : width - 66, h: isWide ? CHART : 110 };
  const beside = left.x + left.w + 62;
  const right = isWide
    ? { x: beside, y: top, w: width - beside - 16, h: CHART }
    : { ...left, y: top + left.h + 78, h: CHART };
  const y = right.y + CHART + 78;
  const side = Math.min(HEADMAP, isWide ? left.w : 0.32 * width);
  const x = isWide ? beside : left.x + side + 54;
  const pairs = { x, y, w: width - x - 16, h: side };
  return { left, right, field: { x: left.x, y, w: side, h: side }, pairs, bottom: y + side + 44 };
}

function drawLoss(pen, state, { runs, guess }, box) {
  const most = Math.max(pageTask(state.task).steps, state.steps);
  const top = state.task === "text" ? 5 : 3.5; // nats
  const { X, Y } = axes(pen, box, [0, most], [0, top], {
    xLabel: phrase`step`,
    yLabel: phrase`Loss (nats)`,
    xTicks: range(0, most, most / 2),
    xFormat: grouped,
    yTicks: range(0, Math.floor(top)),
  });
  pen.line(box.x, Y(guess.loss), box.x + box.w, Y(guess.loss), LEVEL);
  const pathOf = (losses) => {
    const size = Math.max(1, Math.ceil(losses.length / POINTS));
    const points = losses.length ? means([losses], size) : [];
    return points.map((loss, i) => [X(Math.min(losses.length, (i + 0.5) * size)), Y(clamp(loss, 0, top))]);
  };
  const width = runs.length > 1 ? 1.5 : 2.5;
  pen.part(() => {
    for (const { isOwn, losses } of runs) {
      const path = pathOf(losses);
      if (path.length > 1)
        pen.curve(path, isOwn ? { stroke: ink.text, width } : { stroke: ink.muted, width, dash: "2 2" });
      for (const [x, y] of path.slice(-1))
        pen.circle(x, y, 4, { fill: isOwn ? ink.text : ink.paper, stroke: ink.text, width: 1 });
    }
  });
}

function drawPlaces(pen, state, all, box) {
  const { trained, total, size, own, barsOf, guess } = all;
  const bars = barsOf(own);
  const asTrained = (bar) => isRightEnough(bar, 100 * own[0]?.known);
  const scales = drawPlaceBars(pen, box, { bars, size, trained, total, level: 100 * guess.right, asTrained }, 100, {
    xLabel: phrase`place in the text`,
    yLabel: phrase`Right answers (%)`,
    yTicks: [0, 25, 50, 75, 100],
  });
  pen.part(() => drawOthers(pen, state, all, scales));
  pen.part(() => {
    if (bars.some((bar) => bar >= 0)) return;
    const [edge, right] = [scales.X(trained), box.x + box.w];
    drawWaiting(pen, state, box, 2 * trained < total ? [edge, right] : [box.x, edge]); // clear of the line
  });
}

/** Write a hint to press Train or to wait, and the settings of the run, between two edges. */
function drawWaiting(pen, state, box, [from, to]) {
  const middle = (from + to) / 2;
  const words = state.steps === 0 ? phrase`Press Train` : phrase`Training …`;
  const lines = settings(state, to - from < 140);
  const wide = 12 + Math.max(textWidth(words, 15, true), ...lines.map((line) => textWidth(line)));
  pen.rect(middle - wide / 2, box.y + 34, wide, 28 + 18 * lines.length, { fill: ink.paper, radius: 5 }); // over the grid
  pen.text(middle, box.y + 50, words, { anchor: "middle", weight: 600, size: 15 });
  for (const [i, line] of lines.entries()) pen.text(middle, box.y + 72 + 18 * i, line, { anchor: "middle" });
}

/** Draw a mark for each run beside the bars: a dot for the first encoding, a ring for the second. */
function drawOthers(pen, { seeds }, { runs, barsOf, size, total }, { X, Y }) {
  if (runs.length === 1) return;
  const marksOf = (mine, shift) =>
    runs
      .filter(({ isOwn }) => isOwn === mine)
      .flatMap((run) => barsOf([run]).map((bar, i) => [X(Math.min(total, (i + 0.5) * size)) + shift, Y(bar), 3.5]))
      .filter(([, y]) => Number.isFinite(y));
  if (seeds > 1) pen.circles(marksOf(true, -3), { fill: ink.text, stroke: ink.paper, width: 1 });
  pen.circles(marksOf(false, 3), RING);
}

/** Draw one head's attention over the first test text, with queries from top to bottom and keys from left to right.
 */
function drawField(pen, { head }, inside, { x, y, w, h }) {
  pen.text(x, y - 9, phrase`Attention, head ${head}`);
  pen.part(() => {
    if (inside) pen.raster(x, y, w, h, attentionPicture(inside.weights, inside.seq));
    else pen.text(x + w / 2, y + h / 2, phrase`after training`, { anchor: "middle", fill: ink.muted });
  });
  pen.rect(x, y, w, h, { stroke: ink.muted, width: 1 });
  pen.text(x + w / 2, y + h + 17, phrase`keys →`, noteMiddle);
  pen.text(x - 8, y + h / 2, phrase`← queries`, { ...noteMiddle, turn: -90 });
}

/** The longest label that fits beside the pairs' bars. */
function nameOfSway(room) {
  if (room < 110) return phrase`Sway`;
  return room < 280 ? phrase`Sway (nats)` : phrase`How much each pair sways the scores (nats)`;
}

/** Draw the influence of each of the head's pairs on the scores, with hollow bars for pairs that do not turn. */
function drawPairs(pen, state, inside, box) {
  const sways = inside ? Array.from(inside.pairs) : [];
  const most = Math.max(1, ...sways.map((sway) => Math.ceil(sway)));
  const { X, Y } = axes(pen, box, [0.5, PAIRS + 0.5], [0, most], {
    xLabel: box.w < 200 ? phrase`pair` : phrase`pair, fast to slow`,
    yLabel: nameOfSway(box.w),
    xTicks: box.w < 200 ? [1, PAIRS] : range(1, PAIRS),
    yTicks: [0, most],
  });
  const rotates = ["rotary", "p-rope"].includes(state.encoding);
  const turns = trainedRope(state).invFreq.map((frequency) => rotates && frequency > 0);
  const bars = sways.map((sway, i) => [X(i + 0.65), Y(sway), X(i + 1.35) - X(i + 0.65), box.y + box.h - Y(sway)]);
  const part = (wanted) => bars.filter((_, i) => turns[i] === wanted);
  pen.rects(part(true), { fill: ink.position, stroke: ink.text, width: 0.7 });
  pen.rects(part(false), { fill: ink.paper, stroke: ink.text, width: 1 });
}

/** The next run's settings, in short lines. */
function settings({ encoding, layers, seed, learning_rate, base, first_pair, last_pair, p }, short) {
  const [speed, blocks] = [fmt(learning_rate, 4), counted(layers, "layer")];
  const lines = [phrase`${blocks}, seed ${seed}`, short ? phrase`rate ${speed}` : phrase`learning rate ${speed}`];
  if (encoding === "rotary")
    lines.push(phrase`base ${grouped(Math.round(base))}`, phrase`pairs ${first_pair} to ${last_pair}`);
  if (encoding === "p-rope") lines.push(`p = ${fmt(p, 3)}`);
  return lines;
}

function draw(pen, state, { width }) {
  legend(state, width).draw(pen, 10);
  const [all, { left, right, field, pairs }] = [shown(state), plan(width, state)];
  const [{ inside }] = all.runs;
  drawLoss(pen, state, all, left);
  drawPlaces(pen, state, all, right);
  drawField(pen, state, inside, field);
  drawPairs(pen, state, inside, pairs);
}

const percent = (share) => fmt(100 * share, 0);
const average = (numbers) => means([numbers], numbers.length)[0];

/** Describe the results for the other seeds and the second encoding, if any. */
function beside({ times, against }, { runs, own }) {
  const shares = (members) => listed(members.map(({ known, beyond }) => percent(times > 1 ? beyond : known)));
  const others = runs.filter(({ isOwn }) => !isOwn);
  const seeds = own.length > 1 ? phrase` Its ${own.length} seeds have ${shares(own)} %.` : "";
  return others.length ? seeds + phrase` ${NAMES[against]}: ${shares(others)} %.` : seeds;
}

/** The challenge that this state attempts, if any. */
function challenge({ task, length, times, encoding, against, seeds }, beyond) {
  const isTry = task === RECORD.task && length === RECORD.length && times === RECORD.times && seeds === 1 && !against;
  if (!isTry || !encoding) return "";
  const words = 100 * beyond >= RECORD.percent + 0.5 ? phrase`You have beaten it.` : "";
  return phrase` The best so far is ours, with ${RECORD.percent} %. ${words}`.trimEnd();
}

function readout(state) {
  const { encoding, rule, times, steps } = state;
  const all = shown(state);
  const { trained, total, runs, own } = all;
  const name = NAMES[encoding];
  if (steps === 0) {
    return phrase`Nothing is trained yet. Press Train: a model with 32 features learns in this page, on texts of ${trained} places.`;
  }
  const [{ losses }] = own;
  if (runs.some(({ known }) => Number.isNaN(known))) {
    const [step, planned] = [grouped(losses.length), grouped(steps)];
    return runs.length > 1
      ? phrase`${name}, step ${step} of ${planned}, ${runs.length} models.`
      : phrase`${name}, step ${step} of ${planned}.`;
  }
  const [known, beyond] = [average(own.map((run) => run.known)), average(own.map((run) => run.beyond))];
  const [much, fresh] = [percent(beyond), total - trained];
  const further =
    encoding === "rotary" && rule !== "none"
      ? phrase`, and ${much} % at the ${fresh} new ones under ${RULES[rule]}`
      : phrase`, and ${much} % at the ${fresh} new ones`;
  const far = times > 1 ? further : "";
  const now = phrase`${name} after ${grouped(losses.length)} steps: loss ${fmt(losses.at(-1), 2)} nats.`;
  const answers = phrase`It answers ${percent(known)} % right at the ${trained} trained places${far}.`;
  return `${now} ${answers}${beside(state, all)}${challenge(state, beyond)}`;
}

const trainOn = ({ task, steps }) => {
  const planned = pageTask(task).steps;
  return { steps: steps < planned ? planned : Math.min(MOST_STEPS, steps + 200) };
};
const hold = (state) => ({
  steps: Math.min(state.steps, Math.max(...membersOf(state).map((member) => standing(member).asked))),
});

/** The first run as a file with everything needed to continue training. */
async function save(state) {
  const [member] = membersOf(state);
  const run = standing(member);
  const question = { settings: member, until: stepOf(member), keep: true, text: PROSE, kept: run.kept };
  const helper = helpers[run.helper ?? 0];
  const { kept } = helper.works() ? await helper.ask(question).catch(() => answer(question)) : answer(question);
  return fileOf(state, kept);
}

/** Load a trained model from a file instead of training it again. */
async function load(text, controls) {
  const settled = (settings) => {
    const names = Object.keys(controls);
    const entries = names.map((name) => [name, allowed(controls[name], settings[name], undefined)]);
    if (entries.some(([, value]) => value === undefined))
      throw new Error(phrase`This file is broken: its settings are not those of this figure.`);
    return Object.fromEntries(entries);
  };
  const { settings, kept } = readFile(text, (stored) => sizeOf(settled(stored)));
  const state = { ...settled(settings), steps: kept.step, against: "", seeds: 1 };
  const { step, losses } = kept;
  standings.set(runName(state), { ...begun(), step, losses, asked: step, kept });
  return state;
}

export default live({
  name: "TrainInThePage",
  title: phrase`A tiny transformer that learns in this page, and what it answers on longer texts`,
  height: (width, state) => plan(width, state).bottom,
  lines: 2,
  draw,
  readout,
  work,
  files: { name: "model.json", save, load },
  buttons: [
    { label: phrase`Train`, move: trainOn },
    { label: phrase`Pause`, move: hold },
    { label: phrase`One step`, move: ({ steps }) => ({ steps: Math.min(MOST_STEPS, steps + 1) }) },
  ],
});
