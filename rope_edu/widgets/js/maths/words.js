// The figures' side of rope_edu/widgets/words.py.

/** A repeatable stream of standard normal numbers (mulberry32 and Box–Muller). */
export function normals(seed, count) {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return Array.from({ length: count }, () => {
    const radius = Math.sqrt(-2 * Math.log(1 - uniform()));
    return radius * Math.cos(2 * Math.PI * uniform());
  });
}

/** A word's vector, made from its letters (FNV-1a hash, then normals); capitals do not count. */
export function wordAsVector(word, width) {
  let seed = 0x811c9dc5;
  for (const letter of word.toLowerCase()) seed = Math.imul(seed ^ letter.codePointAt(0), 0x01000193);
  return normals(seed, width);
}
