import { RAIL } from "../data/rail.js";
import { ink, noteMiddle } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { polar } from "../lib/geometry.js";
import { centred } from "../lib/labels.js";
import { clamp, fmt, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { textWidth } from "../lib/words.js";
import { TURN } from "../maths/frequencies.js";
import { otherPlaces, passed, railScore, turnedArrow } from "../maths/rail.js";

const OTHERS = ["the", "chases", "the"];

const SLOTS = 1 + RAIL.room + RAIL.places; // the first slot, beside the rail, holds the waiting word
const FAINT = 0.45; // opacity of the waiting word

/** Lay out the rail above the needle. `X` maps a slot of the rail, counted from 0, to pixels. */
function plan(width) {
  const slot = (width - 4) / SLOTS;
  const size = clamp(slot * 0.3, 12, 26); // font size of the words
  const radius = Math.min(42, slot * 0.44);
  const rail = 2 * (size + 4) + 6 + radius; // y of the clock centres
  const numbers = rail + radius + 20;
  const reach = clamp(width * 0.22, 92, 136); // length of the needle
  const hub = numbers + 62 + reach;
  return { slot, size, radius, rail, numbers, reach, hub, height: hub + 38, X: (at) => 2 + slot * (at + 1.5) };
}

/** How far the sentence has been pushed along the rail, in slots. Once the rail is full, the rail moves instead. */
const pushed = ({ start }) => Math.min(start, RAIL.room);

/** The opacity of a word at the given slot. Words fade in as they enter from the left. */
const seenAt = (slot) => (slot > -1 ? 1 - (1 - FAINT) * clamp(-slot, 0, 1) : FAINT * clamp(11 + 10 * slot, 0, 1));

/** Each word with its place in the sentence. The dog and the pig come last, so that they are drawn on top. */
function wordsOf(state) {
  const { dog, pig } = state;
  const plain = { colour: ink.muted, words: ink.muted, weight: undefined, opacity: 1 };
  const before = RAIL.before.map((word, i) => ({
    word,
    place: -1 - i,
    ...plain,
    opacity: seenAt(pushed(state) - 1 - i),
  }));
  return [
    ...before.filter(({ opacity }) => opacity > 0),
    ...otherPlaces(dog, pig).map((place, i) => ({ word: OTHERS[i], place, ...plain })),
    { word: "pig", place: pig, colour: ink.k, words: ink.kWords, weight: 700, opacity: 1 },
    { word: "dog", place: dog, colour: ink.q, words: ink.qWords, weight: 700, opacity: 1 },
  ];
}

/** Draw the positions in the text as a rail below the words. */
function drawRail(pen, { start }, { X, rail, radius, numbers, slot }, width) {
  const gone = Math.max(0, start - RAIL.room); // positions that have moved out of view
  const last = pushed({ start }) + RAIL.places - 1; // last slot that the dog or the pig can reach
  pen.line(gone ? 0 : X(-0.5), rail, gone ? width : X(last + 0.5), rail, { stroke: ink.grid, width: 3 });
  const places = range(Math.ceil(gone - 0.25), Math.floor(gone + last + 0.25)).map((position) => position - gone);
  pen.part(() => {
    pen.circles(
      places.map((at) => [X(at), rail, 4]),
      { fill: ink.paper, stroke: ink.grid, width: 2 },
    );
    const marks = places.map((at) => [X(at), rail + radius - 1, X(at), rail + radius + 5]);
    pen.lines(marks, { stroke: ink.muted, width: 1.5 });
    const style = { ...noteMiddle, size: slot < 50 ? 12 : 13 };
    for (const at of places) pen.text(X(at), numbers, Math.round(gone + at), style);
    if (start < RAIL.room) pen.text(X(-1), numbers, "→", style); // shows that the waiting word can be pushed in
  });
}

/** Draw each word above its clock, one line higher if the word is too wide for its slot. */
function drawWords(pen, state, { X, slot, size, radius, rail }) {
  const bold = textWidth("dog", size, true);
  const close = Math.abs(state.dog - state.pig) * slot < bold + 4;
  for (const { word, place, colour, words, weight, opacity } of wordsOf(state)) {
    const [x, y] = [X(pushed(state) + place), rail];
    const [dx, dy] = turnedArrow(word, state.start + place);
    const far = 0.84 * radius;
    const rim = weight || place === -1 ? colour : ink.grid; // coloured if the word can be dragged
    pen.circle(x, y, radius, { fill: ink.paper, stroke: rim, width: weight ? 2.5 : 2, opacity });
    const style = { stroke: colour, width: weight ? 4 : 2.5, head: weight ? 11 : 8, opacity };
    pen.arrow(x - 0.35 * far * dx, y + 0.35 * far * dy, x + far * dx, y - far * dy, style);
    const above = word === "dog" ? close : (textWidth(word, size) + bold) / 2 + 4 > slot;
    const baseline = rail - radius - 8 - (above ? size + 4 : 0);
    pen.text(x, baseline, word, { anchor: "middle", size, fill: words, weight, opacity });
  }
}

/** Draw the distance between dog and pig as a bracket below the rail. */
function drawDistance(pen, { start, dog, pig }, { X, numbers }, width) {
  const y = numbers + 14;
  const [from, to] = [dog, pig].map((place) => X(pushed({ start }) + place));
  pen.line(from, y, to, y, { stroke: ink.position, width: 4 });
  const text = phrase`${Math.abs(places({ dog, pig }))} apart`;
  const middle = centred((from + to) / 2, text, 2, width - 2, { size: 15, bold: true });
  pen.text(middle, y + 20, text, { anchor: "middle", size: 15, fill: ink.positionWords, weight: 600 });
}

/** Draw the score as a needle on a scale from −1 (left) to 1 (right). */
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
  drawRail(pen, state, at, width);
  pen.part(() => drawWords(pen, state, at));
  drawDistance(pen, state, at, width);
  drawNeedle(pen, state, at, width);
  const [y, ring] = [at.rail, at.radius];
  const slotAt = (px) => (px - 2) / at.slot - 1.5;
  const handle = (place, colour) => ({
    ...{ x: at.X(pushed(state) + place), y, ring, ink: colour },
    at: (px) => clamp(slotAt(px) - pushed(state), 0, RAIL.places - 1),
  });
  const push = { x: at.X(pushed(state) - 1), y, ring, ink: ink.muted, at: (px) => clamp(slotAt(px) + 1, 0, RAIL.room) };
  return {
    pig: handle(state.pig, ink.k),
    dog: handle(state.dog, ink.q),
    ...(state.start <= RAIL.room ? { start: push } : {}),
  };
}

/** The distance from the dog to the pig, rounded as in the controls, because a dragged word may be between two
 * positions. */
const places = ({ dog, pig }) => Math.round(pig) - Math.round(dog);

function readout({ dog, pig, start }) {
  const distance = places({ dog, pig });
  const [far, score] = [Math.abs(distance), fmt(railScore(distance))];
  const before = Math.round(start);
  if (!before)
    return phrase`Each arrow turns 30° per position; those of dog and pig start differently. They are ${far} apart, and that distance alone sets their score, ${score}.`;
  return before === 1
    ? phrase`1 word came in from the left: each position is the place in the sentence plus 1. Dog and pig are still ${far} apart, and their score is still ${score}.`
    : phrase`${before} words came in from the left: each position is the place in the sentence plus ${before}. Dog and pig are still ${far} apart, and their score is still ${score}.`;
}

/** A word dropped onto the other word moves past it. */
function follow(before, held) {
  const { dog, pig } = { ...before, ...held };
  if ("dog" in held && !("pig" in held)) return { dog: passed(dog, before.dog, pig) };
  if ("pig" in held && !("dog" in held)) return { pig: passed(pig, before.pig, dog) };
  return {};
}

export default live({
  name: "WordsOnARail",
  title: phrase`The dog chases the pig: each word with an arrow that turns by its position, and a needle for the score`,
  height: (width) => plan(width).height,
  draw,
  readout,
  follow,
  smooth: ["dog", "pig", "start"],
  glides: ["dog", "pig", "start"],
  play: { trait: "start", perSecond: 1 },
});
