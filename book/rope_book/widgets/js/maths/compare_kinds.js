// Compares the rotations in two files, one kind of layer at a time, and reports where they differ, by how much, and
// how to fix the difference.
import { sectionsOf } from "./config_table.js";
import { own } from "./config_values.js";
import { formatValue, general } from "./config_words.js";
import { KEYS } from "./gguf_fields.js";
import { kindOf } from "./statement.js";

/** @import { Statement } from "./statement.js" */
/** @typedef {{what: string, wanted: string, found: string, fix: string, cost?: string}} Difference */
const TOLERANCE = 1e-6; // tolerance in radians at the longest length; relative tolerance for attention factors
const LIST_TOLERANCE = 5e-7; // relative tolerance for factors in rope_freqs
const SCALE_TOLERANCE = 1e-5; // relative tolerance for a softmax scale

/** Format a kind of layer. @param {string | null} label */
export const nameOf = (label) =>
  label === null ? "all layers" : label === "nope" ? "layers without position" : `${label} layers`;

/** Describe a rule with its base and factor. @param {any} reading */
export function ruleOf({ ropeType, base, factor }) {
  if (ropeType === "nope") return "no rotation";
  const stretch = factor === null ? "" : `, factor ${formatValue(factor)}`;
  return `${ropeType}, base ${formatValue(base)}${stretch}`;
}

/** Iterate over the differences in each kind of layer that either file names. @type {(a: Statement, b: Statement, length: number) => Generator<Difference & {layers: string}>} */
export function* between(a, b, length) {
  const kinds = [a, b].map(({ readings }) => readings.map(({ layerType }) => layerType));
  const labels = [...new Set(kinds.flat().filter((label) => label !== null))];
  if (kinds.every((each) => each.includes(null))) labels.unshift(null);
  for (const label of labels) {
    const [layers, wanted, found] = [nameOf(label), kindOf(a, label), kindOf(b, label)];
    if (wanted && found) {
      for (const each of ofKind(a, b, wanted, found, length)) yield { layers, ...each };
    } else {
      const [first, second] = kinds.map((each) => each.map(nameOf).join(", "));
      yield { layers, what: "kinds of layers", wanted: first, found: second, fix: `State these layers in ${b.name}.` };
    }
  }
}

/** @type {(a: Statement, b: Statement, wanted: any, found: any, length: number) => Generator<Difference>} */
function* ofKind(a, b, wanted, found, length) {
  const [still, stillToo] = [wanted, found].map(({ ropeType }) => ropeType === "nope");
  /** @type {(what: string, words: (reading: any, file: Statement) => string, fix: string) => Difference} */
  const differing = (what, words, fix) => ({ what, wanted: words(wanted, a), found: words(found, b), fix });
  if (still || stillToo) {
    const fix = `These layers must ${still ? "not " : ""}be rotated by ${b.name}.`;
    if (still !== stillToo) yield differing("rotation", ruleOf, fix);
    return;
  }
  const exchange = "Rotate with the other layout, or permute the rows of q and k (convert_projection).";
  const layout = differing("layout", (reading, file) => file.permuted ?? reading.layout, exchange);
  if (layout.wanted !== layout.found) yield layout;
  const sameWidth = wanted.rotaryDim === found.rotaryDim;
  if (!sameWidth || wanted.headDim !== found.headDim) {
    const fix = sameWidth ? fixOf(b, "head_dim", wanted.headDim) : fixOf(b, "rotary_dim", wanted.rotaryDim);
    yield differing("width", ({ rotaryDim, headDim }) => `${rotaryDim} of ${headDim} features`, fix);
  }
  if (String(wanted.axes ?? "") !== String(found.axes ?? "")) {
    const fix = fixOf(b, "rope_scaling.mrope_section", wanted.axes && sectionsOf(wanted.axes));
    yield differing(
      "sections",
      ({ axes, sectionOrder }) => `${tuple(axes && sectionsOf(axes))}, ${sectionOrder ?? "None"}`,
      fix,
    );
  }
  if (sameWidth) yield* frequencies(a, b, wanted, found, length);
  if (Math.abs(wanted.attentionFactor / found.attentionFactor - 1) > TOLERANCE) {
    const fix = fixOf(b, "rope_scaling.attention_factor", wanted.attentionFactor);
    yield differing("attention factor", ({ attentionFactor }) => general(attentionFactor, 9), fix);
  }
  const scales = [wanted.softmaxScale, found.softmaxScale];
  if (!scales.includes(null) && Math.abs(scales[0] / scales[1] - 1) > SCALE_TOLERANCE) {
    const fix = `Multiply the softmax scale by ${general(scales[0], 6)}, as ${a.name} does.`;
    yield differing("softmax scale", ({ softmaxScale }) => `× ${general(softmaxScale, 6)} on 1/√d`, fix);
  }
}

/** Format a list as a Python tuple. @type {(list: number[] | null) => string} */
const tuple = (list) => (list ? `(${list.join(", ")}${list.length === 1 ? "," : ""})` : "None");

/** @type {(a: Statement, b: Statement, wanted: any, found: any, length: number) => Generator<Difference>} */
function* frequencies(a, b, wanted, found, length) {
  const [first, second] = [wanted, found].map(({ invFreq }) => /** @type {number[]} */ (invFreq));
  const errors = first.map((speed, i) => Math.abs(speed - second[i]) * length);
  const listed = (wanted.kind === "factors") !== (found.kind === "factors");
  const pair = errors.findIndex((error, i) => error > TOLERANCE + (listed ? LIST_TOLERANCE * first[i] * length : 0));
  if (pair < 0) return;
  const worst = errors.indexOf(Math.max(...errors));
  const half = Math.PI / Math.abs(first[worst] - second[worst]);
  const when = half < length ? `, and half a turn off from token ${half.toFixed(0)} on` : "";
  const turns = `pair ${pair} of ${first.length} turns by ${general(second[pair], 9)} rad per token`;
  yield {
    what: "frequencies",
    wanted: `${ruleOf(wanted)}: ${general(first[pair], 9)}`,
    found: `${ruleOf(found)}: ${turns}`,
    fix: causeOf(a, b, wanted, found),
    cost: `pair ${worst} is ${general(errors[worst], 3)} rad off at ${length} tokens${when}.`,
  };
}

/** The fix for frequencies that differ. @type {(a: Statement, b: Statement, wanted: any, found: any) => string} */
function causeOf(a, b, wanted, found) {
  if (wanted.base !== found.base) return fixOf(b, "rope_theta", wanted.base);
  const { ropeType: rule, factor } = wanted;
  if (b.form === "GGUF" && (rule === "llama3" || rule === "proportional")) {
    return `Write the factors of ${rule} as the tensor rope_freqs.weight of ${b.name}.`;
  }
  const stretch = factor === null ? "" : `, with factor ${formatValue(factor)}`;
  if (rule !== found.ropeType) return `State the rule ${rule}${stretch} in ${b.name}.`;
  if (factor !== null && found.factor !== null && factor !== found.factor)
    return fixOf(b, "rope_scaling.factor", factor);
  return `Copy the numbers of the rule ${rule} from ${a.name} to ${b.name}.`;
}

/** @type {(b: Statement, field: string, value: any) => string} */
function fixOf(b, field, value) {
  const key = b.form === "GGUF" ? own(KEYS, field) : undefined;
  const name = key ? `${b.model}.${key}` : field;
  return `Set ${name.split("rope_scaling.").at(-1)} to ${formatValue(value)} in ${b.name}.`;
}
