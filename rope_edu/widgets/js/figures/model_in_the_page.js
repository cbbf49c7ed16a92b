import { axes } from "../lib/axes.js";
import { bitmap } from "../lib/bitmap.js";
import { ink, noteEnd, noteMiddle } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { legendOf } from "../lib/legend.js";
import { BEYOND, UNSEEN as NEW, SEEN } from "../lib/marks.js";
import { clamp, decade, fmt, grouped, powerOf, range, sum, ticks } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { pointsAround } from "../lib/shapes.js";
import { counted, quoted, wrapped } from "../lib/words.js";
import { binSize, means, pageRope, turnsWithin } from "../maths/long_text.js";
import { pageModel } from "../maths/page_models.js";
import { ownTextOf, readingOf } from "../maths/reading.js";

const PITCH = 12; // pixels of one pair
const PAIRS = 16;
const CHART = 150; // pixels: height of the bars
const LEAST = -4; // of the axis of angles: 10^LEAST turns
const PUBLISHED = { "by-parts": [1, 32], yarn: [1, 32], llama3: [1, 4] }; // turns: where the ramp begins and ends
const UNSEEN = { " ": "␣", "\n": "↵" };
const OWN = {
  cell: 14,
  line: 38,
  words: phrase`Your text. A tick: the model said this letter; otherwise below it what it said`,
};

const narrow = (width) => width < 520;
/** @type {(state: State) => number} */
const lengthOf = ({ task, times }) => pageModel(task).length * times;
/** @type {(state: State) => Pair} */
const headOf = ({ head }) => head.split(".").map((part) => Number(part) - 1);
const placeOf = (state) => Math.min(state.place, lengthOf(state));

/** The rotation of a state, and the one of the training. */
function rotations(state) {
  const { length, headDim, base } = pageModel(state.task);
  const all = { ...state, first_pair: 1, last_pair: PAIRS, attention_factor: 1 };
  return {
    now: pageRope(state.rule, length, headDim, base, state),
    trained: pageRope("none", length, headDim, base, all),
  };
}
const readingFor = (state) => readingOf(state.task, rotations(state).now);
/** The reader's own text, where the model of this task reads one. */
const ownOf = (state) =>
  state.own && state.task === "text" ? ownTextOf(state.task, rotations(state).now, state.own) : undefined;

/** A letter as a reader sees it. */
const letter = ({ task }, token) => {
  const character = pageModel(task).alphabet[token] ?? "";
  return UNSEEN[character] ?? character;
};

/** Bars of a measure, and its mean at trained and at new places; NaN where nothing is known. */
function measured(state, measure = state.measure) {
  const { length } = pageModel(state.task);
  const rows = readingFor(state).rows(measure, lengthOf(state) + 1);
  const [trained, beyond] = [rows.map((row) => row.subarray(0, length)), rows.map((row) => row.subarray(length))];
  const size = binSize(length, state.times);
  const mean = (some) => (some[0].length ? means(some, some[0].length)[0] : NaN);
  return { size, bars: means(rows, size), trained: mean(trained), beyond: mean(beyond) };
}

/** The legend: trained places, new ones, and what training reached. */
function legend({ task, measure }, width) {
  const { reached } = pageModel(task);
  const level = measure === "loss" ? phrase`${fmt(reached.loss, 2)} nats` : `${fmt(100 * reached.accuracy, 0)} %`;
  const edge = { stroke: ink.text, width: 1 };
  const items = [
    { words: phrase`trained places`, box: { ...edge, fill: ink.position } },
    { words: phrase`new places`, box: { ...edge, fill: NEW.fill } },
    { words: phrase`after training: ${level}`, style: { ...edge, width: 1.5, dash: "5 3" } },
  ];
  return legendOf(items, width - 4);
}

/** Where the parts stand. */
function plan(width, state) {
  const top = legend(state, width).height + 32;
  const second = top + CHART + 76;
  const side = narrow(width) ? 124 : PITCH * PAIRS;
  const x = side + (narrow(width) ? 30 : 64);
  const third = second + PITCH * PAIRS + 66;
  return {
    chart: { x: 44, y: top, w: width - 60, h: CHART },
    field: { x: 2, y: second, w: side, h: side },
    pairs: { x: x + 22, y: second, w: width - x - 22 - 52, h: PITCH * PAIRS },
    row: { x: 4, y: third + 16, w: width - 8, h: 56 },
    own: { x: 4, y: third + 116, w: width - 8 },
  };
}
/** How the reader's own text is laid out: the lines above it, the letters of a line, the lines. */
function ownPlan({ own, task }, w) {
  const head = wrapped(OWN.words, w);
  const columns = Math.floor(w / OWN.cell);
  const lines = task === "text" ? Math.ceil(own.length / columns) : 0;
  return { head, columns, lines, h: lines && 18 * head.length + OWN.line * lines + 8 };
}
/** Whether the bars are all that is shown. */
const barsAlone = ({ shows }) => !["attention", "angles", "row"].some(shows);
function height(width, state, view) {
  const { chart, row, own } = plan(width, state);
  return barsAlone(view) ? chart.y + chart.h + 46 : row.y + 84 + ownPlan(state, own.w).h;
}

/** What was measured, by place. */
function drawChart(pen, state, box, width, alone) {
  legend(state, width).draw(pen, 10);
  const { length, reached } = pageModel(state.task);
  const { size, bars } = measured(state);
  const total = lengthOf(state);
  const loss = state.measure === "loss";
  const most = loss ? Math.max(3, ...bars.filter((bar) => bar > 0)) : 100;
  const { X, Y, at } = axes(pen, box, [0, total], [0, loss ? 1.05 * most : 100], {
    xLabel: narrow(width)
      ? phrase`place in the text`
      : state.task === "text"
        ? phrase`place in the text (characters)`
        : phrase`place in the text (letters)`,
    yLabel: loss ? phrase`Loss (nats)` : phrase`Right answers (%)`,
    xTicks: range(0, total, total / 4),
    xFormat: grouped,
    yTicks: loss ? ticks(0, most, 4) : [0, 25, 50, 75, 100],
  });
  const edge = X(length);
  pen.rect(box.x, box.y, edge - box.x, box.h, { fill: ink.position, opacity: 0.1 });
  const rectOf = (bar, i) => {
    const [left, right] = [X(i * size) + 1, X(Math.min(total, (i + 1) * size)) - 1];
    const y = Y(loss ? bar : 100 * bar);
    return [left, y, right - left, box.y + box.h - y];
  };
  const known = bars.map((bar, i) => ({ bar, i })).filter(({ bar }) => bar >= 0);
  const part = (wanted) => known.filter(({ i }) => i * size < length === wanted).map(({ bar, i }) => rectOf(bar, i));
  pen.rects(part(true), { fill: ink.position, stroke: ink.text, width: 0.7 });
  pen.rects(part(false), { ...NEW, opacity: 1, stroke: ink.text, width: 0.7 });
  pen.line(edge, box.y, edge, box.y + box.h, { stroke: ink.position, width: 2 });
  const level = Y(loss ? reached.loss : 100 * reached.accuracy);
  pen.line(box.x, level, box.x + box.w, level, { stroke: ink.text, width: 1.5, dash: "5 3" });
  if (alone) return undefined;
  const here = X(placeOf(state));
  pen.line(here, box.y, here, box.y + box.h, { stroke: ink.q, width: 1.5, dash: "3 3" });
  pen.circle(here, box.y + box.h, 6, { fill: ink.q, stroke: ink.text, width: 1.2 });
  return { x: here, y: box.y + box.h, ring: 8, at: (px) => clamp(Math.round(at(px)), 1, total) };
}

/** Pictures of attention, each for as many rows as it shows. @type {WeakMap<object, {rows: number, href: string}>} */
const pictures = new WeakMap();

/** A field of attention as a bitmap. */
function pictureOf(field) {
  const known = pictures.get(field);
  if (known?.rows === field.rows) return known.href;
  const { cells, values, rows } = field;
  const href = bitmap(cells, cells, (row, column) => values[row * cells + column]);
  pictures.set(field, { rows, href });
  return href;
}

/** The attention of one head over the first text: the query's row, and the corner that training knows. */
function drawField(pen, state, { x, y, w }, width) {
  const places = lengthOf(state) + 1;
  const field = readingFor(state).field(places, ...headOf(state));
  const unit = w / (field.cells * field.size);
  pen.text(x, y - 9, narrow(width) ? phrase`Head ${state.head}` : phrase`Attention, head ${state.head}`);
  pen.raster(x, y, w, w, pictureOf(field));
  const corner = Math.min(w, unit * (pageModel(state.task).length + 1));
  pen.rect(x, y, corner, corner, { stroke: ink.position, width: 2 });
  const row = y + unit * (placeOf(state) + 0.5);
  pen.line(x, row, x + w, row, { stroke: ink.q, width: 1.5, dash: "3 3" });
  pen.text(x + w / 2, y + w + 17, phrase`keys →`, noteMiddle);
  pen.text(x + w + 14, y + w / 2, phrase`queries →`, { anchor: "middle", size: 12, fill: ink.muted, turn: 90 });
}

/** How many times slower a pair turns than in training. */
function slower(now, trained) {
  if (now === 0) return phrase`still`;
  const ratio = trained / now;
  if (ratio === 1) return "÷ 1";
  return ratio < 0.995 ? `× ${fmt(1 / ratio, 1)}` : `÷ ${fmt(ratio, ratio < 9.95 ? 1 : 0)}`;
}

/** How far each pair comes in training, and in this text: turns, at most one. */
function reached(state) {
  const { now, trained } = rotations(state);
  const [was, is] = [
    turnsWithin(trained.invFreq, pageModel(state.task).length + 1),
    turnsWithin(now.invFreq, lengthOf(state) + 1),
  ];
  return { now, trained, was, is };
}

/** The angles of the pairs, and how much slower each turns than in training. */
function drawPairs(pen, state, { x, y, w, h }, width) {
  const { now, trained, was, is } = reached(state);
  const X = (turns) => x + (w * (clamp(powerOf(turns || 1e-9), LEAST, 0) - LEAST)) / -LEAST;
  const title =
    width < 300 ? phrase`Turns` : narrow(width) ? phrase`Angles (turns)` : phrase`Farthest angle of each pair (turns)`;
  pen.text(x, y - 9, title);
  if (!narrow(width)) pen.text(x + w + 50, y - 9, phrase`slower`, { anchor: "end" });
  const ticks = narrow(width) ? [-3, -1] : range(LEAST, 0);
  for (const power of ticks) {
    const at = x + (w * (power - LEAST)) / -LEAST;
    pen.line(at, y, at, y + h, { stroke: ink.grid, width: 1 });
    pen.text(at, y + h + 17, decade(power, -9), noteMiddle);
  }
  const boxes = (from, to) =>
    range(0, PAIRS - 1).map((i) => [X(from(i)), y + PITCH * i + 2, X(to(i)) - X(from(i)), PITCH - 4]);
  const low = () => 0;
  const shown = (list) => list.filter(([, , wide]) => wide > 0);
  pen.rects(shown(boxes(low, (i) => Math.min(is[i], was[i]))), { fill: ink.position });
  const [trainedTo, farther] = [(i) => was[i], (i) => Math.max(is[i], was[i])];
  pen.rects(shown(boxes(trainedTo, farther)), { fill: ink.other, stroke: ink.text, width: 0.7 });
  pen.rects(shown(boxes(low, trainedTo)), { stroke: ink.text, width: 1 });
  pen.part(() => {
    for (const i of range(0, PAIRS - 1)) {
      const baseline = y + PITCH * i + 10;
      pen.text(x - 6, baseline, i + 1, noteEnd);
      pen.text(x + w + 50, baseline, slower(now.invFreq[i], trained.invFreq[i]), { anchor: "end", size: 12 });
    }
  });
}

/** What the query attends to: the letters just before it, and all earlier ones together. */
function drawRow(pen, state, { x, y, w, h }, width) {
  const place = placeOf(state);
  const weights = readingFor(state).attention(...headOf(state), place);
  const room = narrow(width) ? 16 : 32;
  const count = Math.min(place + 1, room);
  const first = place + 1 - count;
  const step = w / room;
  const left = (i) => x + w - step * (count - i);
  const who = narrow(width) ? phrase`Place ${place}` : phrase`The query at place ${place}`;
  pen.text(x, y - 24, phrase`${who} attends to (%)`, { fill: ink.qWords });
  pen.line(x, y + h, x + w, y + h, { stroke: ink.muted, width: 1 });
  pen.part(() => {
    if (!weights) return;
    const shown = [...weights.slice(first)];
    const bars = shown.map((weight, i) => [left(i) + 2, y + h - h * weight, step - 4, h * weight]);
    pen.rects(bars, { fill: ink.k, stroke: ink.text, width: 0.7 });
    for (const [i, weight] of shown.entries()) {
      if (weight < 0.095) continue;
      pen.text(left(i) + step / 2, y + h - h * weight - 5, fmt(100 * weight, 0), { anchor: "middle", size: 12 });
    }
    const rest = sum([...weights.slice(0, first)]);
    if (first) pen.text(x + w, y - 24, phrase`earlier: ${fmt(100 * rest, 0)} %`, { anchor: "end", fill: ink.kWords });
  });
  drawLetters(pen, state, first, count, (i) => left(i) + step / 2, y + h + 16);
}

/** The letters under the bars; those that are the right answer stand out. */
function drawLetters(pen, state, first, count, middle, baseline) {
  const { texts, answers } = pageModel(state.task);
  const answer = answers[0][placeOf(state)];
  pen.part(() => {
    for (const i of range(0, count - 1)) {
      const token = texts[0][first + i];
      const style = token === answer ? { fill: ink.kWords, weight: 700 } : { fill: ink.muted, weight: 400 };
      pen.text(middle(i), baseline, letter(state, token), { anchor: "middle", size: 12, ...style });
    }
  });
}

/** The reader's own text, letter by letter: on the ground of the places that it has, and below it a tick or what was said. */
function drawOwn(pen, state, { x, y, w }) {
  const own = ownOf(state);
  const { head, columns } = ownPlan(state, w);
  if (!own) return;
  for (const [i, words] of head.entries()) pen.text(x, y + 18 * i, words);
  const top = y + 18 * head.length - 8;
  const foretold = own.foretold();
  const cells = foretold.map((right, n) => {
    const [left, above] = [x + OWN.cell * (n % columns), top + OWN.line * Math.floor(n / columns)];
    return { right, left, above, n, middle: left + OWN.cell / 2 };
  });
  const { length } = pageModel(state.task);
  const ground = (some) =>
    some.map(({ left, above }) => /** @type {Segment} */ ([left, above, OWN.cell, OWN.line - 6]));
  pen.rects(ground(cells.filter(({ n }) => n <= length)), SEEN);
  pen.rects(ground(cells.filter(({ n }) => n > length)), { ...BEYOND, opacity: 0.35 });
  const tick = ({ middle, above }) => pointsAround([middle, above], [-4, 24], [-1, 27], [4, 19]);
  pen.curves(cells.filter(({ right }) => right).map(tick), { stroke: ink.text, width: 2 });
  pen.part(() => {
    for (const { right, middle, above, n } of cells) {
      const style = { anchor: "middle", size: 12 };
      pen.text(middle, above + 12, letter(state, own.tokens[n + 1]), { ...style, weight: right ? 700 : 400 });
      if (n && !right && n < own.said.length)
        pen.text(middle, above + 28, letter(state, own.said[n]), { ...style, fill: ink.muted });
    }
  });
}

function draw(pen, state, view) {
  const { width } = view;
  const parts = plan(width, state);
  const alone = barsAlone(view);
  const place = drawChart(pen, state, parts.chart, width, alone);
  if (alone) return {};
  drawField(pen, state, parts.field, width);
  drawPairs(pen, state, parts.pairs, width);
  drawRow(pen, state, parts.row, width);
  drawOwn(pen, state, parts.own);
  return { place };
}

/** Whether all texts are read. */
const isRead = (state) => readingFor(state).texts.every(({ reader }) => reader.place > lengthOf(state));

/** What the query's row says. */
function told(state) {
  const reading = readingFor(state);
  const place = placeOf(state);
  const weights = [...reading.attention(...headOf(state), place)];
  const [answer, says] = [pageModel(state.task).answers[0][place], reading.said[place]];
  const top = Math.max(...weights);
  const far = place - weights.indexOf(top);
  const [who, much, back] = [state.head, fmt(100 * top, 0), counted(far, "place")];
  const looks = far
    ? phrase`From place ${place} head ${who} looks most at the letter ${back} back, with ${much} %`
    : phrase`From place ${place} head ${who} looks most at itself, with ${much} %`;
  if (answer < 0) return phrase`${looks}.`;
  const wanted = quoted(letter(state, answer));
  return says === answer
    ? phrase`${looks}; ${wanted} is right, and the model says it.`
    : phrase`${looks}; ${wanted} is right, the model says ${quoted(letter(state, says))}.`;
}

/** What the model says of the reader's own text. */
function toldOwn(state) {
  const own = ownOf(state);
  if (state.task === "text" && !own) return phrase` Under More you can type a text of your own.`;
  if (!own || own.said.length < own.tokens.length) return "";
  const { length } = pageModel(state.task);
  const [, ...asked] = own.foretold();
  const right = (some) => phrase`${some.filter(Boolean).length} of ${some.length}`;
  const next = quoted(letter(state, own.said.at(-1)));
  if (!asked.length) return phrase` After your letter it would write ${next}.`;
  const known = right(asked.slice(0, length));
  return asked.length > length
    ? phrase` Of your text the model says ${known} letters at trained places and ${right(asked.slice(length))} beyond them; next it
        would write ${next}.`
    : phrase` Of your text the model says ${known} letters at trained places; next it would write ${next}.`;
}

/** How many pairs come to angles that they have not shown in training. */
function toldAngles(state) {
  const { was, is } = reached(state);
  const fresh = is.filter((turns, i) => turns > 1.001 * was[i]).length;
  if (!fresh) return phrase`No pair meets an angle that is new to it.`;
  return phrase`${fresh} of ${PAIRS} pairs meet angles that are new to them.`;
}

function readout(state, view) {
  const { length, texts } = pageModel(state.task);
  if (!isRead(state)) return phrase`Reading ${texts.length} texts of ${grouped(lengthOf(state))} places.`;
  const { trained, beyond } = measured(state);
  const say = (value) =>
    state.measure === "loss" ? phrase`${fmt(value, 2)} nats of loss` : phrase`${fmt(100 * value, 0)} % right`;
  const more = state.times > 1 ? phrase`, ${say(beyond)} at the ${grouped(lengthOf(state) - length)} new ones` : "";
  if (barsAlone(view)) return phrase`${say(trained)} at the ${length} trained places${more}.`;
  return phrase`${say(trained)} at the ${length} trained places${more}. ${toldAngles(state)} ${told(state)}${toldOwn(state)}`;
}

/** The reader's own text first: it follows the keys. */
function* work(state) {
  yield* ownOf(state)?.steps() ?? [];
  yield* readingFor(state).steps(lengthOf(state) + 1, ...headOf(state));
}

/** A factor that equals the length goes with it: a matter of the hand, since the two may differ. */
const follow = (before, held) =>
  "times" in held && !("factor" in held) && before.factor === before.times ? { factor: held.times } : {};

export default live({
  name: "ModelInThePage",
  title: phrase`A trained transformer on texts longer than it was trained on, under a rule of your choice`,
  height,
  draw,
  readout,
  follow,
  work,
  panel: (width, state, view) => [
    ownOf(state) ? plan(width, state).own.y - 20 : 0, // a reader who types sees what becomes of it
    height(width, state, view),
  ],
  buttons: [
    {
      label: phrase`Published ramp`,
      move: ({ rule }) => {
        const [from, to] = PUBLISHED[rule] ?? PUBLISHED["by-parts"];
        return { rule: rule in PUBLISHED ? rule : "by-parts", ramp_from: from, ramp_to: to };
      },
    },
  ],
});
