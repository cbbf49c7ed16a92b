// Compares the kind, window and query scale of each layer in two files, and groups layers that differ in the same way.
import { coarse, NOT_STATED, rowsOf } from "./config_each_layer.js";
import { runs } from "./config_words.js";

/** @import { Difference } from "./compare_kinds.js" */
/** @import { Layer } from "./config_each_layer.js" */
/** @import { Statement } from "./statement.js" */

const UNKNOWN_LAYERS = 48; // number of layers to compare if neither file states one

/** The differences in kind, window and query scale, and the reason for each check that was skipped. @type {(a: Statement, b: Statement) => [(Difference & {layers: string})[], Record<string, string>]} */
export function layersBetween(a, b) {
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

/** Report a single difference for all layers that differ in the same way. @type {(rows: Layer[][], what: string, text: (layer: Layer) => string, fix: string) => Generator<Difference & {layers: string}>} */
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
