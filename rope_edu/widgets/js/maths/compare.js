// Whether two files rotate alike, and what it costs where they do not: the words of rope-edu compare.
import { difference, ofKind } from "./compare_kinds.js";
import { kept, kindOf, statementOf } from "./statement.js";

/** @import { Difference } from "./compare_kinds.js" */
/** @import { Statement } from "./statement.js" */
const UNKNOWN_LENGTH = 4096; // tokens, where neither file states a length
const READ = "Read a config";
/** @type {Record<string, string>} */
const CHAPTERS = {
  "kinds of layers": READ,
  rotation: READ,
  frequencies: READ,
  layout: "Tell two layouts apart",
  width: "Tell variants apart",
  sections: "Turn in more dimensions",
  "attention factor": "Blend by wavelength",
};

/** A kind of layers in words. @param {string | null} label */
export const nameOf = (label) =>
  label === null ? "all layers" : label === "nope" ? "layers without position" : `${label} layers`;

/**
 * The differences of two files, with the length to which they are compared, and notes.
 * @param {any} first the content of the one that is right
 * @param {any} second the content of the one that is held against it
 */
export const comparedFiles = (first, second) =>
  compared(statementOf(first, "the first file"), statementOf(second, "the second file"));

/** @type {(wanted: Statement, found: Statement) => {length: number, differences: Difference[], notes: string[]}} */
function compared(wanted, found) {
  let [a, b] = [wanted, found];
  const readings = [...a.readings, ...b.readings];
  const length = Math.max(...readings.map(({ longest, trained }) => longest || trained || UNKNOWN_LENGTH));
  const remarks = readings.flatMap((reading) => reading.remarks);
  const grows = remarks.some(([kind]) => kind === "depends on length");
  if (a.form !== b.form) [a, b] = [kept(a), kept(b)];
  const at = (/** @type {Statement} */ { config, name }) => statementOf(config, name, length);
  /** @type {Map<string, Difference>} */
  const differences = new Map();
  const pairs = [[a, b]];
  if (grows) pairs.push([at(a), at(b)]);
  for (const [one, other] of pairs) {
    for (const difference of between(one, other, length)) {
      const key = `${difference.what} ${difference.layers}`;
      if (!differences.has(key)) differences.set(key, difference);
    }
  }
  return { length, differences: [...differences.values()], notes: [...notesOf(a, b)] };
}

/**
 * The same as the command prints it, line by line.
 * @type {(comparison: ReturnType<typeof comparedFiles>) => string[]}
 */
export function inWords({ length, differences, notes }) {
  const alike = `They rotate alike, up to ${length} tokens.`;
  const lines = differences.flatMap(({ what, layers, wanted, found, cost, fix }) => [
    `${layers[0].toUpperCase()}${layers.slice(1)}: the ${what} differ${what.endsWith("s") ? "" : "s"}.`,
    `    Found ${found}, wanted ${wanted}.`,
    ...(cost ? [`    Cost: ${cost}`] : []),
    `    Fix: ${fix} Chapter “${CHAPTERS[what]}”.`,
  ]);
  const verdict = differences.length ? "They do not rotate alike." : alike;
  return [verdict, ...lines, ...notes.map((note) => `Note: ${note}`)];
}

/** @type {(a: Statement, b: Statement) => Generator<string>} */
function* notesOf(a, b) {
  if (a.permuted !== b.permuted) {
    const { name } = b.permuted ? b : a;
    yield `${name} pairs neighbours, and the rows of q and k must be permuted for it. Whether they are, only the weights tell.`;
  }
  const stated = [a, b].map(({ readings }) => [...new Set(readings.map(({ longest }) => longest).filter(Boolean))]);
  const sorted = stated.map((each) => each.sort((x, y) => x - y).join(", "));
  if (sorted[0] && sorted[1] && sorted[0] !== sorted[1]) {
    yield `The files claim different lengths, ${sorted[0]} and ${sorted[1]} tokens.`;
  }
  for (const { name, readings } of [a, b]) {
    const remarks = readings.flatMap((each) => each.remarks);
    const told = remarks.filter(([kind]) => kind === "layout assumed" || kind === "not read");
    for (const text of new Set(told.map(([, text]) => text))) yield `${name}: ${text}`;
  }
}

/** @type {(a: Statement, b: Statement, length: number) => Generator<Difference>} */
function* between(a, b, length) {
  const kinds = [a, b].map(({ readings }) => readings.map(({ layerType }) => layerType));
  const labels = [...new Set(kinds.flat().filter((label) => label !== null))];
  if (kinds.every((each) => each.includes(null))) labels.unshift(null);
  for (const label of labels) {
    const [wanted, found] = [kindOf(a, label), kindOf(b, label)];
    if (wanted && found) yield* ofKind({ a, b, layers: nameOf(label), wanted, found, length });
    else {
      const words = kinds.map((each) => each.map(nameOf).join(", "));
      yield difference("kinds of layers", nameOf(label), words, `State these layers in ${b.name}.`);
    }
  }
}
