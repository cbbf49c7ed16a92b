import { ENGINE } from "../data/engine.js";
import { PROSE } from "../data/prose.js";
import { RECORD } from "../data/record.js";
import { ink, noteMiddle } from "../lib/colour.js";
import { allowed } from "../lib/controls.js";
import { live } from "../lib/figure.js";
import { makeHelper } from "../lib/helper.js";
import { legendOf } from "../lib/legend.js";
import { clamp, fmt, grouped, last, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { attentionPicture, drawPlaceBars, entriesOfPlaces, isRightEnough, LEVEL, WITHIN } from "../lib/places.js";
import { counted, listed, textWidth } from "../lib/words.js";
import { paced } from "../lib/work.js";
import { binSize, means } from "../maths/long_text.js";
import { answer } from "../maths/page_answer.js";
import { fileOf, readFile } from "../maths/page_file.js";
import { runName } from "../maths/page_plan.js";
import { holdProse } from "../maths/page_prose.js";
import { guessOf, pageTask, placesOf } from "../maths/page_tasks.js";
import { sizeOf } from "../maths/page_weights.js";

const CHART = 250; // height of the chart, in pixels
const MAP = 170; // side of the attention map, in pixels
const SPARK = { w: 56, h: 16 }; // size of the loss sparkline, in pixels
const TRAIL = 6; // number of earlier evaluations drawn while a model learns
const MOST_STEPS = 2000;
const ASK = 200; // target duration of a request to a worker, in ms
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
const helpers = [makeHelper(ENGINE), makeHelper(ENGINE)]; // one per encoding, so at most two threads

/** The progress of each run by name: its losses, the step requested, and an evaluation for each reading setting. */
const standings = new Map();
const untrained = () => ({ step: 0, losses: [], asked: 0, kept: undefined, looks: new Map(), trail: [] });
const begun = () => ({ ...untrained(), chunk: 8, looked: 0 });
function standing(state) {
  const name = runName(state);
  if (!standings.has(name)) standings.set(name, begun());
  return standings.get(name);
}
const readingName = ({ times, rule, abf_base, head }) => `${times} ${rule} ${abf_base} ${head}`;

/** Split a state into one state per run, with the main run first. */
function membersOf(state) {
  const { encoding, against, seeds, seed } = state;
  const encodings = [encoding, against].filter((name, i, all) => name && all.indexOf(name) === i);
  return encodings.flatMap((name) => range(0, seeds - 1).map((n) => ({ ...state, encoding: name, seed: seed + n })));
}

/** A run's latest evaluation, or undefined if it belongs to a later step than the state's. */
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
  if (!right) return;
  run.looks.set(readingName(member), { step, right, inside });
  run.trail = [...run.trail, right].slice(-TRAIL);
}

/** Train up to the state's step, in workers or on this thread; with `whole`, train synchronously. */
function* work(state, whole) {
  const members = membersOf(state);
  if (state.steps === 0 || members.every(isDone)) return;
  if (!whole) yield; // do not start training while a control is still moving
  for (const run of members.map(standing)) {
    if (run.step > state.steps) Object.assign(run, untrained()); // restart a run that is past the requested step
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

/** Build the next request to an engine: `chunk` steps, and an evaluation at the end of the run or when one is due.
 */
function questionOf(member, chunk) {
  const run = standing(member);
  const until = Math.min(member.steps, run.step + chunk);
  const look = until === member.steps || (chunk > 1 && performance.now() - run.looked > LOOK);
  run.asked = until;
  return { settings: member, until, look, kept: run.kept };
}

/** Ask a worker to train a run; if the worker fails, the next round runs on this thread. Each run stays with the
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
  else run.chunk = clamp(paced(run.chunk, performance.now() - began, ASK), 1, 100);
}

/** Collect the data to show for a state: all runs, those of the first encoding as `own`, and `barsOf`, which
 * averages runs into bars of accuracy in percent. */
function shown(state) {
  const { task, length, times, encoding } = state;
  const [trained, total] = [placesOf(task, length) - 1, placesOf(task, length * times) - 1];
  const mean = (part) => (part?.length ? means([part], part.length)[0] : NaN);
  const members = membersOf(state);
  const answersOf = (right) => Float64Array.from(right).subarray(1);
  const runs = members.map((member) => {
    const look = lookAt(member);
    const places = look && answersOf(look.right);
    return {
      encoding: member.encoding,
      isOwn: member.encoding === encoding,
      places,
      inside: look?.inside,
      known: mean(places?.subarray(0, trained)),
      beyond: mean(places?.subarray(trained, total)),
      losses: standing(member).losses.slice(0, stepOf(member)),
      trail: standing(member)
        .trail.map(answersOf)
        .filter((places) => places.length >= total),
    };
  });
  const size = binSize(trained, times);
  function barsOf(runs) {
    const known = runs.map(({ places }) => places).filter(Boolean);
    return known.length ? means(known, size).map((bar) => 100 * bar) : [];
  }
  const own = runs.filter(({ isOwn }) => isOwn);
  const isLearning = state.steps > 0 && !members.every(isDone);
  return { trained, total, size, runs, own, barsOf, guess: guessOf(task), isLearning };
}

const RING = { fill: ink.paper, stroke: ink.text, width: 1.6 };
const OWN = { stroke: ink.text, width: 1.5 }; // the losses of the first encoding, and of the second
const BESIDE = { stroke: ink.muted, width: 1.5, dash: "2 2" };
const GUESSING = { words: phrase`guessing`, style: LEVEL };
const SEED = { words: phrase`one seed`, sign: (pen, x, y) => pen.circle(x + 12, y, 3.5, { fill: ink.text }) };
function legend({ task, length, against, seeds, encoding, steps }, width) {
  const other = { words: NAMES[against], sign: (pen, x, y) => pen.circle(x + 12, y, 4, RING) };
  const beside = against && against !== encoding ? [other] : [];
  const bars = entriesOfPlaces(placesOf(task, length) - 1, phrase`within ${WITHIN} % of trained`);
  const [good, worse, edge] = bars;
  const results = [good, worse, ...(seeds > 1 ? [SEED] : []), ...beside];
  return legendOf([GUESSING, edge, ...(steps ? results : [])], width - 4);
}

const isWide = (width) => width >= 480;

/** Lay out the chart. After training, a head's attention map is added beside or below the chart without changing
 * the total height. */
function plan(width, state, hasMap) {
  const top = legend({ ...state, steps: 1 }, width).height + 36; // includes the full legend even before training
  const side = isWide(width) ? MAP : Math.min(MAP, width - 80);
  const whole = { x: 44, y: top, w: width - 60, h: isWide(width) ? CHART : CHART + side };
  const bottom = whole.y + whole.h + 46;
  if (!hasMap) return { chart: whole, bottom };
  if (!isWide(width)) {
    const chart = { ...whole, h: CHART - 76 };
    return { chart, field: { x: 44, y: bottom - side - 22, w: side, h: side }, bottom };
  }
  const chart = { ...whole, w: whole.w - side - 56 };
  return { chart, field: { x: width - side - 8, y: top, w: side, h: side }, bottom };
}

/** Draw the latest loss as a number, preceded by a sparkline of the losses so far. */
function drawLoss(pen, state, { runs, own }, box) {
  const top = state.task === "text" ? 5 : 3.5; // top of the sparkline, in nats
  const latest = last(own[0].losses);
  const words = latest === undefined ? "" : phrase`loss ${fmt(latest, 2)} nats`;
  const right = box.x + box.w;
  pen.text(right, box.y - 12, words, { anchor: "end" });
  const left = right - textWidth(words) - SPARK.w - 10;
  const pathOf = (losses) => {
    const points = losses.length ? means([losses], Math.max(1, Math.ceil(losses.length / SPARK.w))) : [];
    const step = SPARK.w / Math.max(1, points.length - 1);
    return points.map((loss, i) => [left + i * step, box.y - 8 - (SPARK.h * clamp(loss, 0, top)) / top]);
  };
  const hasRoom = left > box.x + textWidth(phrase`Right answers (%)`) + 10;
  pen.part(() => {
    for (const { isOwn, losses } of hasRoom ? runs.filter(({ losses }) => losses.length > 1) : [])
      pen.curve(pathOf(losses), isOwn ? OWN : BESIDE);
  });
}

/** Draw the accuracy by position, with faint curves of earlier evaluations while the model is learning. */
function drawPlaces(pen, state, all, box) {
  const { trained, total, size, own, barsOf, guess } = all;
  const bars = barsOf(own);
  const asTrained = (bar) => isRightEnough(bar, 100 * own[0]?.known);
  const scales = drawPlaceBars(pen, box, { bars, size, trained, total, level: 100 * guess.right, asTrained }, 100, {
    xLabel: phrase`place in the text`,
    yLabel: phrase`Right answers (%)`,
    yTicks: [0, 25, 50, 75, 100],
  });
  const middle = (i) => scales.X(Math.min(total, (i + 0.5) * size));
  const trails = all.isLearning ? own[0].trail.map((places) => barsOf([{ places }])) : [];
  const paths = trails.map((bars) => bars.flatMap((bar, i) => (bar >= 0 ? [[middle(i), scales.Y(bar)]] : []))); // skip NaN
  pen.curves(paths, { stroke: ink.muted, width: 1, opacity: 0.75 });
  pen.part(() => drawOthers(pen, state, all, scales));
  if (!bars.some((bar) => bar >= 0)) return drawWaiting(pen, state, box);
  return {};
}

/** Draw the Train button, or "Training …" once training has begun, above the settings of the run. */
function drawWaiting(pen, state, box) {
  const isNew = state.steps === 0;
  const words = isNew ? phrase`Train` : phrase`Training …`;
  const lines = settings(state);
  const wide = 36 + textWidth(words, 16, true);
  const [middle, top] = [box.x + box.w / 2, box.y + box.h / 2 - 46];
  const button = { x: middle - wide / 2, y: top, w: wide, h: 36 };
  const room = 12 + Math.max(...lines.map((line) => textWidth(line)));
  pen.rect(middle - room / 2, top - 8, room, 52 + 18 * lines.length, { fill: ink.paper, radius: 5 }); // hide the grid
  pen.rect(button.x, button.y, wide, 36, { fill: isNew ? ink.text : ink.paper, stroke: ink.text, radius: 6 });
  const style = { anchor: "middle", weight: 600, size: 16, fill: isNew ? ink.paper : ink.text };
  pen.text(middle, top + 24, words, style);
  for (const [i, line] of lines.entries()) pen.text(middle, top + 56 + 18 * i, line, { anchor: "middle" });
  return isNew ? { taps: { train: { ...button, set: trainOn(state) } } } : {};
}

/** Draw a mark on each bar for each run: a dot for the first encoding, a ring for the second. */
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
function drawField(pen, { head }, { weights, seq }, { x, y, w, h }) {
  pen.text(x, y - 12, phrase`Attention, head ${head}`);
  pen.raster(x, y, w, h, attentionPicture(weights, seq));
  pen.rect(x, y, w, h, { stroke: ink.muted, width: 1 });
  pen.text(x + w / 2, y + h + 17, phrase`keys →`, noteMiddle);
  pen.text(x - 8, y + h / 2, phrase`← queries`, { ...noteMiddle, turn: -90 });
}

/** The settings of the next run, as short lines of text. */
function settings({ encoding, layers, seed, learning_rate, base, first_pair, last_pair, p }) {
  const [speed, blocks] = [fmt(learning_rate, 4), counted(layers, "layer")];
  const lines = [phrase`${blocks}, seed ${seed}`, phrase`learning rate ${speed}`];
  if (encoding === "rotary")
    lines.push(phrase`base ${grouped(Math.round(base))}`, phrase`pairs ${first_pair} to ${last_pair}`);
  if (encoding === "p-rope") lines.push(`p = ${fmt(p, 3)}`);
  return lines;
}

function draw(pen, state, { width }) {
  legend(state, width).draw(pen, 10);
  const all = shown(state);
  const inside = all.isLearning ? undefined : all.runs[0].inside;
  const { chart, field } = plan(width, state, Boolean(inside));
  drawLoss(pen, state, all, chart);
  const grasp = drawPlaces(pen, state, all, chart);
  pen.part(() => {
    if (inside && field) drawField(pen, state, inside, field);
  });
  return grasp;
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

/** A sentence about the record if the state attempts that challenge, otherwise "". */
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
    return phrase`Nothing is trained yet. Press Train: a model with 32 features learns in this page, on texts of ${trained} places. Guessing is right ${percent(all.guess.right)} % of the time.`;
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

/** Save the first run as a file that contains everything needed to continue training. */
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

function results(state) {
  const { trained, total, guess } = shown(state);
  return { trained_places: trained, new_places: total - trained, guessing: 100 * guess.right };
}

export default live({
  name: "TrainInThePage",
  title: phrase`A tiny transformer that learns in this page, and what it answers on longer texts`,
  height: (width, state) => plan(width, state, false).bottom,
  lines: 2,
  draw,
  readout,
  results,
  work,
  files: { name: "model.json", save, load },
  buttons: [
    { label: phrase`Train`, move: trainOn, kind: "primary" },
    { label: phrase`Pause`, move: hold },
    { label: phrase`One step`, move: ({ steps }) => ({ steps: Math.min(MOST_STEPS, steps + 1) }), kind: "seldom" },
  ],
});
