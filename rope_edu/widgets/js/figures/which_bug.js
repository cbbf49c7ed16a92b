import { PATIENTS } from "../data/patients.js";
import { axes } from "../lib/axes.js";
import { diverging, ink, onShade, shade, signedPlace } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { inLines } from "../lib/labels.js";
import { clamp, fmt, range } from "../lib/numbers.js";
import { phrase, phraseOf } from "../lib/phrase.js";
import { quoted } from "../lib/words.js";

const STYLES = [
  { stroke: ink.text, width: 1.6 },
  { stroke: ink.other, width: 3, dash: "7 4" },
  { stroke: ink.score, width: 2.4, dash: "2 3" },
];
const GHOST = { stroke: ink.position, width: 7, opacity: 0.28 };
const HEALTHY = PATIENTS.people.find(({ name }) => name === "right");
const FULL = 1.5; // scores and entries beyond it are drawn at the edge
const FAR = 2; // so are lengths and errors beyond this

const personOf = ({ patient }) => PATIENTS.people[patient - 1];
const narrow = (width) => width < 520;

/** The frames of the four pictures: two by two, or one under the other. */
function frames(width) {
  const [left, top, deep] = [44, 30, 150];
  const wide = narrow(width) ? width - left - 12 : width / 2 - left - 14;
  const across = narrow(width) ? 0 : width / 2;
  const down = deep + 76;
  const box = (column, row) => ({ x: left + column * across, y: top + row * down, w: wide, h: deep });
  return narrow(width) ? range(0, 3).map((row) => box(0, row)) : [box(0, 0), box(1, 0), box(0, 1), box(1, 1)];
}

const legendAt = (width) => frames(width)[3].y + 150 + 62;
const height = (width) => legendAt(width) + (width < 400 ? 76 : 52);

/** Lines over one axis, clamped to the frame, and behind them the line of a healthy rotation. */
function drawLines(pen, box, xs, ys, lines, healthy, labels) {
  const { X, Y } = axes(pen, box, [xs[0], xs.at(-1)], ys, labels);
  const path = (values) => values.map((value, n) => [X(xs[n]), Y(clamp(value, ys[0], ys[1]))]);
  pen.curve(path(healthy), GHOST);
  for (const [i, values] of lines.entries()) pen.curve(path(values), STYLES[i]);
}

/** The matrix at one position, 8 by 8; zeros stay blank. */
function drawMatrix(pen, box, matrix) {
  pen.text(box.x, box.y - 9, phrase`Matrix at position ${PATIENTS.look}`);
  const [w, h] = [Math.min(box.w / 8, 42), (box.h + 20) / 8];
  pen.rect(box.x, box.y, 8 * w, 8 * h, { stroke: ink.muted, width: 1 });
  pen.part(() => {
    for (const [r, row] of matrix.entries())
      for (const [c, value] of row.entries()) {
        if (!value) continue;
        const place = signedPlace(value, FULL);
        const [x, y] = [box.x + c * w, box.y + r * h];
        pen.rect(x, y, w, h, { fill: shade(place, diverging), stroke: ink.grid, width: 0.5 });
        if (w < 30) continue;
        const style = { fill: onShade(place, diverging), size: 12, anchor: "middle" };
        pen.text(x + w / 2, y + h / 2 + 4.5, fmt(value, 1), style);
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
  const { places } = PATIENTS;
  const offsets = range(0, person.scores[0].length - 1);
  const byDistance = { xLabel: phrase`distance (tokens)`, yLabel: phrase`Score` };
  const byPlace = (/** @type {string} */ yLabel) => ({ xLabel: phrase`position (tokens)`, yLabel });
  const [lengths, errors] = [phrase`Length after ÷ before`, phrase`Off the right place by`].map(byPlace);
  drawLines(pen, score, offsets, [-FULL, FULL], person.scores, HEALTHY.scores[0], byDistance);
  drawMatrix(pen, matrix, person.matrix);
  drawLines(pen, length, places, [0, FAR], [person.lengths], HEALTHY.lengths, lengths);
  drawLines(pen, error, places, [0, FAR], [person.errors], HEALTHY.errors, errors);
  pen.part(() => drawLegend(pen, width, state.patient));
}

const APART = 0.02; // symptoms nearer than that look alike

const extremes = (values) => [Math.min(...values), Math.max(...values)];

/** By how much scores change with the start. */
function moved({ scores }) {
  return Math.max(...scores[0].map((value, n) => Math.max(...scores.map((line) => Math.abs(line[n] - value)))));
}

/** The symptoms of a person, one after the other: numbers that two persons may differ in, and words. */
function symptoms(person) {
  const [least, most] = extremes(person.lengths);
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

/** What can be seen without knowing the name. */
function seen(person) {
  const said = symptoms(person)
    .map(({ words }) => words)
    .join(phrase`; `);
  const sentence = `${said[0].toUpperCase()}${said.slice(1)}`;
  return phrase`${sentence}.`;
}

/** The entry of the matrix in which two persons differ most. */
function otherEntry(person, guessed) {
  const entries = person.matrix.flatMap((row, r) =>
    row.map((value, c) => ({ r, c, value, other: guessed.matrix[r][c], gap: Math.abs(value - guessed.matrix[r][c]) })),
  );
  return entries.sort((one, other) => other.gap - one.gap)[0];
}

/** The first symptom that does not go with a diagnosis. */
function contradiction(person, guessed) {
  const [here, there] = [symptoms(person), symptoms(guessed)];
  const differ = (n) => here[n].numbers.some((value, i) => Math.abs(value - there[n].numbers[i]) > APART);
  const words = (n) => phrase`${there[n].words}; here ${here[n].words}.`;
  if (differ(0)) return words(0);
  if (differ(1)) return words(1);
  const { r, c, value, other, gap } = otherEntry(person, guessed);
  if (gap > APART)
    return phrase`row ${r + 1}, column ${c + 1} of the matrix is ${fmt(other)}; here it is ${fmt(value)}.`;
  return words(2);
}

function readout(state) {
  const person = personOf(state);
  const told = phrase`Patient ${state.patient} of ${PATIENTS.people.length}: ${seen(person)}`;
  if (state.guess === "none") return phrase`${told} What is it?`;
  if (state.guess === person.name) return phrase`Right. ${phraseOf(person.does)} ${phraseOf(person.fix)}`;
  const guessed = PATIENTS.people.find(({ name }) => name === state.guess);
  return phrase`Not ${quoted(phraseOf(guessed.called))}: with that, ${contradiction(person, guessed)} Look again.`;
}

/** Another patient has no diagnosis yet. */
function follow(before, held) {
  return "patient" in held && !("guess" in held) && held.patient !== before.patient ? { guess: "none" } : {};
}

export default live({
  name: "WhichBug",
  title: phrase`Symptoms of a rotation: scores from three starts, its matrix, lengths and errors`,
  height,
  draw,
  readout,
  panel: (width) => [0, narrow(width) ? frames(width)[2].y - 26 : height(width)],
  follow,
  buttons: [
    { label: phrase`Next patient`, move: ({ patient }) => ({ patient: (patient % PATIENTS.people.length) + 1 }) },
  ],
});
