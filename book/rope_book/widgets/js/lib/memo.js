// One memoiser for all: a move of a slider computes only what is new.

// f, which remembers its last `most` values; its arguments are plain values, told apart by their JSON.
/** @template {any[]} Values @template Value @param {(...values: Values) => Value} f @param {number} [most]
 * @returns {(...values: Values) => Value} */
export function memo(f, most = 8) {
  const kept = /** @type {Map<string, Value>} */ (new Map());
  return (...values) => {
    const key = JSON.stringify(values);
    const value = kept.has(key) ? /** @type {Value} */ (kept.get(key)) : f(...values);
    kept.delete(key); // the last used stands last
    kept.set(key, value);
    for (const oldest of kept.keys()) {
      if (kept.size <= most) break;
      kept.delete(oldest);
    }
    return value;
  };
}
