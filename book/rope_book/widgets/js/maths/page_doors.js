// Provides the positional encodings for models trained in the page: added vectors, rotations, or biases per distance.
import { pageRope } from "./long_text.js";
import { HEADS, WIDTH } from "./page_weights.js";
import { alibiSlopes, t5Bucket } from "./relative.js";
import { steadyPower, steadyTurn } from "./steady.js";

/** @import { Doors } from "./attend.js" */

const WIDE = WIDTH / HEADS;
const ROTATE = ["rotary", "p-rope"];

/** Frequencies in radians per token, identical in all engines. @type {(wide: number, base: number) => number[]} */
export const steadyFreq = (wide, base) =>
  Array.from({ length: wide / 2 }, (_, i) => steadyPower(base, (-2 * i) / wide));

// The rotation used in training, in which pairs that are switched off or excluded by p-RoPE do not turn.
export function trainedRope(/** @type {State} */ { encoding, base, first_pair: first, last_pair: last, p }) {
  const turning = encoding === "p-rope" ? [1, Math.floor((p * WIDE) / 2)] : [first, last];
  const turns = (/** @type {number} */ i) => turning[0] <= i + 1 && i + 1 <= turning[1];
  const invFreq = steadyFreq(WIDE, base).map((frequency, i) => (turns(i) ? frequency : 0));
  return { invFreq, attentionFactor: 1 };
}

// The rotation used for reading after training on texts of `length` tokens, which a rule from Part IV may modify.
/** @type {(settings: State, length: number) => Rotation} */
export function readingRope(settings, length) {
  const { encoding, rule, times, base, first_pair, last_pair } = settings;
  if (encoding !== "rotary" || rule === "none" || times === 1) return trainedRope(settings);
  const ramp = { ramp_from: 0.5, ramp_to: 2, first_pair, last_pair };
  const stretch = { times, factor: times, base: settings.abf_base, attention_factor: 1 };
  return pageRope(rule, length, WIDE, base, { ...ramp, ...stretch });
}

// The cosines and sines for every position and pair, identical in all engines.
/** @type {(frequencies: Vector, seq: number) => {cos: Float64Array, sin: Float64Array}} */
function turnsOf(frequencies, seq) {
  const pairs = frequencies.length;
  const [cos, sin] = [new Float64Array(seq * pairs), new Float64Array(seq * pairs)];
  for (let n = 0; n < cos.length; n++) [cos[n], sin[n]] = steadyTurn(Math.floor(n / pairs) * frequencies[n % pairs]);
  return { cos, sin };
}

// The vector to add to the embedding at each position, or undefined for encodings that add no vectors.
/** @type {(encoding: string, base: number, seq: number) => Float64Array | undefined} */
export function addedTo(encoding, base, seq) {
  if (encoding !== "sinusoidal") return undefined;
  const { cos, sin } = turnsOf(steadyFreq(WIDTH, base), seq);
  return Float64Array.from({ length: 2 * cos.length }, (_, n) => (n % 2 ? cos : sin)[Math.floor(n / 2)]);
}

// The cosine and sine for each position and pair, times the attention factor, for encodings that rotate.
/** @type {(encoding: string, rope: Rotation, seq: number) => Doors} */
export function turnsOfPlaces(encoding, { invFreq, attentionFactor }, seq) {
  if (!ROTATE.includes(encoding)) return {};
  const { cos, sin } = turnsOf(invFreq, seq);
  return { cos: cos.map((c) => attentionFactor * c), sin: sin.map((s) => attentionFactor * s) };
}

// The bias for each head and distance, from T5's table or ALiBi's slopes, or undefined for other encodings.
/** @type {(encoding: string, seq: number, table?: Float64Array) => Float64Array | undefined} */
export function biasOfDistances(encoding, seq, table) {
  if (encoding !== "alibi" && encoding !== "t5") return undefined;
  const bias = new Float64Array(HEADS * seq);
  const slopes = alibiSlopes(HEADS);
  for (let head = 0; head < HEADS; head++) {
    for (let distance = 0; distance < seq; distance++) {
      bias[head * seq + distance] = table ? table[t5Bucket(-distance, false) * HEADS + head] : -slopes[head] * distance;
    }
  }
  return bias;
}

// Compute the gradient of T5's table from the gradient of the bias at each distance.
/** @type {(table: Float64Array, gradients: Float64Array, seq: number) => void} */
export function bucketsBack(table, gradients, seq) {
  table.fill(0);
  for (let head = 0; head < HEADS; head++) {
    for (let distance = 0; distance < seq; distance++) {
      table[t5Bucket(-distance, false) * HEADS + head] += gradients[head * seq + distance];
    }
  }
}
