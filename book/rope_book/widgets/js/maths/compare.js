// Whether two files state the same rotation, and what it costs if not: the words of rope-doctor compare.
import { coarse, NOT_STATED, rowsOf, runs } from "./config_each_layer.js";
import { sectionsOf } from "./config_table.js";
import { formatValue, general, own } from "./config_values.js";
import { KEYS } from "./gguf_rotation.js";
import { kept, kindOf, statementOf } from "./statement.js";

/** @import { Layer } from "./config_each_layer.js" */
/** @import { Statement } from "./statement.js" */
/** @typedef {{what: string, wanted: string, found: string, fix: string, cost?: string}} Difference */
const TOLERANCE = 1e-6; // radians at the longest length; relative for an attention factor
const LIST_TOLERANCE = 5e-7; // relative, for factors in rope_freqs
const SCALE_TOLERANCE = 1e-5; // relative, of a softmax scale
const UNKNOWN_LAYERS = 48; // compared if neither file says how many it has
/** What may differ, and the check that it belongs to. @type {Record<string, string>} */
const CHECKS = {
  "kinds of layers": "kinds",
  rotation: "kinds",
  windows: "windows",
  frequencies: "frequencies",
  layout: "layout",
  width: "width",
  sections: "sections",
  "attention factor": "attention-factor",
  "softmax scale": "softmax-scale",
  "query scale": "query-scale",
  loading: "loading",
};
const HIDDEN = "theta lost by 4"; // of one file only, since every file of transformers 5 says it
const REMARKS_THAT_STAY = [
  "layout assumed",
  "not read",
  "theta lost by 5",
  "softmax not scaled",
  "factor ignored by 5",
];
const UNKNOWN_LENGTH = 4096; // tokens, if neither file states a length
/** Of anything else, "Read a config". @type {Record<string, string>} */
const CHAPTERS = {
  windows: "Count positions",
  "query scale": "Count positions",
  "softmax scale": "Blend by wavelength",
  layout: "Tell two layouts apart",
  width: "Tell variants apart",
  sections: "Turn in more dimensions",
  "attention factor": "Blend by wavelength",
};

/** Text on a kind of layers. @param {string | null} label */
export const nameOf = (label) =>
  label === null ? "all layers" : label === "nope" ? "layers without position" : `${label} layers`;

/** Text on a rule. @param {any} reading */
export function ruleOf({ ropeType, base, factor }) {
  if (ropeType === "nope") return "no rotation";
  const stretch = factor === null ? "" : `, factor ${formatValue(factor)}`;
  return `${ropeType}, base ${formatValue(base)}${stretch}`;
}

/**
 * The differences of two files, with the length to which they are compared, and notes.
 * @param {any} first the content of the correct file
 * @param {any} second the content of the file to compare with it
 */
export function comparedFiles(first, second) {
  let [a, b] = [statementOf(first, "the first file"), statementOf(second, "the second file")];
  const readings = [...a.readings, ...b.readings];
  const length = Math.max(...readings.map(({ longest, trained }) => longest || trained || UNKNOWN_LENGTH));
  const remarks = readings.flatMap((reading) => reading.remarks);
  const lost = [...lostIn(a, b)];
  if (a.form !== b.form) [a, b] = [kept(a), kept(b)];
  const at = (/** @type {Statement} */ { config, name }) => statementOf(config, name, length);
  const differences = [...between(a, b, length)];
  const grows = remarks.some(([kind]) => kind === "depends on length");
  for (const each of grows ? between(at(a), at(b), length) : []) {
    if (!differences.some(({ what, layers }) => what === each.what && layers === each.layers)) differences.push(each);
  }
  const [layers, leftOpen] = layersBetween(a, b);
  const named = layers.some(({ what }) => what === "kinds of layers"); // these layers need not be named twice
  const byKind = differences.filter(({ what }) => !named || CHECKS[what] !== "kinds");
  const found = [...layers, ...byKind, ...lost];
  Object.assign(leftOpen, notJudged(a, b, found));
  return { length, differences: found, notes: [...notesOf(a, b)], leftOpen };
}

/** The reasons why checks of the rotation did not run. @type {(a: Statement, b: Statement, found: Difference[]) => Record<string, string>} */
function notJudged(a, b, found) {
  /** @type {Record<string, string>} */
  const reasons = {};
  const differing = found.map(({ what }) => what);
  if (differing.includes("width") && !differing.includes("frequencies")) reasons.frequencies = "the widths differ";
  const assumed = [a, b].filter(({ readings }) => kindsOfRemarks(readings).includes("layout assumed"));
  if (assumed.length && a.model !== b.model) reasons.layout = `${assumed[0].name} does not state which features pair`;
  else if (assumed.length && !a.model) reasons.layout = "neither file states which features pair";
  const unsure = [a, b].find(({ readings }) => readings.some(({ softmaxScale }) => softmaxScale === null));
  if (unsure && (a.model !== b.model || a.readings[0].factor !== b.readings[0].factor))
    reasons["softmax-scale"] = `it is not known whether ${unsure.model || unsure.name} scales by mscale_all_dim`;
  return reasons;
}

/** @param {any[]} readings @returns {string[]} */
const kindsOfRemarks = (readings) =>
  readings.flatMap(({ remarks }) => remarks.map((/** @type {string[]} */ [kind]) => kind));

/** A base that transformers 5 loses in the second of two configs only. @type {(a: Statement, b: Statement) => Generator<Difference & {layers: string}>} */
function* lostIn(a, b) {
  const [first, second] = [a, b].map(({ readings }) =>
    readings.flatMap(({ remarks }) => remarks.filter((/** @type {string[]} */ [kind]) => kind === "theta lost by 5")),
  );
  if (!second.length || first.length || a.form !== b.form) return;
  const base = formatValue(a.readings.find(({ ropeType }) => ropeType !== "nope").base);
  const fix = `Name the base ${base} in ${b.name} as ${a.name} does.`;
  const [wanted, found] = [`a base of ${base} that is read`, second[0][1].slice(0, -1)];
  yield { what: "loading", layers: "all layers", wanted, found, fix };
}

/** Kinds, windows and the scale of queries, layer by layer, and the reasons for those not compared. @type {(a: Statement, b: Statement) => [(Difference & {layers: string})[], Record<string, string>]} */
function layersBetween(a, b) {
  const untold = [a, b].find(({ layers }) => layers.row === null);
  if (untold) {
    if (a.form === b.form && a.model === b.model && a.layers.stated === b.layers.stated) return [[], {}];
    const reason = `${untold.name}: ${untold.layers.why}`;
    return [[], { kinds: reason, windows: reason, "query-scale": reason }];
  }
  const counts = [a, b].flatMap(({ layers }) => layers.count || []);
  const count = counts.length ? Math.min(...counts) : UNKNOWN_LAYERS;
  const told = (/** @type {Layer[]} */ rows) => (a.form === b.form ? rows : rows.map(coarse));
  const [first, second] = [a, b].map(({ layers }) => told(rowsOf(layers, count)));
  const rows = first.map((row, i) => [row, second[i]]);
  const alike = rows.map(([x, y]) => (kindText(x) === kindText(y) ? [x, y] : [x, x]));
  const silent = (/** @type {Layer} */ { window }) => window === NOT_STATED;
  const sameCode = a.form === b.form && a.model === b.model;
  const open = alike.some(([x, y]) => (sameCode ? silent(x) !== silent(y) : silent(x) || silent(y)));
  const known = alike.map(([x, y]) => (silent(x) || silent(y) ? [x, x] : [x, y]));
  const windowText = (/** @type {Layer} */ { label, window }) =>
    `${label}, ${window === null ? "every earlier token" : `window ${window}`}`;
  const fix = `State these layers in ${b.name} as in ${a.name}.`;
  const differences = [
    ...folded(rows, "kinds of layers", kindText, fix),
    ...folded(rows, "query scale", queriesText, fix),
    ...folded(known, "windows", windowText, fix),
  ];
  const { name } = alike.some(([x]) => silent(x)) ? a : b;
  /** @type {Record<string, string>} */
  const reasons = open ? { windows: `${name} does not state its window` } : {};
  return [differences, reasons];
}

/** @param {Layer} layer */
const kindText = ({ label, rotates }) => `${label}${rotates ? "" : ", not rotated"}`;

/** @param {Layer} layer */
const queriesText = ({ queries }) =>
  queries ? `queries × ${queries}, so scores depend on more than the distance` : "no scale";

/** One difference for all layers that differ in the same way. @type {(rows: Layer[][], what: string, text: (layer: Layer) => string, fix: string) => Generator<Difference & {layers: string}>} */
function* folded(rows, what, text, fix) {
  /** @type {Map<string, {wanted: string, found: string, indices: number[]}>} */
  const groups = new Map();
  rows.forEach(([a, b], index) => {
    const [wanted, found] = [text(a), text(b)];
    if (wanted === found) return;
    const key = `${wanted}\n${found}`;
    if (!groups.has(key)) groups.set(key, { wanted, found, indices: [] });
    groups.get(key)?.indices.push(index);
  });
  for (const { wanted, found, indices } of groups.values()) {
    const layers = `layer${indices.length === 1 ? "" : "s"} ${runs(indices)} of ${rows.length}`;
    yield { what, layers, wanted, found, fix };
  }
}

/** What was judged: [status, sentence]. @type {(differences: Difference[], leftOpen: Record<string, string>) => [number, string]} */
function verdictOf(differences, leftOpen) {
  const differing = new Set(differences.map(({ what }) => CHECKS[what]));
  const names = [...new Set(Object.values(CHECKS))];
  const open = names.filter((name) => Object.hasOwn(leftOpen, name) && !differing.has(name));
  const central = open.filter((name) => name !== "layout" && name !== "loading");
  const count = `${names.length - open.length} of ${names.length} checks ran.`;
  const reasons = open.map((name) => `${name} (${leftOpen[name]})`).join("; ");
  const status = differing.size ? 1 : central.length ? 2 : 0;
  return [status, reasons ? `${count} Not judged: ${reasons}.` : count];
}

/** The same as the command prints it, in lines. @type {(comparison: ReturnType<typeof comparedFiles>) => string[]} */
export function inWords({ length, differences, notes, leftOpen }) {
  const [status, judged] = verdictOf(differences, leftOpen);
  const lines = differences.flatMap(({ what, layers, wanted, found, cost, fix }) => [
    `${layers[0].toUpperCase()}${layers.slice(1)}: the ${what} differ${what.endsWith("s") ? "" : "s"}.`,
    `    Found ${found}, expected ${wanted}.`,
    ...(cost ? [`    Cost: ${cost}`] : []),
    `    Fix: ${fix} Chapter “${CHAPTERS[what] ?? "Read a config"}”.`,
  ]);
  const verdicts = [`They rotate alike, up to ${length} tokens.`, "They do not rotate alike."];
  verdicts.push(`Could not tell: nothing that was judged differs, up to ${length} tokens.`);
  return [verdicts[status], ...lines, ...notes.map((note) => `Note: ${note}`), judged];
}

/** @type {(a: Statement, b: Statement) => Generator<string>} */
function* notesOf(a, b) {
  if (a.permuted !== b.permuted) {
    const { name } = b.permuted ? b : a;
    yield `${name} pairs neighbours, so the rows of q and k must have been permuted. Only the weights show whether they were.`;
  }
  const lengths = [a, b].map(({ readings }) => new Set(readings.map(({ longest }) => longest).filter(Boolean)));
  const [first, second] = lengths.map((each) => [...each].sort((x, y) => x - y).join(", "));
  if (first && second && first !== second) yield `The files claim different lengths, ${first} and ${second} tokens.`;
  const [count, other] = [a, b].map(({ layers }) => layers.count);
  if (count && other && count !== other) yield `The files state different numbers of layers, ${count} and ${other}.`;
  const [hides, hidesToo] = [a, b].map(({ readings }) => kindsOfRemarks(readings).includes(HIDDEN));
  const stay = hides !== hidesToo && a.form === b.form ? [...REMARKS_THAT_STAY, HIDDEN] : REMARKS_THAT_STAY;
  for (const { name, readings } of [a, b]) {
    const remarks = readings.flatMap((each) => each.remarks);
    const texts = remarks.filter(([kind]) => stay.includes(kind));
    for (const text of new Set(texts.map(([, text]) => text))) yield `${name}: ${text}`;
  }
}

/** @type {(a: Statement, b: Statement, length: number) => Generator<Difference & {layers: string}>} */
function* between(a, b, length) {
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
  const layout = differing("layout", (reading, file) => (file.permuted ? "half_split" : reading.layout), exchange);
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
    const fix = `Multiply the softmax scale by ${general(scales[0], 6)}, as ${a.name} has it.`;
    yield differing("softmax scale", ({ softmaxScale }) => `× ${general(softmaxScale, 6)} on 1/√d`, fix);
  }
}

/** A list as Python writes a tuple. @type {(list: number[] | null) => string} */
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
