// What training has shown to each pair: the same as rope_edu/encodings/trained_range.py.
import { TURN } from "./frequencies.js";

const EDGE = 1 + 1e-12; // an angle at the very edge has been seen, however it was rounded

/** Which pairs make a full turn in training. @type {(frequencies: Vector, trainedLength: number) => boolean[]} */
export function completesTurn(frequencies, trainedLength) {
  return frequencies.map((frequency) => trainedLength * frequency >= TURN);
}

// Which pairs meet at a distance an angle that training never showed them.
/** @type {(distance: number, frequencies: Vector, trainedLength: number, trained?: Vector) => boolean[]} */
export function meetsNewAngle(distance, frequencies, trainedLength, trained = frequencies) {
  return frequencies.map((frequency, i) => (distance * frequency) % TURN > trainedLength * trained[i] * EDGE);
}

// The longest distance up to which no pair meets such an angle, tokens; Infinity where there is none.
/** @type {(frequencies: Vector, trainedLength: number, trained?: Vector) => number} */
export function reach(frequencies, trainedLength, trained = frequencies) {
  const complete = completesTurn(trained, trainedLength);
  const ends = frequencies.map((frequency, i) =>
    complete[i] || !frequency ? Infinity : (trainedLength * trained[i]) / frequency,
  );
  return Math.min(...ends);
}

// The stretches [from, to] of distance, up to `far`, on which one pair meets new angles.
/** @type {(frequency: number, trainedLength: number, far: number) => Pair[]} */
export function newStretches(frequency, trainedLength, far) {
  const wave = TURN / frequency;
  if (wave <= trainedLength) return [];
  const turns = Math.max(0, Math.ceil((far - trainedLength) / wave));
  return Array.from({ length: turns }, (_, k) => [trainedLength + k * wave, Math.min((k + 1) * wave, far)]);
}
