import { ENGINE } from "../data/engine.js";
import { PROSE } from "../data/prose.js";
import { RECORD } from "../data/record.js";
import { axes } from "../lib/axes.js";
import { bitmap } from "../lib/bitmap.js";
import { ink, noteMiddle } from "../lib/colour.js";
import { allowed } from "../lib/controls.js";
import { live } from "../lib/figure.js";
import { makeHelper } from "../lib/helper.js";
import { legendOf } from "../lib/legend.js";
import { clamp, fmt, grouped, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { counted, listed, textWidth } from "../lib/words.js";
import { binSize, means } from "../maths/long_text.js";
import { answer } from "../maths/page_answer.js";
import { trainedRope } from "../maths/page_doors.js";
import { fileOf, readFile } from "../maths/page_file.js";
import { runName } from "../maths/page_plan.js";
import { holdProse } from "../maths/page_prose.js";
import { guessOf, pageTask, placesOf } from "../maths/page_tasks.js";
import { sizeOf } from "../maths/page_weights.js";

const CHART = 170; // pixels: height of a chart
const HEADMAP = 150; // pixels: side of the attention
const POINTS = 160; // of the curve, at most
const MOST_STEPS = 2000;
const ASK = 200; // ms of training between two answers of a worker
const LOOK = 1000; // ms between two looks at what the model answers
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
const helpers = [makeHelper(ENGINE), makeHelper(ENGINE)]; // one for each encoding: two threads at most

const narrow = (width) => width < 560;
/** How each run stands: losses, steps asked for, and what it answered under each reading. */
const runs = new Map();
function standing(state) {
  const name = runName(state);
  if (!runs.has(name)) runs.set(name, { step: 0, losses: [], asked: 0, chunk: 8, looked: 0, looks: new Map() });
  return runs.get(name);
}
const readingName = ({ times, rule, abf_base, head }) => `${times} ${rule} ${abf_base} ${head}`;

/** The runs that a state has side by side, the first one first: each is a state of its own. */
function membersOf(state) {
  const { encoding, against, seeds, seed } = state;
  const encodings = [encoding, against].filter((name, i, all) => name && all.indexOf(name) === i);
  return encodings.flatMap((name) => range(0, seeds - 1).map((n) => ({ ...state, encoding: name, seed: seed + n })));
}

/** The answers of one run by place, if they are known at the step to which it is trained by now. */
function lookAt(member) {
  const look = standing(member).looks.get(readingName(member));
  return look && look.step <= member.steps ? look : undefined;
}
const stepOf = (member) => Math.min(standing(member).step, member.steps);
const isDone = (member) => standing(member).step === member.steps && lookAt(member)?.step === member.steps;

/** Take what an engine answered. */
function keep(member, { step, losses, right, inside }, asked) {
  const run = standing(member);
  Object.assign(run, { step, losses, asked, kept: undefined });
  if (right) run.looks.set(readingName(member), { step, right, inside });
}

/** Train on until the state is reached, in workers or here; with `whole` without waiting. */
function* work(state, whole) {
  const members = membersOf(state);
  if (state.steps === 0 || members.every(isDone)) return;
  if (!whole) yield; // a hand that moves on starts nothing
  for (const member of members) {
    const run = standing(member);
    // where a run has gone farther than it is asked for, it starts anew
    if (run.step > state.steps)
      Object.assign(run, { step: 0, losses: [], asked: 0, kept: undefined, looks: new Map() });
  }
  while (!members.every(isDone)) {
    const left = members.filter((member) => !isDone(member));
    if (!whole && helpers[0].works()) yield Promise.all(left.map((member) => asked(member, state.encoding)));
    for (const member of left) {
      if (!whole && helpers[0].works()) continue;
      const question = questionOf(member, 1);
      keep(member, answer(question), question.until);
      yield;
    }
  }
}

/** What an engine is asked next: so many steps, and how the model stands where the run ends or it is time. */
function questionOf(member, chunk) {
  const run = standing(member);
  const until = Math.min(member.steps, run.step + chunk);
  const look = until === member.steps || (chunk > 1 && performance.now() - run.looked > LOOK);
  run.asked = until;
  return { settings: member, until, look, kept: run.kept };
}

/** A worker's answer; where there is no worker, the next round is done here. A run stays with the worker that began it. */
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

/** What is shown of one run. */
function shownOf(member) {
  const { task, length, times } = member;
  const [trained, total] = [placesOf(task, length) - 1, placesOf(task, length * times) - 1];
  const look = lookAt(member);
  const places = look ? Float64Array.from(look.right).subarray(1) : undefined;
  const mean = (part) => (part?.length ? means([part], part.length)[0] : NaN);
  return {
    member,
    places,
    inside: look?.inside,
    known: mean(places?.subarray(0, trained)),
    beyond: mean(places?.subarray(trained, total)),
    losses: standing(member).losses.slice(0, stepOf(member)),
  };
}

/** What is shown of a state: its runs, and the bars of the first encoding, the mean over its seeds. */
function shown(state) {
  const { task, length, times, encoding } = state;
  const [trained, total] = [placesOf(task, length) - 1, placesOf(task, length * times) - 1];
  const runs = membersOf(state).map(shownOf);
  const own = runs.filter(({ member, places }) => member.encoding === encoding && places);
  const size = binSize(trained, times);
  const placesIn = (some) => some.map(({ places }) => places);
  const barsOf = (some) => (some.length ? means(placesIn(some), size) : []);
  return { trained, total, size, runs, bars: barsOf(own), barsOf, guess: guessOf(task) };
}

const EDGE = { stroke: ink.text, width: 1 };
const RING = { fill: ink.paper, stroke: ink.text, width: 1.6 };
const LEGEND = [
  { words: phrase`trained places`, box: { ...EDGE, fill: ink.position } },
  { words: phrase`new places`, box: { ...EDGE, fill: ink.other } },
  { words: phrase`guessing`, style: { ...EDGE, width: 1.5, dash: "5 3" } },
];
const SEED = { words: phrase`one seed`, sign: (pen, x, y) => pen.circle(x + 12, y, 3.5, { fill: ink.text }) };
function legend({ against, seeds, encoding }, width) {
  const other = { words: NAMES[against], sign: (pen, x, y) => pen.circle(x + 12, y, 4, RING) };
  const beside = against && against !== encoding ? [other] : [];
  return legendOf([...LEGEND, ...(seeds > 1 ? [SEED] : []), ...beside], width - 4);
}

function plan(width, state) {
  const top = legend(state, width).height + 32;
  const map = (x, y, w) => ({ x, y, w: Math.min(w, HEADMAP), h: Math.min(w, HEADMAP) });
  if (!narrow(width)) {
    const left = { x: 44, y: top, w: Math.round(0.36 * width) - 44, h: CHART };
    const x = left.x + left.w + 62;
    const right = { x, y: top, w: width - x - 16, h: CHART };
    const y = top + CHART + 78;
    const field = map(44, y, left.w);
    return { left, right, field, pairs: { x, y, w: right.w, h: field.h }, bottom: y + field.h + 44 };
  }
  const left = { x: 44, y: top, w: width - 66, h: 110 };
  const right = { ...left, y: top + 110 + 78, h: CHART };
  const y = right.y + CHART + 78;
  const field = map(44, y, 0.32 * width);
  const x = field.x + field.w + 54;
  return { left, right, field, pairs: { x, y, w: width - x - 16, h: field.h }, bottom: y + field.h + 44 };
}

function drawLoss(pen, state, { runs, guess: { loss: level } }, box) {
  const most = Math.max(pageTask(state.task).steps, state.steps);
  const top = state.task === "text" ? 5 : 3.5; // nats
  const { X, Y } = axes(pen, box, [0, most], [0, top], {
    xLabel: phrase`step`,
    yLabel: phrase`Loss (nats)`,
    xTicks: range(0, most, most / 2),
    xFormat: grouped,
    yTicks: range(0, Math.floor(top)),
  });
  pen.line(box.x, Y(level), box.x + box.w, Y(level), { stroke: ink.text, width: 1.5, dash: "5 3" });
  const pathOf = (losses) => {
    const size = Math.max(1, Math.ceil(losses.length / POINTS));
    const points = losses.length ? means([losses], size) : [];
    return points.map((loss, i) => [X(Math.min(losses.length, (i + 0.5) * size)), Y(clamp(loss, 0, top))]);
  };
  const thin = runs.length > 1;
  pen.part(() => {
    for (const { member, losses } of runs) {
      const path = pathOf(losses);
      const mine = member.encoding === state.encoding;
      const style = { stroke: mine ? ink.score : ink.text, width: thin ? 1.5 : 2.5, dash: mine ? undefined : "2 2" };
      if (path.length > 1) pen.curve(path, style);
      const [x, y] = path.at(-1) ?? [];
      if (path.length) pen.circle(x, y, 4, { fill: mine ? ink.score : ink.paper, stroke: ink.text, width: 1 });
    }
  });
}

function drawPlaces(pen, state, all, box) {
  const { trained, total, size, bars, guess } = all;
  const chance = 100 * guess.right;
  const { X, Y } = axes(pen, box, [0, total], [0, 100], {
    xLabel: phrase`place in the text`,
    yLabel: phrase`Right answers (%)`,
    xTicks: range(0, total, total / 4),
    xFormat: (place) => grouped(Math.round(place)),
    yTicks: [0, 25, 50, 75, 100],
  });
  const edge = X(trained);
  pen.rect(box.x, box.y, edge - box.x, box.h, { fill: ink.position, opacity: 0.1 });
  const known = bars.map((bar, i) => ({ bar, i })).filter(({ bar }) => bar >= 0);
  const rectOf = ({ bar, i }) => {
    const [left, right] = [X(i * size) + 1, X(Math.min(total, (i + 1) * size)) - 1];
    return [left, Y(100 * bar), Math.max(1, right - left), box.y + box.h - Y(100 * bar)];
  };
  const part = (wanted) => known.filter(({ i }) => i * size < trained === wanted).map(rectOf);
  pen.rects(part(true), { fill: ink.position, stroke: ink.text, width: 0.7 });
  pen.rects(part(false), { fill: ink.other, stroke: ink.text, width: 0.7 });
  pen.line(edge, box.y, edge, box.y + box.h, { stroke: ink.position, width: 2 });
  pen.line(box.x, Y(chance), box.x + box.w, Y(chance), { stroke: ink.text, width: 1.5, dash: "5 3" });
  pen.part(() => drawOthers(pen, state, all, { X, Y }));
  pen.part(() => {
    if (known.length) return;
    const [from, to] = 2 * trained < total ? [edge, box.x + box.w] : [box.x, edge]; // clear of the line between
    const middle = (from + to) / 2;
    const words = state.steps === 0 ? phrase`Press Train` : phrase`Training …`;
    const lines = settings(state, to - from < 140);
    const wide = 12 + Math.max(textWidth(words, 15, true), ...lines.map((line) => textWidth(line)));
    pen.rect(middle - wide / 2, box.y + 34, wide, 28 + 18 * lines.length, { fill: ink.paper, radius: 5 }); // over the grid
    pen.text(middle, box.y + 50, words, { anchor: "middle", weight: 600, size: 15 });
    for (const [i, line] of lines.entries()) {
      pen.text(middle, box.y + 72 + 18 * i, line, { anchor: "middle" });
    }
  });
}

/** A mark for each run beside the bars: a dot for a seed of the first encoding, a ring for the encoding beside it. */
function drawOthers(pen, state, { runs, barsOf, size, total }, { X, Y }) {
  if (runs.length === 1) return;
  const marksOf = (mine, shift) =>
    runs
      .filter(({ member, places }) => places && (member.encoding === state.encoding) === mine)
      .flatMap((run) =>
        barsOf([run]).flatMap((bar, i) =>
          bar >= 0 ? [[X(Math.min(total, (i + 0.5) * size)) + shift, Y(100 * bar), 3.5]] : [],
        ),
      );
  if (state.seeds > 1) pen.circles(marksOf(true, -3), { fill: ink.text, stroke: ink.paper, width: 1 });
  pen.circles(marksOf(false, 3), RING);
}

/** Pictures of attention, by what was looked at. @type {WeakMap<object, string>} */
const pictures = new WeakMap();
function pictureOf(inside) {
  const { seq, weights } = inside;
  const shadeAt = (row, column) => weights[row * seq + column];
  if (!pictures.has(inside)) pictures.set(inside, bitmap(seq, seq, shadeAt));
  return pictures.get(inside);
}

/** The attention of one head over the first test text: queries from the top, keys from the left. */
function drawField(pen, state, inside, { x, y, w, h }) {
  pen.text(x, y - 9, phrase`Attention, head ${state.head}`);
  pen.part(() => {
    if (inside) pen.raster(x, y, w, h, pictureOf(inside));
    else pen.text(x + w / 2, y + h / 2, phrase`after training`, { anchor: "middle", fill: ink.muted });
  });
  pen.rect(x, y, w, h, { stroke: ink.muted, width: 1 });
  pen.text(x + w / 2, y + h + 17, phrase`keys →`, noteMiddle);
  pen.text(x - 8, y + h / 2, phrase`← queries`, { anchor: "middle", size: 12, fill: ink.muted, turn: -90 });
}

/** How much each pair of that head sways the scores; a pair that stands still is hollow. */
function drawPairs(pen, state, inside, box) {
  const sways = inside ? Array.from(inside.pairs) : [];
  const most = Math.max(1, ...sways.map((sway) => Math.ceil(sway)));
  const count = 8;
  const { X, Y } = axes(pen, box, [0.5, count + 0.5], [0, most], {
    xLabel: box.w < 200 ? phrase`pair` : phrase`pair, fast to slow`,
    yLabel:
      box.w < 110
        ? phrase`Sway`
        : box.w < 200
          ? phrase`Sway (nats)`
          : phrase`How much each pair sways the scores (nats)`,
    xTicks: box.w < 200 ? [1, 8] : range(1, count),
    yTicks: [0, most],
  });
  const turns = turningIn(state);
  const rects = (wanted) =>
    sways.flatMap((sway, i) =>
      turns[i] === wanted ? [[X(i + 0.65), Y(sway), X(i + 1.35) - X(i + 0.65), box.y + box.h - Y(sway)]] : [],
    );
  pen.rects(rects(true), { fill: ink.position, stroke: ink.text, width: 0.7 });
  pen.rects(rects(false), { fill: ink.paper, stroke: ink.text, width: 1 });
}

/** Which pairs of a head turn. */
const turningIn = (state) =>
  trainedRope(state).invFreq.map((frequency) => ["rotary", "p-rope"].includes(state.encoding) && frequency > 0);

/** What the next run is made of, in short lines. */
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
  drawLoss(pen, state, all, left);
  drawPlaces(pen, state, all, right);
  drawField(pen, state, all.runs[0].inside, field);
  drawPairs(pen, state, all.runs[0].inside, pairs);
}

const percent = (share) => fmt(100 * share, 0);
const average = (numbers) => means([numbers], numbers.length)[0];

/** What the seeds of an encoding have, where there are several, and what the encoding beside has. */
function beside(state, runs) {
  const share = ({ known, beyond }) => (state.times > 1 ? beyond : known);
  const of = (name) => runs.filter(({ member }) => member.encoding === name).map(share);
  const sentences = [];
  const own = of(state.encoding);
  if (own.length > 1) sentences.push(phrase` Its ${own.length} seeds have ${listed(own.map(percent))} %.`);
  const { against, encoding } = state;
  if (against && against !== encoding)
    sentences.push(phrase` ${NAMES[against]}: ${listed(of(against).map(percent))} %.`);
  return sentences.join("");
}

/** The challenge, where this is a try at it. */
function challenge({ task, length, times, encoding, against, seeds }, beyond) {
  const isTry = task === RECORD.task && length === RECORD.length && times === RECORD.times && seeds === 1 && !against;
  if (!isTry || !encoding) return "";
  const words = 100 * beyond >= RECORD.percent + 0.5 ? phrase`You have beaten it.` : "";
  return phrase` The best so far is ours, with ${RECORD.percent} %. ${words}`.trimEnd();
}

function readout(state) {
  const { encoding, rule, times, steps } = state;
  const { trained, total, runs } = shown(state);
  const name = NAMES[encoding];
  if (steps === 0) {
    return phrase`Nothing is trained yet. Press Train: a model with 32 features learns in this page, on texts of ${trained} places.`;
  }
  const own = runs.filter(({ member }) => member.encoding === encoding);
  const { losses } = own[0];
  if (runs.some(({ known }) => Number.isNaN(known))) {
    const [step, all] = [grouped(losses.length), grouped(steps)];
    return runs.length > 1
      ? phrase`${name}, step ${step} of ${all}, ${runs.length} models.`
      : phrase`${name}, step ${step} of ${all}.`;
  }
  const [known, beyond] = [average(own.map((run) => run.known)), average(own.map((run) => run.beyond))];
  const isRuled = encoding === "rotary" && times > 1 && rule !== "none";
  const [much, fresh, ruled] = [percent(beyond), total - trained, RULES[rule]];
  const further = isRuled
    ? phrase`, and ${much} % at the ${fresh} new ones under ${ruled}`
    : phrase`, and ${much} % at the ${fresh} new ones`;
  const far = times > 1 ? further : "";
  const now = phrase`${name} after ${grouped(losses.length)} steps: loss ${fmt(losses.at(-1), 2)} nats.`;
  const answers = phrase`It answers ${percent(known)} % right at the ${trained} trained places${far}.`;
  return `${now} ${answers}${beside(state, runs)}${challenge(state, beyond)}`;
}

const goOn = ({ task, steps }) => {
  const planned = pageTask(task).steps;
  return { steps: steps < planned ? planned : Math.min(MOST_STEPS, steps + 200) };
};
const hold = (state) => ({
  steps: Math.min(state.steps, Math.max(...membersOf(state).map((member) => standing(member).asked))),
});

/** The first run with every number that training goes on from. */
async function save(state) {
  const [member] = membersOf(state);
  const run = standing(member);
  const question = { settings: member, until: stepOf(member), keep: true, text: PROSE, kept: run.kept };
  const helper = helpers[run.helper ?? 0];
  const { kept } = helper.works() ? await helper.ask(question).catch(() => answer(question)) : answer(question);
  return fileOf(state, kept);
}

/** Take a file's model in place of what its settings alone would train. */
async function load(text, controls) {
  const settled = (settings) => {
    const names = Object.keys(controls);
    const taken = names.map((name) => [name, allowed(controls[name], settings[name], undefined)]);
    if (taken.some(([, value]) => value === undefined))
      throw new Error(phrase`This file is broken: its settings are not those of this figure.`);
    return Object.fromEntries(taken);
  };
  const { settings, kept } = readFile(text, (given) => sizeOf(settled(given)));
  const state = { ...settled(settings), steps: kept.step, against: "", seeds: 1 };
  const { step, losses } = kept;
  runs.set(runName(state), { step, losses, asked: step, chunk: 8, looked: 0, looks: new Map(), kept });
  return state;
}

export default live({
  name: "TrainInThePage",
  title: phrase`A tiny transformer that learns in this page, and what it answers on longer texts`,
  height: (width, state) => plan(width, state).bottom,
  draw,
  readout,
  work,
  files: { name: "model.json", save, load },
  buttons: [
    { label: phrase`Train`, move: goOn },
    { label: phrase`Pause`, move: hold },
    { label: phrase`One step`, move: ({ steps }) => ({ steps: Math.min(MOST_STEPS, steps + 1) }) },
  ],
});
