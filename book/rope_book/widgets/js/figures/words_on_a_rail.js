import { RAIL } from "../data/rail.js";
import { ink, noteMiddle } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { polar } from "../lib/geometry.js";
import { centred } from "../lib/labels.js";
import { clamp, fmt, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { shortened, textWidth } from "../lib/words.js";
import { TURN } from "../maths/frequencies.js";
import { keptApart, otherPlaces, passed, railScore, strolled, turnedArrow } from "../maths/rail.js";

const OTHERS = ["the", "chases", "the"];

/** Lay out the rail above and the needle below, for a given width. */
function plan(width) {
  const slot = (width - 4) / RAIL.places;
  const size = clamp(slot * 0.3, 12, 26); // font size of the words
  const radius = Math.min(42, slot * 0.44);
  const rail = 2 * (size + 4) + 6 + radius; // height of the clocks' centres
  const numbers = rail + radius + 20;
  const reach = clamp(width * 0.22, 92, 136); // length of the needle
  const hub = numbers + 62 + reach;
  return { slot, size, radius, rail, numbers, reach, hub, height: hub + 38, X: (place) => 2 + slot * (place + 0.5) };
}

/** Every word with its position; dog and pig come last, so that they are on top. */
function wordsOf({ dog, pig }) {
  const plain = { colour: ink.muted, words: ink.muted, bold: false };
  return [
    ...otherPlaces(dog, pig).map((place, i) => ({ word: OTHERS[i], place, ...plain })),
    { word: "pig", place: pig, colour: ink.k, words: ink.kWords, bold: true },
    { word: "dog", place: dog, colour: ink.q, words: ink.qWords, bold: true },
  ];
}

/** The positions in the text, as a tape that runs under the words. */
function drawTape(pen, { start }, { X, rail, radius, numbers, slot }, width) {
  pen.line(0, rail, width, rail, { stroke: ink.grid, width: 3 });
  const free = range(0, RAIL.places - 1).map((place) => [X(place), rail, 4]);
  pen.circles(free, { fill: ink.paper, stroke: ink.grid, width: 2 });
  const places = range(Math.ceil(start - 0.25), Math.floor(start + RAIL.places - 0.75)).map((t) => t - start);
  const marks = places.map((place) => [X(place), rail + radius - 1, X(place), rail + radius + 5]);
  pen.part(() => {
    pen.lines(marks, { stroke: ink.muted, width: 1.5 });
    const style = { ...noteMiddle, size: slot < 60 ? 12 : 13 };
    for (const place of places) pen.text(X(place), numbers, Math.round(start + place), style);
  });
}

/** A clock per word, and the word above it. */
function drawWords(pen, state, { X, slot, size, radius, rail }) {
  const { dog, pig, start } = state;
  const close = Math.abs(dog - pig) * slot < textWidth("dog", size, true) + 4;
  for (const { word, place, colour, words, bold } of wordsOf(state)) {
    const [x, y] = [X(place), rail];
    const [dx, dy] = turnedArrow(word, start + place);
    const far = 0.84 * radius;
    pen.circle(x, y, radius, { fill: ink.paper, stroke: bold ? colour : ink.grid, width: bold ? 2.5 : 2 });
    const style = { stroke: colour, width: bold ? 4 : 2.5, head: bold ? 11 : 8 };
    pen.arrow(x - 0.35 * far * dx, y + 0.35 * far * dy, x + far * dx, y - far * dy, style);
    const above = word === "dog" && close ? size + 4 : 0;
    const text = bold ? word : shortened(word, 2 * slot - textWidth("the", size) - 6, size);
    const baseline = rail - radius - 8 - above;
    pen.text(x, baseline, text, { anchor: "middle", size, fill: words, weight: bold ? 700 : undefined });
  }
}

/** The distance between dog and pig, as a bracket under the tape. */
function drawDistance(pen, { dog, pig, lock }, { X, numbers }, width) {
  const y = numbers + 14;
  pen.line(X(dog), y, X(pig), y, { stroke: ink.position, width: lock ? 6 : 4 });
  const text = phrase`${Math.abs(places({ dog, pig }))} apart`;
  const middle = centred((X(dog) + X(pig)) / 2, text, 2, width - 2, { size: 15, bold: true });
  pen.text(middle, y + 20, text, { anchor: "middle", size: 15, fill: ink.positionWords, weight: 600 });
}

/** The score as a needle from −1 on the left to 1 on the right. */
function drawNeedle(pen, { dog, pig }, { hub, reach }, width) {
  const score = railScore(pig - dog);
  const x = width / 2;
  const at = (value) => (TURN / 4) * (1 - value);
  pen.arc(x, hub, reach, at(1), at(-1), { stroke: ink.grid, width: 10 });
  pen.arc(x, hub, reach, at(Math.max(score, 0)), at(Math.min(score, 0)), { stroke: ink.score, width: 10 });
  const ends = { ...noteMiddle, size: 13 };
  pen.text(x - reach, hub + 20, "−1", ends);
  pen.text(x + reach, hub + 20, "1", ends);
  pen.arrow(x, hub, ...polar(x, hub, at(score), reach - 8), { stroke: ink.text, width: 5, head: 16 });
  pen.circle(x, hub, 8, { fill: ink.text });
  const words = { anchor: "middle", size: 17, fill: ink.scoreWords, weight: 700 };
  pen.text(x, hub + 30, phrase`score ${fmt(railScore(places({ dog, pig })))}`, words);
}

function draw(pen, state, { width }) {
  const at = plan(width);
  drawTape(pen, state, at, width);
  drawWords(pen, state, at);
  drawDistance(pen, state, at, width);
  drawNeedle(pen, state, at, width);
  const handle = (place, colour) => ({
    x: at.X(place),
    y: at.rail,
    ring: at.radius,
    ink: colour,
    at: (px) => clamp((px - 2) / at.slot - 0.5, 0, RAIL.places - 1),
  });
  return { pig: handle(state.pig, ink.k), dog: handle(state.dog, ink.q) };
}

/** The distance from dog to pig in whole positions, as the controls show it, because a strolling word is often
 * between two positions. */
const places = ({ dog, pig }) => Math.round(pig) - Math.round(dog);

function readout({ dog, pig, lock, start }) {
  const distance = places({ dog, pig });
  const [far, score] = [Math.abs(distance), fmt(railScore(distance))];
  const before = Math.round(start); // words of other text, a whole number
  const first = before
    ? before === 1
      ? phrase`1 word of other text comes first: every arrow has turned on.`
      : phrase`${before} words of other text come first: every arrow has turned on.`
    : phrase`Each word has turned its arrow by 30° times its position.`;
  return lock
    ? phrase`${first} Dog and pig are ${far} apart, and their score is ${score}, wherever they are.`
    : phrase`${first} Dog and pig are ${far} apart, and that distance alone sets their score, ${score}.`;
}

/** The lock keeps the distance constant, a word dropped on the other moves past it, and Play makes an unlocked pig
 * stroll. */
function follow(before, held) {
  const { dog, pig, lock, start } = { ...before, ...held };
  if (lock && ("lock" in held || "dog" in held)) return pair("dog", keptApart(dog, before.pig));
  if (lock && "pig" in held) return pair("pig", keptApart(pig, before.dog));
  if ("dog" in held && !("pig" in held)) return { dog: passed(dog, before.dog, pig) };
  if ("pig" in held && !("dog" in held)) return { pig: passed(pig, before.pig, dog) };
  const words = start - before.start;
  return !lock && words > 0 && words < 0.5 ? { pig: strolled(dog, pig, before.start, words) } : {};
}

const pair = (name, [place, other]) => ({ [name]: place, [name === "dog" ? "pig" : "dog"]: other });

export default live({
  name: "WordsOnARail",
  title: phrase`The dog chases the pig: each word with an arrow that turns by its position, and a needle for the score`,
  height: (width) => plan(width).height,
  draw,
  readout,
  follow,
  smooth: ["dog", "pig"],
  play: { trait: "start", perSecond: 1 },
});
