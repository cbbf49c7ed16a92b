// One memoiser for all: a move of a slider computes only what is new.

/** f, which remembers its last `most` values; its arguments are told apart by their JSON, so they are plain values. */
export function memo(f, most = 8) {
  const kept = new Map();
  return (...values) => {
    const key = JSON.stringify(values);
    const value = kept.has(key) ? kept.get(key) : f(...values);
    kept.delete(key); // the last used stands last
    kept.set(key, value);
    if (kept.size > most) kept.delete(kept.keys().next().value);
    return value;
  };
}
