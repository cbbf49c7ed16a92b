// Applies context-extension rules and computes the trend of the score; mirrors book/rope_book/widgets/maths/stretch.py.
import { abf, llama3, ntkAware, ntkByParts, plainRope, positionInterpolation, yarn } from "./scaling.js";

// The rotation {invFreq, attentionFactor} of a head whose context a rule stretches to `wanted` tokens.
/** @type {(rule: string, headDim: number, base: number, trained: number, wanted: number, abfBase?: number) => Rotation} */
export function stretched(rule, headDim, base, trained, wanted, abfBase = 500000) {
  const s = Math.max(1, wanted / trained);
  /** @type {Record<string, () => Rotation>} */
  const rules = {
    rope: () => plainRope(headDim, base),
    pi: () => positionInterpolation(headDim, s, base),
    abf: () => abf(headDim, abfBase),
    "ntk-aware": () => ntkAware(headDim, s, base),
    "ntk-by-parts": () => ntkByParts(headDim, s, trained, { base }),
    yarn: () => yarn(headDim, s, trained, { base }),
    llama3: () => llama3(headDim, s, trained, { base }),
  };
  return rules[rule]();
}

/** The factor θ/θ′ by which a rule slows each pair. @type {(plain: Vector, changed: Vector) => number[]} */
export const divisors = (plain, changed) => plain.map((frequency, i) => frequency / changed[i]);

// The score of equal vectors, averaged over `distance` · (1 ± `spread`), relative to plain RoPE at distance 0.
/** @type {(rotation: Rotation, distance: number, spread: number) => number} */
export function scoreTrend({ invFreq, attentionFactor }, distance, spread) {
  let sum = 0;
  for (const frequency of invFreq) {
    const [angle, half] = [distance * frequency, spread * distance * frequency];
    sum += Math.cos(angle) * (half ? Math.sin(half) / half : 1);
  }
  return (attentionFactor ** 2 * sum) / invFreq.length;
}
