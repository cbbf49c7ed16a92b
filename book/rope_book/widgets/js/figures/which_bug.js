import { PATIENTS } from "../data/patients.js";
import { axes } from "../lib/axes.js";
import { diverging, ink, noteMiddle, onShade, shade, signedPlace } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { inLines } from "../lib/labels.js";
import { clamp, fmt, range } from "../lib/numbers.js";
import { phrase, phraseOf } from "../lib/phrase.js";
import { quoted } from "../lib/words.js";

const STYLES = [
  { stroke: ink.text, width: 1.6 },
  { stroke: ink.other, width: 3, dash: "7 4" },
  { stroke: ink.value, width: 2.4, dash: "2 3" },
];
const GHOST = { stroke: ink.position, width: 6, opacity: 0.95 };
const HEALTHY = PATIENTS.people.filter(({ name }) => name === "right")[0];
const FULL = 1.5; // scores and entries are clamped to this value
const FAR = 2; // lengths and errors are clamped to this value

const personOf = ({ patient }) => PATIENTS.people[patient - 1];
const narrow = (width) => width < 520;

/** The frames of the four plots, in two columns or in one. */
function frames(width) {
  const columns = narrow(width) ? 1 : 2;
  const across = width / columns;
  return range(0, 3).map((n) => {
    const [column, row] = [n % columns, Math.floor(n / columns)];
    return { x: 44 + column * across, y: 30 + row * 226, w: across - (columns > 1 ? 58 : 56), h: 150 };
  });
}

const legendAt = (width) => frames(width)[3].y + 212;
const height = (width) => legendAt(width) + (width < 400 ? 76 : 52);

/** Draw lines, clamped to the frame, in front of the line for a correct rotation. */
function drawLines(pen, box, { xs, ys, xLabel }, yLabel, lines, healthy) {
  const { X, Y } = axes(pen, box, [xs[0], xs.at(-1)], ys, { xLabel, yLabel });
  const path = (values) => values.map((value, n) => [X(xs[n]), Y(clamp(value, ys[0], ys[1]))]);
  pen.curve(path(healthy), GHOST);
  for (const [i, values] of lines.entries()) pen.curve(path(values), STYLES[i]);
}

/** Draw the 8-by-8 matrix at one position, leaving zeros blank. */
function drawMatrix(pen, box, matrix) {
  pen.text(box.x, box.y - 9, phrase`Matrix at position ${PATIENTS.look}`);
  const [w, h] = [Math.min(box.w / 8, 42), (box.h + 20) / 8];
  pen.rect(box.x, box.y, 8 * w, 8 * h, { stroke: ink.muted, width: 1 });
  pen.part(() => {
    for (const [n, value] of matrix.flat().entries()) {
      if (!value) continue;
      const place = signedPlace(value, FULL);
      const [x, y] = [box.x + (n % 8) * w, box.y + Math.floor(n / 8) * h];
      pen.rect(x, y, w, h, { fill: shade(place, diverging), stroke: ink.grid, width: 0.5 });
      const style = { ...noteMiddle, fill: onShade(place, diverging) };
      if (w >= 30) pen.text(x + w / 2, y + h / 2 + 4.5, fmt(value, 1), style);
    }
  });
}

function drawLegend(pen, width, number) {
  const starts = PATIENTS.starts.map((start, i) => ({ words: phrase`key at ${start}`, style: STYLES[i] }));
  const items = [...starts, { words: phrase`healthy`, style: GHOST }];
  const y = legendAt(width);
  pen.text(4, y, phrase`Patient ${number} of ${PATIENTS.people.length}`, { weight: 600 });
  for (const { words, style, x, line } of inLines(items, width - 8)) {
    const at = y + 22 + 22 * line;
    pen.line(4 + x, at - 4, 32 + x, at - 4, style);
    pen.text(38 + x, at, words);
  }
}

function draw(pen, state, { width }) {
  const [score, matrix, length, error] = frames(width);
  const person = personOf(state);
  const offsets = range(0, person.scores[0].length - 1);
  const byDistance = { xs: offsets, ys: [-FULL, FULL], xLabel: phrase`distance (tokens)` };
  const byPosition = { xs: PATIENTS.places, ys: [0, FAR], xLabel: phrase`position (tokens)` };
  drawLines(pen, score, byDistance, phrase`Score`, person.scores, HEALTHY.scores[0]);
  drawMatrix(pen, matrix, person.matrix);
  drawLines(pen, length, byPosition, phrase`Length after ÷ before`, [person.lengths], HEALTHY.lengths);
  drawLines(pen, error, byPosition, phrase`Off the right place by`, [person.errors], HEALTHY.errors);
  pen.part(() => drawLegend(pen, width, state.patient));
}

const APART = 0.02; // smaller differences between symptoms are invisible

/** The largest change in any score when the start position moves. */
const moved = ({ scores: [first, ...others] }) =>
  Math.max(...others.flatMap((line) => line.map((value, n) => Math.abs(value - first[n]))));

/** A patient's symptoms, in order: descriptions, and numbers that may distinguish two patients. */
function symptoms(person) {
  const [least, most] = [Math.min(...person.lengths), Math.max(...person.lengths)];
  const [moves, off] = [moved(person), Math.max(...person.errors)];
  const long =
    most - least < 0.01 ? phrase`lengths stay ${fmt(most)}` : phrase`lengths run from ${fmt(least)} to ${fmt(most)}`;
  const apart =
    moves < 0.01
      ? phrase`scores do not depend on the start`
      : phrase`scores differ by up to ${fmt(moves)} with the start`;
  return [
    { numbers: [least, most], words: long },
    { numbers: [moves], words: apart },
    { numbers: [off], words: phrase`vectors are off by up to ${fmt(off)}` },
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
  const [actual, expected] = [person, guessed].map(({ matrix }) => matrix.flat());
  const entries = actual.map((value, n) => ({ n, value, other: expected[n], gap: Math.abs(value - expected[n]) }));
  return entries.sort((one, other) => other.gap - one.gap)[0];
}

/** The first symptom that contradicts a diagnosis. */
function contradiction(person, guessed) {
  const [actual, expected] = [symptoms(person), symptoms(guessed)];
  const differ = (n) => actual[n].numbers.some((value, i) => Math.abs(value - expected[n].numbers[i]) > APART);
  const words = (n) => phrase`${expected[n].words}; here ${actual[n].words}.`;
  if (differ(0)) return words(0);
  if (differ(1)) return words(1);
  const { n, value, other, gap } = otherEntry(person, guessed);
  const [row, column] = [Math.floor(n / 8) + 1, (n % 8) + 1];
  if (gap > APART)
    return phrase`row ${row}, column ${column} of the matrix is ${fmt(other)}; here it is ${fmt(value)}.`;
  return words(2);
}

function readout(state) {
  const person = personOf(state);
  const told = phrase`Patient ${state.patient} of ${PATIENTS.people.length}: ${seen(person)}`;
  if (state.guess === "none") return phrase`${told} What is it?`;
  if (state.guess === person.name) return phrase`Right. ${phraseOf(person.does)} ${phraseOf(person.fix)}`;
  const guessed = PATIENTS.people.filter(({ name }) => name === state.guess)[0];
  return phrase`Not ${quoted(phraseOf(guessed.called))}: with that, ${contradiction(person, guessed)} Look again.`;
}

/** Choosing another patient resets the diagnosis. */
function follow(before, held) {
  return "patient" in held && !("guess" in held) && held.patient !== before.patient ? { guess: "none" } : {};
}

export default live({
  name: "WhichBug",
  title: phrase`Symptoms of a rotation: scores from three starts, its matrix, lengths and errors`,
  height,
  lines: 2,
  draw,
  readout,
  panel: (width) => [0, narrow(width) ? frames(width)[2].y - 26 : height(width)],
  follow,
  buttons: [
    { label: phrase`Next patient`, move: ({ patient }) => ({ patient: (patient % PATIENTS.people.length) + 1 }) },
  ],
});
