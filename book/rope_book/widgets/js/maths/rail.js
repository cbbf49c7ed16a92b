// Places five words on a rail, each with an arrow rotated by position; mirrors
// book/rope_book/widgets/maths/rail.py.
import { RAIL } from "../data/rail.js";
import { range } from "../lib/numbers.js";
import { dot } from "./dot_product.js";
import { rotatePair } from "./rotary.js";

const LAST = RAIL.places - 1;

// The positions of "the", "chases" and "the": the first three positions at least 1 away from both dog and pig.
export function otherPlaces(/** @type {number} */ dog, /** @type {number} */ pig) {
  const free = (/** @type {number} */ place) => Math.abs(place - dog) >= 1 && Math.abs(place - pig) >= 1;
  return range(0, LAST).filter(free).slice(0, 3);
}

/** A word's arrow, rotated by the word's position in the text. @type {(word: string, position: number) => Pair} */
export function turnedArrow(word, position) {
  /** @type {Record<string, any>} */
  const arrows = RAIL.arrows;
  return rotatePair(arrows[word], position * RAIL.theta);
}

/** The score of dog and pig when the pig is `distance` positions after the dog. @type {(distance: number) => number} */
export const railScore = (distance) => dot(turnedArrow("dog", 0), turnedArrow("pig", distance));

// The position at which a dragged word ends up. If it would overlap the other word, it jumps past that word or, at
// the end of the rail, stops in front of it.
/** @type {(moved: number, before: number, other: number) => number} */
export function passed(moved, before, other) {
  if (Math.abs(moved - other) >= 1) return moved;
  const way = before < other ? 1 : -1;
  const beyond = other + way;
  return beyond >= 0 && beyond <= LAST ? beyond : other - way;
}
