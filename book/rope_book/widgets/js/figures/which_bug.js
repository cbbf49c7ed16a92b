import { PATIENTS } from "../data/patients.js";
import { axes } from "../lib/axes.js";
import { ink, note, noteEnd, noteMiddle } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { legendOf } from "../lib/legend.js";
import { memo } from "../lib/memo.js";
import { brief, clamp, fmt, range } from "../lib/numbers.js";
import { phrase, phraseOf } from "../lib/phrase.js";
import { planeOf } from "../lib/shapes.js";
import { quoted } from "../lib/words.js";
import { matrixAt, summary, symptomsOf, turned } from "../maths/patients.js";

const PAIR = [0.8, 0.6]; // features of every pair before rotation
const VECTOR = range(0, 3).flatMap(() => PAIR);
const APART = 0.02; // smaller differences count as equal
const LOOK = 2; // position at which the readout compares the matrices of two patients
const LONGEST = 1.5; // length of the longest arrow, as a multiple of the right length

const HEALTHY = { stroke: ink.position, width: 1.5 };
const AROUND = { stroke: ink.position, width: 8, opacity: 0.3 }; // halo around the healthy line
const PATIENT = { stroke: ink.text, width: 2.2 };
const WRONG = { fill: ink.other, opacity: 0.75 };
const RIGHT = { fill: ink.position, opacity: 0.22 };
const STARTS = ["", "7 4", "2 3"].map((dash) => ({ stroke: ink.score, width: 2.2, dash: dash || undefined }));

const personOf = ({ patient }) => PATIENTS.people[patient - 1];
const measured = memo((name) => symptomsOf(name), PATIENTS.people.length);

const KEY = [
  { words: phrase`healthy`, style: HEALTHY, sign: (pen, x, y) => pen.line(x + 2, y, x + 22, y, AROUND) },
  { words: phrase`the patient`, style: PATIENT },
  { words: phrase`wrong`, box: WRONG },
];
const legend = (width) => legendOf(KEY, width, { sample: 30 });

/** Lay out, from top to bottom, the legend, the clocks, and the matrix, with the chart beside or below the matrix.
 */
function plan(width) {
  const narrow = width < 480;
  const key = { x: narrow ? 0 : 118, y: narrow ? 34 : 10 };
  const top = key.y + legend(width - key.x).height;
  const clocks = { y: top, cell: width / 4, r: Math.min(37, width / 13) };
  const matrix = { x: 2, y: top + 2.6 * clocks.r + 28, cell: narrow ? Math.min(30, width / 8.2) : 26, row: 18 };
  const below = matrix.y + 8 * matrix.row;
  const left = narrow ? 44 : 8 * matrix.cell + 56;
  const chart = { x: left, y: narrow ? below + 30 : matrix.y, w: width - left - 14, h: 8 * matrix.row - 38 };
  return { key, clocks, matrix, chart, height: narrow ? chart.y + chart.h + 40 : below + 4 };
}

/** Draw each pair's clock, with the healthy hand, the patient's hand and the gap between them. */
function drawClocks(pen, { position, name }, { y, cell, r }) {
  const [patient, healthy] = [name, "right"].map((whose) => turned(whose, VECTOR, position));
  for (const i of range(0, 3)) {
    /** @type {Pair} */
    const centre = [(i + 0.5) * cell, y + 1.3 * r + 4];
    const { at } = planeOf(centre[0], centre[1], r);
    const [wanted, found] = [healthy, patient].map((vector) => at([vector[2 * i], vector[2 * i + 1]]));
    pen.circle(centre[0], centre[1], r, { stroke: ink.grid, width: 1.5 });
    pen.area([centre, wanted, found], WRONG);
    for (const style of [AROUND, HEALTHY]) pen.lines([[...centre, ...wanted]], style);
    pen.lines([[...wanted, ...found]], { stroke: ink.other, width: 3 });
    pen.arrow(centre[0], centre[1], found[0], found[1], { ...PATIENT, head: 8 });
    pen.text(centre[0] - r * LONGEST - 2, y + 12, phrase`pair ${i}`, note);
  }
}

/** The entries of a patient's matrix that are visibly nonzero or wrong. */
function entriesOf(name, position) {
  const [found, wanted] = [name, "right"].map((whose) => matrixAt(whose, position).flat());
  const all = found.map((value, n) => ({ n, value, wanted: wanted[n], wrong: Math.abs(value - wanted[n]) > APART }));
  return all.filter(({ value, wrong }) => wrong || Math.abs(value) > APART / 4);
}

/** Draw the 8-by-8 matrix, with right entries on green, wrong ones framed on amber, and zeros blank. */
function drawMatrix(pen, { position, name }, { x, y, cell, row }) {
  pen.text(x, y - 8, phrase`Matrix at position ${fmt(position, 0)}`);
  pen.rect(x, y, 8 * cell, 8 * row, { stroke: ink.muted, width: 1 });
  const entries = entriesOf(name, position);
  const boxOf = ({ n }) => [x + (n % 8) * cell + 1, y + Math.floor(n / 8) * row + 1, cell - 2, row - 2];
  const boxes = (wrong) => entries.filter((entry) => entry.wrong === wrong).map(boxOf);
  pen.rects(boxes(false), RIGHT);
  pen.rects(boxes(true), { ...WRONG, stroke: ink.text, width: 1.2 });
  pen.part(() => {
    for (const entry of entries) {
      const [left, top, w, h] = boxOf(entry);
      const fill = entry.wrong ? ink.onOther : ink.text;
      pen.text(left + w / 2, top + h / 2 + 4.5, brief(entry.value, 1), { ...noteMiddle, fill });
    }
  });
}

/** Plot a patient's measurement over the healthy one, marking the current position if the axis shows positions. */
function drawLines(pen, box, { xs, ys, yTicks, xLabel, yLabel, lines, healthy, at }) {
  const { X, Y } = axes(pen, box, [xs[0], xs.at(-1)], ys, { xLabel, yLabel, yTicks });
  const path = (values) => values.map((value, n) => [X(xs[n]), Y(clamp(value, ys[0], ys[1]))]);
  for (const style of [AROUND, HEALTHY]) pen.curve(path(healthy), style);
  for (const [i, values] of lines.entries()) pen.curve(path(values), at === undefined ? STARTS[i] : PATIENT);
  const place = at === undefined ? 0 : X(at);
  pen.line(place, box.y, place, box.y + box.h, { stroke: ink.muted, width: place ? 1 : 0, dash: "3 3" });
}

/** Draw a legend of the three scores' start positions at the right end of the heading. */
function drawStarts(pen, { x, y, w }) {
  pen.part(() => {
    let end = x + w;
    for (const [i, start] of [...PATIENTS.starts.entries()].reverse()) {
      pen.text(end, y - 9, start, noteEnd);
      const left = end - 8 * String(start).length - 26;
      pen.line(left, y - 13, left + 22, y - 13, STARTS[i]);
      end = left - 8;
    }
    pen.text(end, y - 9, phrase`key at`, noteEnd);
  });
}

/** Draw the selected chart. */
function drawChart(pen, { chart, position, name }, box) {
  const [patient, healthy] = [measured(name), measured("right")];
  const byPosition = {
    xs: PATIENTS.places,
    xLabel: phrase`position (tokens)`,
    ys: [0, 2],
    yTicks: [0, 1, 2],
    at: position,
  };
  const byDistance = {
    xs: PATIENTS.offsets,
    xLabel: phrase`distance (tokens)`,
    ys: [-LONGEST, LONGEST],
    yTicks: [-1, 0, 1],
  };
  const charts = {
    score: { ...byDistance, yLabel: phrase`Score`, lines: patient.scores, healthy: healthy.scores[0] },
    length: {
      ...byPosition,
      yLabel: phrase`Length after ÷ before`,
      lines: [patient.lengths],
      healthy: healthy.lengths,
    },
    place: { ...byPosition, yLabel: phrase`Off the right place by`, lines: [patient.errors], healthy: healthy.errors },
  };
  drawLines(pen, box, charts[chart]);
  if (chart === "score") drawStarts(pen, box);
}

function draw(pen, state, { width }) {
  const now = { ...state, name: personOf(state).name };
  const { key, clocks, matrix, chart } = plan(width);
  pen.text(2, 14, phrase`Patient ${state.patient} of ${PATIENTS.people.length}`, { weight: 600 });
  legend(width - key.x).draw(pen, key.y, key.x);
  drawClocks(pen, now, clocks);
  drawMatrix(pen, now, matrix);
  pen.part(() => drawChart(pen, now, chart));
}

/** A patient's symptoms in order, each as words and as numbers that may distinguish two patients. */
function symptoms({ name }) {
  const { shortest, longest, spread, error } = summary(measured(name));
  const long =
    longest - shortest < 0.01
      ? phrase`lengths stay ${fmt(longest)}`
      : phrase`lengths run from ${fmt(shortest)} to ${fmt(longest)}`;
  const apart =
    spread < 0.01
      ? phrase`scores do not depend on the start`
      : phrase`scores differ by up to ${fmt(spread)} with the start`;
  return [
    { numbers: [shortest, longest], words: long },
    { numbers: [spread], words: apart },
    { numbers: [error], words: phrase`vectors are off by up to ${fmt(error)}` },
  ];
}

/** The symptoms as a sentence, without the diagnosis. */
function seen(person) {
  const words = symptoms(person).map((symptom) => symptom.words);
  const sentence = words.join(phrase`; `);
  return phrase`${sentence[0].toUpperCase() + sentence.slice(1)}.`;
}

/** The matrix entry at which two patients differ most. */
function otherEntry(person, guessed) {
  const [actual, expected] = [person, guessed].map(({ name }) => matrixAt(name, LOOK).flat());
  const entries = actual.map((value, n) => ({ n, value, other: expected[n], gap: Math.abs(value - expected[n]) }));
  return entries.sort((one, other) => other.gap - one.gap)[0];
}

/** Describe the first symptom that contradicts a diagnosis. */
function contradiction(person, guessed) {
  const [actual, expected] = [symptoms(person), symptoms(guessed)];
  const differ = (n) => actual[n].numbers.some((value, i) => Math.abs(value - expected[n].numbers[i]) > APART);
  if (differ(0)) return expected[0].words;
  if (differ(1)) return expected[1].words;
  const { n, value, other, gap } = otherEntry(person, guessed);
  const [row, column] = [Math.floor(n / 8) + 1, (n % 8) + 1];
  if (gap > APART)
    return phrase`row ${row}, column ${column} of the matrix at position ${LOOK} is ${fmt(other)}; here it is ${fmt(value)}`;
  return expected[2].words;
}

function readout(state) {
  const person = personOf(state);
  const told = seen(person);
  if (state.guess === "none") return phrase`${told} What is it?`;
  if (state.guess === person.name) return phrase`Right. ${phraseOf(person.does)} ${phraseOf(person.fix)}`;
  const guessed = PATIENTS.people.filter(({ name }) => name === state.guess)[0];
  return phrase`Not ${quoted(phraseOf(guessed.called))}: with that, ${contradiction(person, guessed)}. ${told} Look again.`;
}

const results = (state) => summary(measured(personOf(state).name));

/** Choosing another patient resets the diagnosis. */
function follow(before, held) {
  return "patient" in held && !("guess" in held) && held.patient !== before.patient ? { guess: "none" } : {};
}

export default live({
  name: "WhichBug",
  title: phrase`Each pair as it should turn and as the patient turns it, the patient’s matrix, and a chart of its symptoms`,
  height: (width) => plan(width).height,
  lines: 3,
  draw,
  readout,
  results,
  panel: (width) => [0, plan(width).matrix.y - 24],
  follow,
  answers: "guess",
  smooth: ["position"],
  play: { trait: "position", perSecond: 3 },
  buttons: [{ label: phrase`Next`, move: ({ patient }) => ({ patient: (patient % PATIENTS.people.length) + 1 }) }],
});
