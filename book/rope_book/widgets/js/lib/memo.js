// Memoises functions for all figures, so that moving a slider recomputes only the values that depend on the slider.

// Memoise f with an LRU cache of `most` entries. Arguments are plain values and are compared as JSON.
/** @template {any[]} Values @template Value @param {(...values: Values) => Value} f @param {number} [most]
 * @returns {(...values: Values) => Value} */
export function memo(f, most = 8) {
  const cache = /** @type {Map<string, Value>} */ (new Map());
  return (...values) => {
    const key = JSON.stringify(values);
    const value = cache.has(key) ? /** @type {Value} */ (cache.get(key)) : f(...values);
    cache.delete(key); // move the entry to the end, as the most recently used
    cache.set(key, value);
    for (const oldest of cache.keys()) {
      if (cache.size <= most) break;
      cache.delete(oldest);
    }
    return value;
  };
}
