// The mathematics of the figures: the same functions, names and conventions as the Python library.
// Angles are in radians, positions in tokens; rotation is by +angle (counter-clockwise); every function is pure.
// A test holds each of them to rope_edu on a shared grid.

/** θ_i = base^(−2i/headDim), radians per token, i = 0 … headDim/2 − 1. */
export function invFreq(headDim, base = 10000) {
  return Array.from({ length: headDim / 2 }, (_, i) => base ** (-(2 * i) / headDim));
}

/** Tokens per turn of each frequency. */
export function wavelength(frequencies) {
  return frequencies.map((frequency) => (2 * Math.PI) / frequency);
}

/** The angles of one position, radians, one for each pair. */
export function ropeAngles(position, frequencies) {
  return frequencies.map((frequency) => position * frequency);
}

/** Turn the pair [x, y] counter-clockwise by angle. */
export function rotatePair([x, y], angle) {
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  return [x * c - y * s, x * s + y * c];
}

/** The two features that pair i turns: neighbours, or a half apart. */
export function pairFeatures(i, pairs, layout = "interleaved") {
  return layout === "interleaved" ? [2 * i, 2 * i + 1] : [i, i + pairs];
}

/** Rotate the first 2·angles.length features of x, pass the rest. */
export function applyRope(x, angles, layout = "interleaved") {
  const out = [...x];
  angles.forEach((angle, i) => {
    const [a, b] = pairFeatures(i, angles.length, layout);
    [out[a], out[b]] = rotatePair([x[a], x[b]], angle);
  });
  return out;
}

/** Sum of products. */
export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** Complex product h_i = q_i · conj(k_i) of each interleaved pair, as [real, imaginary]. */
export function pairProducts(q, k) {
  return Array.from({ length: q.length / 2 }, (_, i) => {
    const [a, b, c, d] = [q[2 * i], q[2 * i + 1], k[2 * i], k[2 * i + 1]];
    return [a * c + b * d, b * c - a * d];
  });
}

/**
 * A function distance → [cos, sin, cos, sin, …] of distance·θ_i, for whole distances from 0. It keeps what it has computed, so
 * that curves and bounds share it; to 1024 a row is the product of the rows at its two halves, which is cheap.
 */
export function makeTurns(frequencies) {
  const rows = new Map();
  return function turns(distance) {
    if (rows.has(distance)) return rows.get(distance);
    let row;
    if (distance < 2 || distance > 1024) {
      row = frequencies.flatMap((frequency) => [Math.cos(distance * frequency), Math.sin(distance * frequency)]);
    } else {
      const half = Math.floor(distance / 2);
      const [a, b] = [turns(half), turns(distance - half)];
      row = Array(a.length);
      for (let i = 0; i < a.length; i += 2) {
        row[i] = a[i] * b[i] - a[i + 1] * b[i + 1];
        row[i + 1] = a[i] * b[i + 1] + a[i + 1] * b[i];
      }
    }
    rows.set(distance, row);
    return row;
  };
}

/** Score of interleaved q and k at each distance m − n: Σ Re(h_i e^{i·distance·θ_i}). */
export function scoreCurve(q, k, frequencies, distances, turns = makeTurns(frequencies)) {
  const products = pairProducts(q, k);
  return distances.map((distance) => {
    const [row, sign] = [turns(Math.abs(distance)), Math.sign(distance)];
    let sum = 0;
    for (let i = 0; i < products.length; i++) {
      sum += products[i][0] * row[2 * i] - sign * products[i][1] * row[2 * i + 1];
    }
    return sum;
  });
}

/** RoFormer §3.4.3: max |h_{i+1} − h_i| · Σ_j |S_j|, S_j the sum of the first j unit numbers e^{i·distance·θ}. */
export function roformerBound(q, k, frequencies, distances, turns = makeTurns(frequencies)) {
  const products = pairProducts(q, k);
  let step = 0;
  products.forEach(([re, im], i) => {
    const [nextRe, nextIm] = products[i + 1] ?? [0, 0];
    step = Math.max(step, Math.hypot(nextRe - re, nextIm - im));
  });
  return distances.map((distance) => {
    const row = turns(Math.abs(distance));
    let [re, im, total] = [0, 0, 0];
    for (let i = 0; i < row.length; i += 2) {
      re += row[i];
      im += row[i + 1];
      total += Math.sqrt(re * re + im * im);
    }
    return step * total;
  });
}

/** Σ|h_i|: what no score of q and k can pass. */
export function trivialBound(q, k) {
  return pairProducts(q, k).reduce((sum, [re, im]) => sum + Math.hypot(re, im), 0);
}

/** PE(p, 2i) = sin(p·θ_i), PE(p, 2i+1) = cos(p·θ_i). */
export function sinusoidal(position, dModel, base = 10000) {
  return invFreq(dModel, base).flatMap((frequency) => [
    Math.sin(position * frequency),
    Math.cos(position * frequency),
  ]);
}

/** T5's bucket of a relative position j − i (key minus query). */
export function t5Bucket(relativePosition, bidirectional, numBuckets = 32, maxDistance = 128) {
  const buckets = bidirectional ? Math.floor(numBuckets / 2) : numBuckets;
  const offset = bidirectional && relativePosition > 0 ? buckets : 0;
  const distance = bidirectional ? Math.abs(relativePosition) : Math.max(-relativePosition, 0);
  const exact = Math.floor(buckets / 2);
  if (distance < exact) return offset + distance;
  const share = Math.log(distance / exact) / Math.log(maxDistance / exact);
  return offset + Math.min(exact + Math.floor(share * (buckets - exact) + 1e-9), buckets - 1);
}

/** ALiBi's slopes, the published rule for any number of heads. */
export function alibiSlopes(nHeads) {
  const power = 2 ** Math.floor(Math.log2(nHeads));
  const slopes = (heads) => Array.from({ length: heads }, (_, h) => 2 ** ((-8 * (h + 1)) / heads));
  const extra = slopes(2 * power).filter((_, h) => h % 2 === 0);
  return [...slopes(power), ...extra.slice(0, nHeads - power)];
}

/** Softmax over an array; −Infinity is weight 0. */
export function softmax(scores) {
  const top = Math.max(...scores);
  const exps = scores.map((score) => Math.exp(score - top));
  const sum = exps.reduce((a, b) => a + b, 0);
  return exps.map((e) => e / sum);
}

/** For each place in the half-split vector, the place in the interleaved vector that it comes from. */
export function layoutPermutation(rotaryDim) {
  const pairs = rotaryDim / 2;
  return Array.from({ length: rotaryDim }, (_, i) => (i < pairs ? 2 * i : 2 * (i - pairs) + 1));
}

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

/** Shaw's row of a relative position j − i (key minus query), clipped to ±clip: 0 … 2·clip. */
export function shawIndex(relativePosition, clip) {
  return Math.min(clip, Math.max(-clip, relativePosition)) + clip;
}

/**
 * Frequencies of dynamic NTK at the present length: plain to trainedLength, beyond it with the base
 * base·s^(headDim/(headDim − 2)), s = factor·length/trainedLength − (factor − 1).
 */
export function dynamicNtkInvFreq(headDim, length, trainedLength, factor = 1, base = 10000) {
  const s = (factor * Math.max(length, trainedLength)) / trainedLength - (factor - 1);
  return invFreq(headDim, base * s ** (headDim / (headDim - 2)));
}

/** A word's vector, made from its letters (FNV-1a hash, then normals); capitals do not count. */
export function wordAsVector(word, width) {
  let seed = 0x811c9dc5;
  for (const letter of word.toLowerCase()) seed = Math.imul(seed ^ letter.codePointAt(0), 0x01000193);
  return normals(seed, width);
}

/** Matrix times column. */
export function matVec(matrix, x) {
  return matrix.map((row) => dot(row, x));
}

/**
 * A function k → scaled scores of one head over `rows` (word vectors), the first of which stands at position k; −Infinity where
 * `causal` hides a key. encoding: none, sinusoidal, alibi, t5, shaw or rotary. head: wQuery, wKey, slope (ALiBi), t5 (a bias
 * for each bucket), shaw (a vector for each relative position).
 */
export function makeHead(rows, head, encoding, causal) {
  const width = head.wQuery.length;
  const [queries, keys] = [head.wQuery, head.wKey].map((matrix) => rows.map((row) => matVec(matrix, row)));
  const frequencies = invFreq(width);
  const projected = new Map(); // position → [W_q p, W_k p]: what its sinusoidal vector adds to query and key
  const added = (position) => {
    if (!projected.has(position)) {
      const vector = sinusoidal(position, head.wQuery[0].length);
      projected.set(position, [matVec(head.wQuery, vector), matVec(head.wKey, vector)]);
    }
    return projected.get(position);
  };
  const placed = (content, which, k) =>
    content.map((x, m) => {
      if (encoding === "sinusoidal") return x.map((value, i) => value + added(k + m)[which][i]);
      return encoding === "rotary" ? applyRope(x, ropeAngles(k + m, frequencies)) : x;
    });
  const bias = (query, relative) => {
    if (encoding === "alibi") return -head.slope * Math.abs(relative);
    if (encoding === "t5") return head.t5[t5Bucket(relative, !causal, head.t5.length)];
    if (encoding !== "shaw") return 0;
    return dot(query, head.shaw[shawIndex(relative, (head.shaw.length - 1) / 2)]) / Math.sqrt(width);
  };
  return function scoresAt(k) {
    const [q, kPlaced] = [placed(queries, 0, k), placed(keys, 1, k)];
    return q.map((query, m) =>
      kPlaced.map((key, n) => {
        if (causal && n > m) return -Infinity;
        return dot(query, key) / Math.sqrt(width) + bias(query, n - m);
      }),
    );
  };
}

const SINGLE = new Float32Array(1);
const SINGLE_BITS = new Uint32Array(SINGLE.buffer);

/** The nearest float32 whose significand has 8 bits, ties to even: add just under half of the last bit kept, and cut. */
function toBfloat16(x) {
  SINGLE[0] = x;
  if (!Number.isFinite(SINGLE[0])) return SINGLE[0];
  SINGLE_BITS[0] = (SINGLE_BITS[0] + 0x7fff + ((SINGLE_BITS[0] >>> 16) & 1)) & 0xffff0000;
  return SINGLE[0];
}

/** By way of float32 the nearest float16, ties to even: beside 2⁵² of its last bits a float64 holds no fraction of one. */
function toFloat16(x) {
  SINGLE[0] = x;
  const value = SINGLE[0];
  if (!(Math.abs(value) < 65520)) return Number.isNaN(value) ? NaN : Math.sign(value) * Infinity;
  const exponent = Math.max(((SINGLE_BITS[0] >>> 23) & 0xff) - 127, -14);
  const large = 2 ** (exponent - 10 + 52);
  const size = Math.abs(value) + large - large;
  return value < 0 || Object.is(value, -0) ? -size : size;
}

const ROUND = { float64: (x) => x, float32: Math.fround, bfloat16: toBfloat16, float16: toFloat16 };

/** The number of a format (float64, float32, bfloat16, float16) nearest to x, ties to even. */
export function roundTo(x, numberFormat) {
  return ROUND[numberFormat](x);
}

const inFormats = (frequencies, positions, angles, turns) => ({ frequencies, positions, angles, turns });

/** Named pipelines: the format in which each step from position to turn is kept. */
export const PIPELINES = {
  ours: inFormats("float64", "float64", "float64", "float32"),
  float32: inFormats("float32", "float32", "float32", "float32"),
  "frequencies in bfloat16": inFormats("bfloat16", "float32", "float32", "float32"),
  "positions in bfloat16": inFormats("float32", "bfloat16", "float32", "float32"),
  float16: inFormats("float16", "float16", "float16", "float16"),
  "turns in bfloat16": inFormats("float64", "float64", "float64", "bfloat16"),
};

/** The turn [cos, sin] of every pair at one position, as a pipeline keeps it; NaN where it has no number. */
export function pipelineTurns(position, frequencies, pipeline) {
  const [rate, angle, turn] = [ROUND[pipeline.frequencies], ROUND[pipeline.angles], ROUND[pipeline.turns]];
  const m = ROUND[pipeline.positions](position);
  return frequencies.map((frequency) => {
    const kept = angle(m * rate(frequency));
    return [turn(Math.cos(kept)), turn(Math.sin(kept))];
  });
}

/** By how many radians each pair is off: its angle, or with a step k > 0 its turn from the token k before. */
export function angleError(position, frequencies, pipeline, step = 0) {
  const [rate, angle, turn] = [ROUND[pipeline.frequencies], ROUND[pipeline.angles], ROUND[pipeline.turns]];
  const [m, n] = [position, position - step].map(ROUND[pipeline.positions]);
  return frequencies.map((frequency) => {
    const kept = rate(frequency);
    const to = angle(m * kept);
    let re = turn(Math.cos(to));
    let im = turn(Math.sin(to));
    if (step > 0) {
      const from = angle(n * kept);
      const a = turn(Math.cos(from));
      const b = turn(Math.sin(from));
      const turned = re * a + im * b;
      im = im * a - re * b;
      re = turned;
    }
    const exact = (step || position) * frequency;
    const cos = Math.cos(exact);
    const sin = Math.sin(exact);
    return Math.abs(Math.atan2(im * cos - re * sin, re * cos + im * sin));
  });
}
