// Computes which angles each pair has seen in training; mirrors rope_edu/encodings/trained_range.py.
import { TURN } from "./frequencies.js";

const EDGE = 1 + 1e-12; // tolerance, so that an angle at the edge counts as seen

/** Whether each pair makes a full turn in training. @type {(frequencies: Vector, trainedLength: number) => boolean[]} */
export function completesTurn(frequencies, trainedLength) {
  return frequencies.map((frequency) => trainedLength * frequency >= TURN);
}

// Whether each pair is at an angle never seen in training at the given distance.
/** @type {(distance: number, frequencies: Vector, trainedLength: number, trained?: Vector) => boolean[]} */
export function meetsNewAngle(distance, frequencies, trainedLength, trained = frequencies) {
  return frequencies.map((frequency, i) => (distance * frequency) % TURN > trainedLength * trained[i] * EDGE);
}

// The largest distance, in tokens, up to which every angle has been seen in training, or Infinity if there is no
// limit.
/** @type {(frequencies: Vector, trainedLength: number, trained?: Vector) => number} */
export function reach(frequencies, trainedLength, trained = frequencies) {
  const complete = completesTurn(trained, trainedLength);
  const ends = frequencies.map((frequency, i) =>
    complete[i] || !frequency ? Infinity : (trainedLength * trained[i]) / frequency,
  );
  return Math.min(...ends);
}

// The intervals [from, to] of distance, up to `far`, in which a pair is at angles never seen in training.
/** @type {(frequency: number, trainedLength: number, far: number) => Pair[]} */
export function newStretches(frequency, trainedLength, far) {
  const wave = TURN / frequency;
  if (wave <= trainedLength) return [];
  const turns = Math.max(0, Math.ceil((far - trainedLength) / wave));
  return Array.from({ length: turns }, (_, k) => [trainedLength + k * wave, Math.min((k + 1) * wave, far)]);
}
