// Five words on a rail, each with an arrow that turns by its place: the same as rope_edu/widgets/maths/rail.py.
import { RAIL } from "../data/rail.js";
import { dot } from "./dot_product.js";
import { rotatePair } from "./rotary.js";

const LAST = RAIL.places - 1;

/**
 * The places of "the", "chases" and "the": the first three of the rail that are a whole place from dog and pig.
 * @param {number} dog
 * @param {number} pig
 */
export function otherPlaces(dog, pig) {
  const free = (/** @type {number} */ place) => Math.abs(place - dog) >= 1 && Math.abs(place - pig) >= 1;
  return Array.from({ length: RAIL.places }, (_, place) => place)
    .filter(free)
    .slice(0, 3);
}

/**
 * A word's arrow, turned by its position in the text.
 * @param {string} word
 * @param {number} position
 */
export function turnedArrow(word, position) {
  /** @type {Record<string, any>} */
  const arrows = RAIL.arrows;
  return rotatePair(arrows[word], position * RAIL.theta);
}

/**
 * The score of dog and pig, the pig `distance` places after the dog.
 * @param {number} distance
 */
export const railScore = (distance) => dot(turnedArrow("dog", 0), turnedArrow("pig", distance));

/**
 * Where the pig is after `words` more words, on its side of the dog: it stays, walks, stays, walks back.
 * @param {number} dog
 * @param {number} pig
 * @param {number} start
 * @param {number} words
 */
export function strolled(dog, pig, start, words) {
  const way = [0, 1, 0, -1][Math.floor(start / RAIL.stay) % 4];
  const [low, high] = pig > dog || dog < 1 ? [dog + 1, LAST] : [0, dog - 1];
  return Math.min(high, Math.max(low, pig + way * RAIL.pace * words));
}

/**
 * A place for a word that was moved onto another one: beyond it, or before it at the end of the rail.
 * @param {number} moved
 * @param {number} before
 * @param {number} other
 */
export function passed(moved, before, other) {
  if (Math.abs(moved - other) >= 1) return moved;
  const way = before < other ? 1 : -1;
  const beyond = other + way;
  return beyond >= 0 && beyond <= LAST ? beyond : other - way;
}

/**
 * Places of a moved word and of the other, as far apart as the switch says, on the side where the other is.
 * @param {number} moved
 * @param {number} other
 * @returns {Pair}
 */
export function keptApart(moved, other) {
  const way = other > moved ? 1 : -1;
  const [low, high] = way > 0 ? [0, LAST - RAIL.apart] : [RAIL.apart, LAST];
  const place = Math.min(high, Math.max(low, Math.floor(moved + 0.5)));
  return [place, place + way * RAIL.apart];
}
