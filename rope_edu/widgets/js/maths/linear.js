// Linear attention: the same as rope_edu/attention/linear.py.
import { applyRope } from "./rotary.js";

/**
 * Positive features: x + 1 above 0, e^x below, number by number.
 * @param {Vector} x
 */
export function eluPlusOne(x) {
  return x.map((value) => (value > 0 ? value + 1 : Math.exp(value)));
}

/**
 * The sum Σ_n (R_n φ(k_n)) v_nᵀ of linear attention: a row for each feature of the keys, a column for each of the values.
 * @param {Vector[]} keys
 * @param {Vector[]} values
 * @param {Vector[]} angles
 */
export function linearState(keys, values, angles) {
  const state = keys[0].map(() => values[0].map(() => 0));
  for (const [n, key] of keys.entries()) {
    for (const [row, feature] of applyRope(eluPlusOne(key), angles[n]).entries()) {
      for (const [column, value] of values[n].entries()) state[row][column] += feature * value;
    }
  }
  return state;
}
