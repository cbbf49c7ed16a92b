// From the parameters of one rotation to widths, base and layout: the same as rope_edu/config/rotation.py.
import { listed } from "./config_choice.js";
import { ownOf } from "./config_layers.js";
import { Notes, Part } from "./config_part.js";
import { checked, missing, RULES, refuse, said } from "./config_values.js";

const [THETA, PARTIAL] = ["rope_theta", "partial_rotary_factor"];

/**
 * The architecture's own value of a field that the file leaves out, or null; noted.
 * @param {Source} at
 * @param {string} name
 */
export function defaultOf(at, name) {
  const value = ownOf(at.family)[name];
  if (value === undefined) return null;
  at.notes.add("default taken", { field: name, value: said(value), model_type: at.family });
  return value;
}

/**
 * Which features pair.
 * @param {Part} body
 * @param {string} family
 * @param {Notes} notes
 */
export function layoutOf(body, family, notes) {
  const stated = body.one("rope_interleave");
  if (stated !== null) return stated ? "interleaved" : "half_split";
  if (RULES.interleaved.includes(family)) return "interleaved";
  if (!RULES.half_split.includes(family)) notes.add("layout assumed", { value: said(family || null) });
  return "half_split";
}

/**
 * The rule's name, without aliases.
 * @param {Part} part
 */
export function ropeTypeOf(part) {
  const found = ["rope_type", "type"].filter((name) => part.has(name));
  const named = found.map((name) => namedRule(part.path(name), part.get(name)));
  if (new Set(named).size === 2) {
    const words = { value: part.get("rope_type"), other: part.path("type"), other_value: part.get("type") };
    throw refuse("contradiction", part.path("rope_type"), words);
  }
  let rule = named[0] ?? "default";
  if (rule === "dynamic" && part.has("alpha")) rule = "ntk_alpha";
  const known = RULES.rules[rule];
  const takes = [...known.needs, ...known.takes];
  const allowed = [...takes, ...known.without_effect, ...RULES.any_rule_takes, ...RULES.beside_the_rotation];
  const odd = Object.keys(part.values).find((name) => !allowed.includes(name));
  if (odd !== undefined) {
    const words = { value: part.values[odd], rule, allowed: listed(takes) || "no key of its own" };
    throw refuse("no rule uses", part.path(odd), words);
  }
  return rule;
}

/** @type {(path: string, name: string) => string} */
function namedRule(path, name) {
  const rules = Object.keys(RULES.rules);
  const rule = rules.find((each) => each === name || RULES.rules[each].aliases.includes(name));
  if (rule) return rule;
  const refused = Object.keys(RULES.refused_rules);
  if (refused.includes(name)) throw refuse("refused rule", path, { value: name, why: RULES.refused_rules[name] });
  throw refuse("no rule", path, { allowed: listed([...rules, ...refused]), value: name });
}

/**
 * A field in the rotation's parameters and beside them: [inside, beside], which must agree.
 * @param {Source} at
 * @param {string} name
 */
function twice(at, name) {
  const [inside, beside] = [at.part.get(name), at.body.one(name)];
  if (inside !== null && beside !== null && inside !== beside && !at.part.apart) {
    const words = { value: inside, other: at.body.pathOf(name), other_value: beside };
    throw refuse("contradiction", at.part.path(name), words);
  }
  return [inside, beside];
}

/**
 * b: from the rotation's parameters, beside them, or the architecture's own where that is safe.
 * @param {Source} at
 * @param {string} rule
 */
export function baseOf(at, rule) {
  const [inside, beside] = twice(at, THETA);
  const other = RULES.theta_named_otherwise[at.family];
  if (other && at.body.has(THETA) && !at.body.has(other) && inside === null) {
    at.notes.lost("named otherwise", { model_type: at.family, other, field: at.body.path(THETA) });
  }
  const alone = RULES.theta_reaches_full_attention_alone[at.family];
  if (alone !== undefined && inside === null && beside !== null && beside !== alone) {
    const words = { model_type: at.family, field: at.body.pathOf(THETA), value: said(alone) };
    at.notes.lost("full attention alone", words);
  }
  let base = inside ?? beside;
  if (base === null && RULES.rules[rule].base_may_be_missing) base = defaultOf(at, THETA);
  if (base === null) throw missing(at.body.path(THETA), THETA);
  return checked(THETA, at.body.path(THETA), base * at.body.get("rope_ratio", 1));
}

/**
 * The width of the head that turns: MLA's rotary part, or stated, or derived.
 * @param {Source} at
 */
export function headDimOf(at) {
  const first = ["qk_rope_head_dim", ...(at.label === "full_attention" ? ["global_head_dim"] : [])];
  const name = first.find((each) => at.body.has(each));
  if (name) return at.body.get(name);
  const stated = at.body.one("head_dim") ?? defaultOf(at, "head_dim");
  if (stated !== null) return stated;
  const [hidden, heads] = [at.body.one("hidden_size"), at.body.one("num_attention_heads")];
  if (hidden === null || heads === null) throw missing(at.body.path("head_dim"), "head_dim");
  const path = at.body.pathOf("hidden_size");
  if (hidden % heads !== 0) {
    const words = { value: hidden, other: at.body.pathOf("num_attention_heads"), other_value: heads };
    throw refuse("not divisible", path, words);
  }
  return checked("head_dim", path, hidden / heads);
}

/**
 * The widths of the head and of what turns, and the fraction that the file states.
 * @param {Source} at
 * @param {string} rule
 */
export function widthsOf(at, rule) {
  const headDim = headDimOf(at);
  const [inside, beside] = twice(at, PARTIAL);
  let partial = inside ?? beside;
  const place = inside !== null ? at.part.path(PARTIAL) : at.body.pathOf(PARTIAL);
  if (rule === "proportional") return even(at.body.pathOf("head_dim"), headDim, headDim, headDim, 2, partial);
  let stated = at.body.get("rotary_dim");
  if (at.body.has("qk_rope_head_dim")) {
    checkOfWholeHead(at, headDim, partial, place);
    [stated, partial] = [headDim, null];
  } else if (partial === null && stated === null) partial = defaultOf(at, PARTIAL);
  const width = partial !== null ? Math.trunc(headDim * partial) : (stated ?? headDim);
  if (partial !== null && stated !== null && width !== stated) {
    const words = { value: partial, other: at.body.path("rotary_dim"), other_value: stated };
    throw refuse("contradiction", place, words);
  }
  const name = ["qk_rope_head_dim", "rotary_dim"].find((each) => at.body.has(each)) ?? "head_dim";
  const path = partial !== null ? place : at.body.pathOf(name);
  return even(path, partial ?? width, headDim, width, ["dynamic", "ntk_alpha"].includes(rule) ? 4 : 2, partial);
}

/** @type {(at: Source, ropeDim: number, partial: number | null, place: string) => void} */
function checkOfWholeHead(at, ropeDim, partial, place) {
  const whole = at.body.one("head_dim") ?? ropeDim;
  if (partial === null || partial === 1 || Math.trunc(whole * partial) === ropeDim) return;
  const words = { value: partial, other: at.body.path("qk_rope_head_dim"), other_value: ropeDim };
  throw refuse("contradiction", place, words);
}

/** @type {(path: string, value: number, headDim: number, width: number, least: number, partial: number | null) => Widths} */
function even(path, value, headDim, width, least, partial) {
  if (width % 2 || width < least || width > headDim) throw refuse("odd width", path, { value, width, least });
  return { headDim, rotaryDim: width, partial };
}
