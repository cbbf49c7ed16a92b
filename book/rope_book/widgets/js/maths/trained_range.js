// Finds the angles that each pair has seen in training; mirrors rope_edu/encodings/trained_range.py.
import { TURN } from "./frequencies.js";

const EDGE = 1 + 1e-12; // an angle at the very edge counts as seen, whatever its rounding

/** Whether each pair makes a full turn in training. @type {(frequencies: Vector, trainedLength: number) => boolean[]} */
export function completesTurn(frequencies, trainedLength) {
  return frequencies.map((frequency) => trainedLength * frequency >= TURN);
}

// Whether each pair, at a given distance, reaches an angle never seen in training.
/** @type {(distance: number, frequencies: Vector, trainedLength: number, trained?: Vector) => boolean[]} */
export function meetsNewAngle(distance, frequencies, trainedLength, trained = frequencies) {
  return frequencies.map((frequency, i) => (distance * frequency) % TURN > trainedLength * trained[i] * EDGE);
}

// The longest distance, in tokens, up to which all angles were seen in training; may be Infinity.
/** @type {(frequencies: Vector, trainedLength: number, trained?: Vector) => number} */
export function reach(frequencies, trainedLength, trained = frequencies) {
  const complete = completesTurn(trained, trainedLength);
  const ends = frequencies.map((frequency, i) =>
    complete[i] || !frequency ? Infinity : (trainedLength * trained[i]) / frequency,
  );
  return Math.min(...ends);
}

// The intervals [from, to] of distance, up to `far`, in which one pair reaches new angles.
/** @type {(frequency: number, trainedLength: number, far: number) => Pair[]} */
export function newStretches(frequency, trainedLength, far) {
  const wave = TURN / frequency;
  if (wave <= trainedLength) return [];
  const turns = Math.max(0, Math.ceil((far - trainedLength) / wave));
  return Array.from({ length: turns }, (_, k) => [trainedLength + k * wave, Math.min((k + 1) * wave, far)]);
}
