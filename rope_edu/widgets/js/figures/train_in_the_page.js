import { ENGINE } from "../data/engine.js";
import { axes } from "../lib/axes.js";
import { ink } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { makeHelper } from "../lib/helper.js";
import { inLines } from "../lib/labels.js";
import { clamp, fmt, grouped, range } from "../lib/numbers.js";
import { binSize, means } from "../maths/long_text.js";
import { answer } from "../maths/page_answer.js";
import { runName } from "../maths/page_run.js";
import { guessOf, pageTask, placesOf } from "../maths/page_tasks.js";

const CHART = 170; // pixels: height of a chart
const MOST_LOSS = 3.5; // nats, of the axis
const POINTS = 160; // of the curve, at most
const MOST_STEPS = 2000;
const ASK = 200; // ms of training between two answers of the worker
const LOOK = 1000; // ms between two looks at what the model answers
const NAMES = {
  rotary: "RoPE",
  "p-rope": "p-RoPE",
  sinusoidal: "Sinusoids",
  learned: "Learned vectors",
  alibi: "ALiBi",
  t5: "T5’s bias",
  none: "No encoding",
};
const RULES = { pi: "PI", "ntk-aware": "NTK-aware", yarn: "YaRN" };

const narrow = (width) => width < 560;
const helper = makeHelper(ENGINE);

/** How each run stands: losses, steps asked for, and what it answered under each reading. */
const runs = new Map();
function standing(state) {
  const name = runName(state);
  if (!runs.has(name)) runs.set(name, { step: 0, losses: [], asked: 0, chunk: 8, looked: 0, looks: new Map() });
  return runs.get(name);
}
const readingName = ({ times, rule }) => `${times} ${rule}`;

/** The answers of a state by place, if they are known at the step to which it is trained by now. */
function lookAt(state) {
  const run = standing(state);
  const look = run.looks.get(readingName(state));
  return look && look.step <= state.steps ? look : undefined;
}
const stepOf = (state) => Math.min(standing(state).step, state.steps);

/** Where a run has gone farther than it is asked for, it starts anew. */
function keep(state, { step, losses, right }, asked) {
  const run = standing(state);
  Object.assign(run, { step, losses, asked });
  if (right) run.looks.set(readingName(state), { step, right });
}

/** Train on until the state is reached, in the worker or here; with `whole` without waiting. */
function* work(state, whole) {
  const run = standing(state);
  const isDone = () => run.step === state.steps && lookAt(state)?.step === state.steps;
  if (state.steps === 0 || isDone()) return;
  if (!whole) yield; // a hand that moves on starts nothing
  if (run.step > state.steps) Object.assign(run, { step: 0, losses: [], asked: 0, looks: new Map() });
  while (!isDone()) {
    const there = !whole && helper.works();
    const until = Math.min(state.steps, run.step + (there ? run.chunk : 1));
    const look = until === state.steps || (there && performance.now() - run.looked > LOOK);
    const question = { settings: state, until, look };
    run.asked = until;
    if (there) yield asked(state, question, run);
    else {
      keep(state, answer(question), until);
      yield;
    }
  }
}

/** The worker's answer; where there is no worker, the next round is done here. */
async function asked(state, question, run) {
  const began = performance.now();
  try {
    keep(state, await helper.ask(question), question.until);
  } catch {
    return;
  }
  if (question.look) run.looked = performance.now();
  else run.chunk = clamp(Math.round(run.chunk * clamp(ASK / (performance.now() - began), 0.5, 2)), 1, 100);
}

/** What is shown of a state. */
function shown(state) {
  const { task, length, times } = state;
  const [trained, total] = [placesOf(task, length) - 1, placesOf(task, length * times) - 1];
  const look = lookAt(state);
  const places = look ? Float64Array.from(look.right).subarray(1) : undefined;
  const size = binSize(trained, times);
  const mean = (part) => (part?.length ? means([part], part.length)[0] : NaN);
  return {
    trained,
    total,
    size,
    bars: places ? means([places], size) : [],
    known: mean(places?.subarray(0, trained)),
    beyond: mean(places?.subarray(trained)),
    losses: standing(state).losses.slice(0, stepOf(state)),
    guess: guessOf(task),
  };
}

const LEGEND = [
  { words: "trained places", fill: ink.position },
  { words: "new places", fill: ink.other },
  { words: "guessing", fill: "" },
];
const legend = (width) => inLines(LEGEND, width - 4, { sample: 30 });

function plan(width) {
  const top = 20 * legend(width).at(-1).line + 52;
  if (!narrow(width)) {
    const left = { x: 44, y: top, w: Math.round(0.36 * width) - 44, h: CHART };
    const x = left.x + left.w + 62;
    return { left, right: { x, y: top, w: width - x - 16, h: CHART }, bottom: top + CHART + 46 };
  }
  const left = { x: 44, y: top, w: width - 66, h: 110 };
  const right = { ...left, y: top + 110 + 78, h: CHART };
  return { left, right, bottom: right.y + CHART + 46 };
}

function drawLoss(pen, state, { losses, guess: { loss: level } }, box) {
  const most = Math.max(pageTask(state.task).steps, state.steps);
  const { X, Y } = axes(pen, box, [0, most], [0, MOST_LOSS], {
    xLabel: "step",
    yLabel: "Loss (nats)",
    xTicks: range(0, most, most / 2),
    xFormat: grouped,
    yTicks: [0, 1, 2, 3],
  });
  pen.line(box.x, Y(level), box.x + box.w, Y(level), { stroke: ink.text, width: 1.5, dash: "5 3" });
  const size = Math.max(1, Math.ceil(losses.length / POINTS));
  const points = losses.length ? means([losses], size) : [];
  const path = points.map((loss, i) => [X(Math.min(losses.length, (i + 0.5) * size)), Y(clamp(loss, 0, MOST_LOSS))]);
  pen.part(() => {
    if (path.length > 1) pen.curve(path, { stroke: ink.score, width: 2.5 });
    const [x, y] = path.at(-1) ?? [];
    if (path.length) pen.circle(x, y, 4, { fill: ink.score, stroke: ink.text, width: 1 });
  });
}

function drawPlaces(pen, state, { trained, total, size, bars, guess }, box) {
  const chance = 100 * guess.right;
  const { X, Y } = axes(pen, box, [0, total], [0, 100], {
    xLabel: "place in the text",
    yLabel: "Right answers (%)",
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
  pen.part(() => {
    if (known.length) return;
    const middle = box.x + box.w / 2;
    const words = state.steps === 0 ? "Press Train" : "Training …";
    pen.text(middle, box.y + 50, words, { anchor: "middle", weight: 600, size: 15 });
    for (const [i, line] of settings(state).entries()) {
      pen.text(middle, box.y + 72 + 18 * i, line, { anchor: "middle" });
    }
  });
}

/** What the next run is made of, in short lines. */
function settings({ encoding, layers, seed, learning_rate, base, first_pair, last_pair, p }) {
  const lines = [`${layers} layer${layers > 1 ? "s" : ""}, seed ${seed}`, `learning rate ${fmt(learning_rate, 4)}`];
  if (encoding === "rotary") lines.push(`base ${grouped(Math.round(base))}`, `pairs ${first_pair} to ${last_pair}`);
  if (encoding === "p-rope") lines.push(`p = ${fmt(p, 3)}`);
  return lines;
}

function draw(pen, state, { width }) {
  for (const { words, fill, x, line } of legend(width)) {
    const y = 10 + 20 * line;
    if (fill) pen.rect(x + 2, y - 6, 20, 12, { fill, stroke: ink.text, width: 1 });
    else pen.line(x + 2, y, x + 22, y, { stroke: ink.text, width: 1.5, dash: "5 3" });
    pen.text(x + 28, y + 4, words);
  }
  const [all, { left, right }] = [shown(state), plan(width)];
  drawLoss(pen, state, all, left);
  drawPlaces(pen, state, all, right);
}

function readout(state) {
  const { encoding, rule, times, steps } = state;
  const { trained, total, known, beyond, losses } = shown(state);
  const name = NAMES[encoding];
  if (steps === 0) {
    return `Nothing is trained yet. Press Train: a model with 32 features learns in this page, on texts of ${trained} places.`;
  }
  if (Number.isNaN(known)) return `${name}, step ${grouped(losses.length)} of ${grouped(steps)}.`;
  const under = encoding === "rotary" && times > 1 && rule !== "none" ? ` under ${RULES[rule]}` : "";
  const far = times > 1 ? `, and ${fmt(100 * beyond, 0)} % at the ${total - trained} new ones${under}` : "";
  const now = `${name} after ${grouped(losses.length)} steps: loss ${fmt(losses.at(-1), 2)} nats.`;
  return `${now} It answers ${fmt(100 * known, 0)} % right at the ${trained} trained places${far}.`;
}

const goOn = ({ task, steps }) => {
  const planned = pageTask(task).steps;
  return { steps: steps < planned ? planned : Math.min(MOST_STEPS, steps + 200) };
};

export default live({
  name: "TrainInThePage",
  title: "A tiny transformer that learns in this page, and what it answers on longer texts",
  height: (width) => plan(width).bottom,
  draw,
  readout,
  work,
  buttons: [
    { label: "Train", move: goOn },
    { label: "Pause", move: (state) => ({ steps: Math.min(state.steps, standing(state).asked) }) },
    { label: "One step", move: ({ steps }) => ({ steps: Math.min(MOST_STEPS, steps + 1) }) },
  ],
});
