// Finds the settings that draw a config's fern; mirrors book/rope_book/widgets/maths/fern_of_config.py.
import { textOf } from "../lib/gguf.js";
import { clamp } from "../lib/numbers.js";
import { contentOf, statementOf } from "./statement.js";
import { stretched } from "./stretch.js";

const RULES = ["rope", "pi", "llama3", "yarn"]; // rules that configs can specify
const WIDTHS = [16, 20, 24, 32, 64, 96, 128, 256];
const NEAR = 1e-6; // relative tolerance for float32 numbers from a file

/** The settings that draw a reading's fern: the name of a rule or, if no rule matches, the frequencies themselves. */
function settingsOf(/** @type {any} */ { invFreq, attentionFactor, rotaryDim, ...reading }) {
  const factor = clamp(reading.factor ?? 1, 1, 128);
  const trained = Math.floor(clamp(reading.trained ?? Math.floor((reading.longest ?? 4096) / factor), 64, 2 ** 20));
  const base = clamp(reading.base, 100, 1e8);
  const isNear = (/** @type {number} */ a, /** @type {number} */ b) => Math.abs(a - b) <= NEAR * Math.abs(b);
  const rule = RULES.filter(() => WIDTHS.includes(rotaryDim)).find((name) => {
    const drawn = stretched(name, rotaryDim, base, trained, trained * factor);
    const same = drawn.invFreq.every((each, i) => isNear(each, invFreq[i]));
    return same && Math.abs(drawn.attentionFactor - attentionFactor) < NEAR;
  });
  if (rule) return { rule, base, trained, head_dim: rotaryDim, factor };
  const short = (/** @type {number} */ each) => Number(each.toPrecision(7)); // at float32 precision
  return { rule: "file", base, trained, frequencies: invFreq.map(short), attention_factor: short(attentionFactor) };
}

// [layers, settings] for each different rotation in a file, at the longest length that the file claims; `layers` is
// "" if there is only one rotation. Throws an Error with the reason if the file cannot be read.
/** @type {(content: any) => [string, State][]} */
export function fernsOf(content) {
  const { longest } = statementOf(content, "").readings[0];
  const rotating = statementOf(content, "", longest).readings.filter(({ ropeType }) => ropeType !== "nope");
  const found = /** @type {Map<string, [string, State]>} */ (new Map());
  for (const reading of rotating) {
    const settings = settingsOf(reading);
    const key = JSON.stringify(settings);
    if (!found.has(key)) found.set(key, [(reading.layerType ?? "").replaceAll("_", " "), settings]);
  }
  const all = [...found.values()];
  return all.length > 1 ? all : all.map(([, settings]) => ["", settings]);
}

/** Read the text of a file, and return {ferns} or, on failure, {refused} with the reason. */
export function readFerns(/** @type {string} */ text) {
  try {
    return { ferns: fernsOf(contentOf(text)) };
  } catch (error) {
    return { refused: /** @type {Error} */ (error).message };
  }
}

export { textOf };
