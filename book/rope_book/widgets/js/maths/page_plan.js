// Defines the settings that determine a run, and the learning rate at each step, as in
// book/rope_book/training/loop.py.
import { steadyTurn } from "./steady.js";

const WARMUP = 40; // number of training steps

/** The settings that determine a run. A figure's other settings affect only how the trained model is tested. */
const OF_A_RUN = "task encoding base first_pair last_pair p length learning_rate layers seed".split(" ");

/** A run's cache key: states with the same key train the same model. @type {(settings: State) => string} */
export const runName = (settings) => JSON.stringify(OF_A_RUN.map((name) => settings[name]));

// The learning rate at a step, with linear warm-up and then cosine decay to a tenth over the planned steps.
/** @type {(most: number, step: number, planned: number) => number} */
export function rateOf(most, step, planned) {
  if (step <= WARMUP) return (most * step) / WARMUP;
  const t = Math.min(1, (step - WARMUP) / Math.max(1, planned - WARMUP));
  return most * (0.1 + (0.9 * (1 + steadyTurn(Math.PI * t)[0])) / 2);
}
