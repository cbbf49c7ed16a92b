// Compares the rotations that two files specify, and reports the differences exactly as rope-doctor compare prints
// them.
import { CHECKS, kindsOfRemarks, notJudged, verdictOf } from "./compare_judged.js";
import { between } from "./compare_kinds.js";
import { layersBetween } from "./compare_layers.js";
import { formatValue } from "./config_words.js";
import { kept, statementOf } from "./statement.js";

/** @import { Difference } from "./compare_kinds.js" */
/** @import { Statement } from "./statement.js" */
// This remark is shown only if exactly one file has it, because every file in the transformers 5 form does.
const HIDDEN = "theta lost by 4";
const REMARKS_THAT_STAY = [
  "layout assumed",
  "not read",
  "theta lost by 5",
  "softmax not scaled",
  "factor ignored by 5",
];
const UNKNOWN_LENGTH = 4096; // in tokens, for kinds of layer without a stated length
/** The chapter for each kind of difference; kinds not listed here fall back to "Read a config". @type {Record<string, string>} */
const CHAPTERS = {
  windows: "Count positions",
  "query scale": "Count positions",
  "softmax scale": "Blend by wavelength",
  layout: "Tell two layouts apart",
  width: "Tell variants apart",
  sections: "Turn in more dimensions",
  "attention factor": "Blend by wavelength",
};

/**
 * Compare two files. Returns the differences, the length up to which the files were compared, notes, and the
 * reasons why some checks did not run.
 * @param {any} first the content of the correct file
 * @param {any} second the content of the file to check
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
  const named = layers.some(({ what }) => what === "kinds of layers"); // already reported layer by layer
  const byKind = differences.filter(({ what }) => !named || CHECKS[what] !== "kinds");
  const found = [...layers, ...byKind, ...lost];
  Object.assign(leftOpen, notJudged(a, b, found));
  return { length, differences: found, notes: [...notesOf(a, b)], leftOpen };
}

/** The difference to report if transformers 5 can read the first config's base but not the second's. @type {(a: Statement, b: Statement) => Generator<Difference & {layers: string}>} */
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

/** Format a comparison as the lines that the command prints. @type {(comparison: ReturnType<typeof comparedFiles>) => string[]} */
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
    const { name, permuted } = b.permuted ? b : a;
    const pairs = permuted === "half_split" ? "neighbours" : "halves";
    yield `${name} pairs ${pairs}, so the rows of q and k must have been permuted. Only the weights show whether they were.`;
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
