// What differs between the rotations of one kind of layers in two files, in the words of rope-edu compare.
import { range } from "../lib/numbers.js";
import { formatValue, general, own } from "./config_values.js";
import { KEYS } from "./gguf_rotation.js";

/** @import { Statement } from "./statement.js" */
const SAME = 1e-6; // radians at the longest length; of an attention factor, relative
const LISTED = 5e-7; // relative, of factors in rope_freqs
/** @typedef {{what: string, layers: string, wanted: string, found: string, fix: string, cost: string}} Difference */

/** A rule in words. @param {any} reading */
export function ruleOf({ ropeType, base, factor }) {
  if (ropeType === "nope") return "no rotation";
  const stretch = factor === null ? "" : `, factor ${formatValue(factor)}`;
  return `${ropeType}, base ${formatValue(base)}${stretch}`;
}

/** @type {(what: string, layers: string, both: string[], fix: string, cost?: string) => Difference} */
export const difference = (what, layers, [wanted, found], fix, cost = "") => {
  return { what, layers, wanted, found, fix, cost };
};

/** @typedef {{a: Statement, b: Statement, layers: string, wanted: any, found: any, length: number}} Sides */

/** @type {(sides: Sides) => Generator<Difference>} */
export function* ofKind(sides) {
  const { a, b, layers, wanted, found } = sides;
  const still = [wanted, found].map(({ ropeType }) => ropeType === "nope");
  if (still[0] || still[1]) {
    const fix = `These layers must ${still[0] ? "not " : ""}be rotated by ${b.name}.`;
    if (still[0] !== still[1]) yield difference("rotation", layers, [ruleOf(wanted), ruleOf(found)], fix);
    return;
  }
  const layouts = [a.permuted ? "half_split" : wanted.layout, b.permuted ? "half_split" : found.layout];
  const turn = "Rotate with the other layout, or permute the rows of q and k (convert_projection).";
  if (layouts[0] !== layouts[1]) yield difference("layout", layers, layouts, turn);
  if (wanted.rotaryDim !== found.rotaryDim || wanted.headDim !== found.headDim) {
    const widths = [wanted, found].map(({ rotaryDim, headDim }) => `${rotaryDim} of ${headDim} features`);
    const [field, value] =
      wanted.rotaryDim !== found.rotaryDim ? ["rotary_dim", wanted.rotaryDim] : ["head_dim", wanted.headDim];
    yield difference("width", layers, widths, fixOf(b, field, value));
  }
  if (String(wanted.axes ?? "") !== String(found.axes ?? "")) {
    const stated = [wanted, found].map((each) => `${tuple(sectionsOf(each))}, ${each.sectionOrder ?? "None"}`);
    yield difference("sections", layers, stated, fixOf(b, "rope_scaling.mrope_section", sectionsOf(wanted)));
  }
  if (Math.abs(wanted.attentionFactor / found.attentionFactor - 1) > SAME) {
    const factors = [wanted, found].map(({ attentionFactor }) => general(attentionFactor, 9));
    const fix = fixOf(b, "rope_scaling.attention_factor", wanted.attentionFactor);
    yield difference("attention factor", layers, factors, fix);
  }
  if (wanted.rotaryDim === found.rotaryDim) yield* frequencies(sides);
}

/** Pairs that turn by each coordinate. @param {any} reading @returns {number[] | null} */
function sectionsOf({ axes }) {
  if (!axes) return null;
  const along = (/** @type {number} */ axis) => axes.filter((/** @type {number} */ each) => each === axis).length;
  return range(0, Math.max(...axes)).map(along);
}

/** A list as Python writes a tuple. @param {number[] | null} list */
const tuple = (list) => (list ? `(${list.join(", ")}${list.length === 1 ? "," : ""})` : "None");

/** @type {(sides: Sides) => Generator<Difference>} */
function* frequencies({ a, b, layers, wanted, found, length }) {
  /** @type {[number[], number[]]} */
  const [first, second] = [wanted.invFreq, found.invFreq];
  const errors = first.map((speed, i) => Math.abs(speed - second[i]) * length);
  const listed = (wanted.kind === "factors") !== (found.kind === "factors");
  const pair = errors.findIndex((error, i) => error > SAME + (listed ? LISTED * first[i] * length : 0));
  if (pair < 0) return;
  const worst = errors.indexOf(Math.max(...errors));
  const half = Math.PI / Math.abs(first[worst] - second[worst]);
  const when = half < length ? `, and half a turn off from token ${half.toFixed(0)} on` : "";
  const turns = `pair ${pair} of ${first.length} turns by ${general(second[pair], 9)} rad per token`;
  const both = [`${ruleOf(wanted)}: ${general(first[pair], 9)}`, `${ruleOf(found)}: ${turns}`];
  const cost = `pair ${worst} is ${general(errors[worst], 3)} rad off at ${length} tokens${when}.`;
  yield difference("frequencies", layers, both, causeOf(a, b, wanted, found), cost);
}

/** The fix of frequencies that differ. @type {(a: Statement, b: Statement, wanted: any, found: any) => string} */
function causeOf(a, b, wanted, found) {
  if (wanted.base !== found.base) return fixOf(b, "rope_theta", wanted.base);
  const sort = wanted.ropeType;
  if (b.form === "GGUF" && (sort === "llama3" || sort === "proportional")) {
    return `Write the factors of ${sort} as the tensor rope_freqs.weight of ${b.name}.`;
  }
  const factor = wanted.factor === null ? "" : `, with factor ${formatValue(wanted.factor)}`;
  if (sort !== found.ropeType) return `State the rule ${sort}${factor} in ${b.name}.`;
  if (wanted.factor !== null && found.factor !== null && wanted.factor !== found.factor) {
    return fixOf(b, "rope_scaling.factor", wanted.factor);
  }
  return `Copy the numbers of the rule ${sort} from ${a.name} to ${b.name}.`;
}

/** @type {(b: Statement, field: string, value: any) => string} */
function fixOf(b, field, value) {
  const key = b.form === "GGUF" ? own(KEYS, field) : undefined;
  const name = key ? `${b.model}.${key}` : field;
  return `Set ${name.split("rope_scaling.").at(-1)} to ${formatValue(value)} in ${b.name}.`;
}
