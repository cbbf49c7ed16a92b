import { ink, noteEnd, noteMiddle } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { inLines } from "../lib/labels.js";
import { legendOf } from "../lib/legend.js";
import { BEYOND, SEEN } from "../lib/marks.js";
import { clamp, decade, fmt, grouped, powerOf, range, ticks } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import {
  attentionPicture,
  drawPlaceBars,
  entriesOfPlaces,
  isLowEnough,
  isRightEnough,
  LEVEL,
  WITHIN,
} from "../lib/places.js";
import { pointsAround } from "../lib/shapes.js";
import { counted, quoted, wrapped } from "../lib/words.js";
import { binSize, means, pageRope, turnsWithin } from "../maths/long_text.js";
import { pageModel } from "../maths/page_models.js";
import { ownTextOf, readingOf } from "../maths/reading.js";

const PITCH = 12; // pixels per pair
const PAIRS = 16;
const CHART = 110; // chart height, in pixels
const LEAST = -4; // the angle axis begins at 10^LEAST turns
const PUBLISHED = { "by-parts": [1, 32], yarn: [1, 32], llama3: [1, 4] }; // ends of the ramp, in turns
const TRAINED = { first_pair: 1, last_pair: PAIRS, attention_factor: 1 }; // rotation settings used in training
const MIDDLE = { anchor: "middle", size: 12 };
const UNSEEN = { " ": "␣", "\n": "↵" };
const OWN = {
  cell: 14,
  line: 38,
  words: phrase`Your text. A tick: the model said this letter; otherwise below it what it said`,
};

const narrow = (width) => width < 520;

/**
 * Collect the data that a state selects: the model's fields, the text length `total`, the query's position `place`,
 * the selected [layer, head] as `attends`, the current and the trained rotation, and the `Reading` of the texts.
 */
function seenOf({ task, times, ...state }) {
  const model = pageModel(task);
  const total = model.length * times;
  const trained = pageRope("none", model.length, model.headDim, model.base, TRAINED);
  const now = pageRope(state.rule, model.length, model.headDim, model.base, { ...state, times });
  /** @type {Pair} */
  const attends = state.head.split(".").map((part) => Number(part) - 1);
  const place = Math.min(state.place, total);
  return { ...model, total, place, attends, trained, now, reading: readingOf(task, now) };
}

/** The `OwnText` of the user's own text, or undefined if there is none or the task does not accept one. */
const ownOf = ({ task, own }, { now }) => (own && task === "text" ? ownTextOf(task, now, own) : undefined);

/** A token's character, with a visible symbol for whitespace. */
function letter({ alphabet }, token) {
  const character = alphabet[token] ?? "";
  return UNSEEN[character] ?? character;
}

/** The selected measure as bars over position, and its means over trained and over new positions (NaN if unknown).
 */
function measured({ measure, times }, { length, total, reading }) {
  const unit = measure === "loss" ? 1 : 100; // nats, or percent
  const rows = reading.rows(measure, total + 1);
  const mean = (part) => (part[0].length ? unit * means(part, part[0].length)[0] : NaN);
  const size = binSize(length, times);
  return {
    size,
    bars: means(rows, size).map((bar) => unit * bar),
    known: mean(rows.map((row) => row.subarray(0, length))),
    beyond: mean(rows.map((row) => row.subarray(length))),
  };
}

function legend({ task, measure }, width) {
  const { length, reached } = pageModel(task);
  const { loss, accuracy } = reached;
  const level = measure === "loss" ? phrase`${fmt(loss, 2)} nats` : `${fmt(100 * accuracy, 0)} %`;
  const now = { words: phrase`in training: ${level}`, style: LEVEL };
  return legendOf([now, ...entriesOfPlaces(length, phrase`within ${WITHIN} %`)], width - 4);
}

const barsAlone = ({ shows }) => !["attention", "angles"].some(shows);

function plan(width, state, view) {
  const top = legend(state, width).height + 30;
  const chart = { x: 44, y: top, w: width - 60, h: CHART };
  const second = top + CHART + 62;
  const side = narrow(width) ? 124 : PITCH * PAIRS;
  const x = side + (narrow(width) ? 52 : 86);
  const bottom = second + PITCH * PAIRS + 42;
  const own = ownPlan(state, { x: 4, y: bottom + 16, w: width - 8 });
  return {
    chart,
    field: { x: 2, y: second, w: side },
    pairs: { x, y: second, w: width - x - 52, h: PITCH * PAIRS },
    own,
    height: barsAlone(view) ? top + CHART + 46 : bottom + own.h,
  };
}

/** Lay out the user's own text: its wrapped heading, the number of letters per line, and the total height. */
function ownPlan({ own, task }, box) {
  const head = wrapped(OWN.words, box.w);
  const columns = Math.floor(box.w / OWN.cell);
  const lines = task === "text" ? Math.ceil(own.length / columns) : 0;
  return { ...box, head, columns, h: lines && 18 * head.length + OWN.line * lines + 8 };
}

/** Draw the measured values by position, and return the handle that moves the query. */
function drawChart(pen, state, seen, box, width, alone) {
  legend(state, width).draw(pen, 10);
  const { length: trained, total, place, reached } = seen;
  const { size, bars } = measured(state, seen);
  const loss = state.measure === "loss";
  const level = loss ? reached.loss : 100 * reached.accuracy;
  const most = Math.max(3, ...bars.filter((bar) => bar > 0));
  const inLetters =
    state.task === "text" ? phrase`place in the text (characters)` : phrase`place in the text (letters)`;
  const asTrained = (bar) => (loss ? isLowEnough : isRightEnough)(bar, level);
  const { X, at } = drawPlaceBars(
    pen,
    box,
    { bars, size, trained, total, level, asTrained },
    loss ? 1.05 * most : 100,
    {
      xLabel: narrow(width) ? phrase`place in the text` : inLetters,
      yLabel: loss ? phrase`Loss (nats)` : phrase`Right answers (%)`,
      yTicks: loss ? ticks(0, most, 4) : [0, 25, 50, 75, 100],
    },
  );
  if (alone) return {};
  const [x, y] = [X(place), box.y + box.h];
  pen.line(x, box.y, x, y, { stroke: ink.q, width: 1.5, dash: "3 3" });
  pen.circle(x, y, 6, { fill: ink.q, stroke: ink.text, width: 1.2 });
  return { place: { x, y, ring: 8, at: (px) => clamp(Math.round(at(px)), 1, total) } };
}

/** Draw one head's attention over the first text, marking the query's row and the end of the trained length. */
function drawField(pen, { head }, { length, total, place, attends, reading }, { x, y, w }, width) {
  const { cells, size, rows, values } = reading.field(total + 1, ...attends);
  const unit = w / (cells * size);
  pen.text(x, y - 9, narrow(width) ? phrase`Head ${head}` : phrase`Attention, head ${head}`);
  pen.raster(x, y, w, w, attentionPicture(values, cells, rows));
  const corner = Math.min(w, unit * (length + 1));
  pen.rect(x, y, corner, corner, { stroke: ink.position, width: 2 });
  const row = y + unit * (place + 0.5);
  pen.line(x, row, x + w, row, { stroke: ink.q, width: 1.5, dash: "3 3" });
  pen.text(x + w / 2, y + w + 17, phrase`keys →`, noteMiddle);
  pen.text(x + w + 14, y + w / 2, phrase`queries →`, { ...noteMiddle, turn: 90 });
}

/** The change in a pair's speed since training, as text: "÷" if slower, "×" if faster, "" if unchanged. */
function slower(now, trained) {
  if (now === 0) return phrase`still`;
  const ratio = trained / now;
  if (ratio === 1) return "";
  return ratio < 0.995 ? `× ${fmt(1 / ratio, 1)}` : `÷ ${fmt(ratio, ratio < 9.95 ? 1 : 0)}`;
}

/** The number of turns that each pair makes in training and in this text, capped at one. */
const reachedAngles = ({ now, trained, length, total }) => ({
  was: turnsWithin(trained.invFreq, length + 1),
  is: turnsWithin(now.invFreq, total + 1),
});

const ANGLES = { seen: { fill: ink.position }, fresh: { fill: ink.other, stroke: ink.text, width: 0.7 } };

/** Draw the pairs' angles, and the factors by which the pairs turn more slowly than in training. */
function drawPairs(pen, seen, { x, y, w, h }, width) {
  const { was, is } = reachedAngles(seen);
  const at = (power) => x + (w * (power - LEAST)) / -LEAST;
  const X = (turns) => at(clamp(powerOf(turns || 1e-9), LEAST, 0));
  const title =
    width < 300 ? phrase`Turns` : w < 230 ? phrase`Angles (turns)` : phrase`Farthest angle of each pair (turns)`;
  pen.text(x, y - 9, title);
  const factors = seen.now.invFreq.map((frequency, i) => slower(frequency, seen.trained.invFreq[i]));
  pen.text(x + w + 50, y - 9, factors.some(Boolean) ? phrase`slower` : "", { anchor: "end" });
  for (const power of narrow(width) ? [-3, -1] : range(LEAST, 0)) {
    pen.line(at(power), y, at(power), y + h, { stroke: ink.grid, width: 1 });
    pen.text(at(power), y + h + 17, decade(power, -9), noteMiddle);
  }
  const bars = (from, to) =>
    was
      .map((_, i) => [X(from(i)), y + PITCH * i + 2, X(to(i)) - X(from(i)), PITCH - 4])
      .filter(([, , wide]) => wide > 0);
  const [none, known] = [() => 0, (i) => was[i]];
  pen.rects(
    bars(none, (i) => Math.min(is[i], was[i])),
    ANGLES.seen,
  );
  pen.rects(
    bars(known, (i) => Math.max(is[i], was[i])),
    ANGLES.fresh,
  );
  pen.rects(bars(none, known), { stroke: ink.text, width: 1 });
  pen.part(() => {
    for (const [i, factor] of factors.entries()) {
      const baseline = y + PITCH * i + 10;
      pen.text(x - 6, baseline, i + 1, noteEnd);
      pen.text(x + w + 50, baseline, factor, { anchor: "end", size: 12 });
    }
    const left = narrow(width) ? x - 44 : x;
    const named = [
      { words: narrow(width) ? phrase`seen` : phrase`seen in training`, box: ANGLES.seen },
      { words: narrow(width) ? phrase`never` : phrase`never seen`, box: ANGLES.fresh },
    ];
    for (const { words, box, x: at } of inLines(named, width - left, { sample: 22 })) {
      pen.rect(left + at, y + h + 26, 16, 12, box);
      pen.text(left + at + 22, y + h + 36, words);
    }
  });
}

/** Draw the user's own text letter by letter, coloured by trained or new position, with a tick or the prediction
 * below each letter. */
function drawOwn(pen, state, seen, { x, y, head, columns }) {
  const own = ownOf(state, seen);
  if (!own) return;
  for (const [i, words] of head.entries()) pen.text(x, y + 18 * i, words);
  const top = y + 18 * head.length - 8;
  const cells = own.foretold().map((right, n) => {
    const [left, above] = [x + OWN.cell * (n % columns), top + OWN.line * Math.floor(n / columns)];
    return { right, left, above, n, middle: left + OWN.cell / 2 };
  });
  const ground = (isTrained) =>
    cells
      .filter(({ n }) => n <= seen.length === isTrained)
      .map(({ left, above }) => /** @type {Segment} */ ([left, above, OWN.cell, OWN.line - 6]));
  pen.rects(ground(true), SEEN);
  pen.rects(ground(false), { ...BEYOND, opacity: 0.35 });
  const tick = ({ middle, above }) => pointsAround([middle, above], [-4, 24], [-1, 27], [4, 19]);
  pen.curves(cells.filter(({ right }) => right).map(tick), { stroke: ink.text, width: 2 });
  pen.part(() => {
    for (const { right, middle, above, n } of cells) {
      pen.text(middle, above + 12, letter(seen, own.tokens[n + 1]), { ...MIDDLE, weight: right ? 700 : 400 });
      if (n && !right && n < own.said.length)
        pen.text(middle, above + 28, letter(seen, own.said[n]), { ...MIDDLE, fill: ink.muted });
    }
  });
}

function draw(pen, state, view) {
  const { width } = view;
  const [seen, parts, alone] = [seenOf(state), plan(width, state, view), barsAlone(view)];
  const handles = drawChart(pen, state, seen, parts.chart, width, alone);
  if (alone) return handles;
  drawField(pen, state, seen, parts.field, width);
  drawPairs(pen, seen, parts.pairs, width);
  drawOwn(pen, state, seen, parts.own);
  return handles;
}

function toldRow({ head }, seen) {
  const { place, attends, reading, answers } = seen;
  const weights = [...reading.attention(...attends, place)];
  const [answer, says] = [answers[0][place], reading.said[place]];
  const top = Math.max(...weights);
  const far = place - weights.indexOf(top);
  const [much, back] = [fmt(100 * top, 0), counted(far, "place")];
  const looks = far
    ? phrase`From place ${place} head ${head} looks most at the letter ${back} back, with ${much} %`
    : phrase`From place ${place} head ${head} looks most at itself, with ${much} %`;
  if (answer < 0) return phrase`${looks}.`;
  const wanted = quoted(letter(seen, answer));
  return says === answer
    ? phrase`${looks}; ${wanted} is right, and the model says it.`
    : phrase`${looks}; ${wanted} is right, the model says ${quoted(letter(seen, says))}.`;
}

function toldOwn(state, seen) {
  const own = ownOf(state, seen);
  if (state.task === "text" && !own) return phrase` Under More you can type a text of your own.`;
  if (!own || own.said.length < own.tokens.length) return "";
  const { length } = seen;
  const [, ...asked] = own.foretold();
  const right = (part) => phrase`${part.filter(Boolean).length} of ${part.length}`;
  const next = quoted(letter(seen, own.said.at(-1)));
  if (!asked.length) return phrase` After your letter it would write ${next}.`;
  const known = right(asked.slice(0, length));
  return asked.length > length
    ? phrase` Of your text the model says ${known} letters at trained places and ${right(asked.slice(length))} beyond them; next it
        would write ${next}.`
    : phrase` Of your text the model says ${known} letters at trained places; next it would write ${next}.`;
}

/** Say how many pairs reach angles beyond those seen in training. */
function toldAngles(seen) {
  const { was, is } = reachedAngles(seen);
  const fresh = is.filter((turns, i) => turns > 1.001 * was[i]).length;
  if (!fresh) return phrase`No pair meets an angle that is new to it.`;
  return phrase`${fresh} of ${PAIRS} pairs meet angles that are new to them.`;
}

function readout(state, view) {
  const seen = seenOf(state);
  const { length, total, texts, reading } = seen;
  if (!reading.texts.every(({ reader }) => reader.place > total))
    return phrase`Reading ${texts.length} texts of ${grouped(total)} places.`;
  const { known, beyond } = measured(state, seen);
  const say = (value) =>
    state.measure === "loss" ? phrase`${fmt(value, 2)} nats of loss` : phrase`${fmt(value, 0)} % right`;
  const more = state.times > 1 ? phrase`, ${say(beyond)} at the ${grouped(total - length)} new ones` : "";
  if (barsAlone(view)) return phrase`${say(known)} at the ${length} trained places${more}.`;
  return phrase`${say(known)} at the ${length} trained places${more}. ${toldAngles(seen)} ${toldRow(state, seen)}${toldOwn(state, seen)}`;
}

/** Process the user's own text first, so that the predictions keep up with typing. */
function* work(state) {
  const seen = seenOf(state);
  yield* ownOf(state, seen)?.steps() ?? [];
  yield* seen.reading.steps(seen.total + 1, ...seen.attends);
}

/** While the factor equals the length multiple, changing the length changes both. This cannot be a rule between
 * controls, because a rule would never let them differ. */
const follow = (before, held) =>
  "times" in held && !("factor" in held) && before.factor === before.times ? { factor: held.times } : {};

const results = (state) => ({ share_right_beyond: measured({ ...state, measure: "right" }, seenOf(state)).beyond });

export default live({
  name: "ModelInThePage",
  title: phrase`A trained transformer on texts longer than it was trained on, under a rule of your choice`,
  height: (width, state, view) => plan(width, state, view).height,
  draw,
  readout,
  results,
  follow,
  work,
  panel(width, state, view) {
    const { own, height } = plan(width, state, view);
    return [own.h ? own.y - 20 : 0, height]; // keeps the result visible while the user types
  },
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
