// Computes linear attention; mirrors rope_edu/attention/linear.py.
import { dot } from "./dot_product.js";
import { applyRope } from "./rotary.js";

/**
 * The elementwise feature map elu(x) + 1, which is always positive: x + 1 for positive x, and e^x otherwise.
 * @type {(x: Vector) => number[]}
 */
export const eluPlusOne = (x) => x.map((value) => (value > 0 ? value + 1 : Math.exp(value)));

// The state Σ_n (R_n φ(k_n)) v_nᵀ of linear attention: one row per key feature, one column per value feature.
/** @type {(keys: Vector[], values: Vector[], angles: Vector[]) => number[][]} */
export function linearState(keys, values, angles) {
  const state = keys[0].map(() => values[0].map(() => 0));
  for (const [n, key] of keys.entries()) {
    for (const [row, feature] of applyRope(eluPlusOne(key), angles[n]).entries()) {
      for (const [column, value] of values[n].entries()) state[row][column] += feature * value;
    }
  }
  return state;
}

// The coefficient of each value in the output for a query at the last key's position: (R φ(q))ᵀ (R_n φ(k_n))
// divided by Σ φ(q)ᵀ φ(k_n).
/** @type {(query: Vector, keys: Vector[], angles: Vector[]) => number[]} */
export function linearFactors(query, keys, angles) {
  const phi = eluPlusOne(query);
  const turned = applyRope(phi, angles[keys.length - 1]);
  const features = keys.map(eluPlusOne);
  const total = features.reduce((sum, feature) => sum + dot(phi, feature), 0);
  return features.map((feature, n) => dot(turned, applyRope(feature, angles[n])) / total);
}
