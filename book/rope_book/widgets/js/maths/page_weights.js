// Initialises the weights of a model trained in the page. Names and shapes are torch's, and all weights share one
// array, so that Adam is a single loop.
import { normalAt, streamOf, uniformAt } from "./draws.js";
import { pageTask, placesOf } from "./page_tasks.js";

/** A weight's dimensions, the function that draws the numbers, and their scale. @typedef {{name: string, rows: number, columns: number, draw: (stream: number, n: number) => number, spread: number}} Named */
/** All weights by name, each a view into one array. @typedef {{all: Float64Array, of: Record<string, Float64Array>}} Weights */

export const WIDTH = 32;
export const HEADS = 2;
export const HIDDEN = 64;
export const BUCKETS = 32; // number of buckets in the T5 table
const LONGEST = 4; // rows of a learned table, in multiples of the trained length

/** A uniform number from −1 to 1. @type {(stream: number, n: number) => number} */
const evenly = (stream, n) => 2 * uniformAt(stream, n) - 1;
const one = () => 1;

/** The weights of a block, in drawing order. @type {(n: number, layers: number) => Named[]} */
function blockOf(n, layers) {
  const name = (/** @type {string} */ part) => `blocks.${n}.${part}`;
  const adds = 1 / Math.sqrt(2 * layers); // scales down matrices that add to the residual stream
  const [thin, thick] = [1 / Math.sqrt(WIDTH), 1 / Math.sqrt(HIDDEN)];
  return [
    ...normOf(name("norm_1")),
    ...normOf(name("norm_2")),
    { name: name("attention.w_qkv.weight"), rows: 3 * WIDTH, columns: WIDTH, draw: normalAt, spread: thin },
    { name: name("attention.w_o.weight"), rows: WIDTH, columns: WIDTH, draw: normalAt, spread: thin * adds },
    { name: name("mlp.0.weight"), rows: HIDDEN, columns: WIDTH, draw: normalAt, spread: thin },
    { name: name("mlp.0.bias"), rows: 1, columns: HIDDEN, draw: evenly, spread: thin },
    { name: name("mlp.2.weight"), rows: WIDTH, columns: HIDDEN, draw: normalAt, spread: thick * adds },
    { name: name("mlp.2.bias"), rows: 1, columns: WIDTH, draw: evenly, spread: thick },
  ];
}

/** @type {(name: string) => Named[]} */
const normOf = (name) => [
  { name: `${name}.weight`, rows: 1, columns: WIDTH, draw: one, spread: 1 },
  { name: `${name}.bias`, rows: 1, columns: WIDTH, draw: one, spread: 0 },
];

// All weights of a model. The encoding's weights come last, so that models with the same seed start with the same
// values for all other weights.
/** @type {(task: string, encoding: string, layers: number, length: number) => Named[]} */
export function weightsOf(task, encoding, layers, length) {
  const { vocab } = pageTask(task);
  const places = placesOf(task, LONGEST * length);
  const table = "encodings.0.table";
  /** @type {Record<string, Named[]>} */
  const tables = {
    learned: [{ name: table, rows: places, columns: WIDTH, draw: normalAt, spread: 0.3 }],
    t5: [{ name: table, rows: BUCKETS, columns: HEADS, draw: one, spread: 0 }],
  };
  return [
    { name: "embedding.weight", rows: vocab, columns: WIDTH, draw: normalAt, spread: 1 },
    ...Array.from({ length: layers }, (_, n) => blockOf(n, layers)).flat(),
    ...normOf("norm"),
    { name: "head.weight", rows: vocab, columns: WIDTH, draw: normalAt, spread: 1 / Math.sqrt(WIDTH) },
    ...(tables[encoding] ?? []),
  ];
}

/** The number of parameters for these settings. @type {(settings: State) => number} */
export const sizeOf = ({ task, encoding, layers, length }) =>
  weightsOf(task, encoding, layers, length).reduce((sum, { rows, columns }) => sum + rows * columns, 0);

/** Allocate zero-filled arrays for the given weights. @type {(named: Named[]) => Weights} */
export function roomFor(named) {
  const all = new Float64Array(named.reduce((sum, { rows, columns }) => sum + rows * columns, 0));
  const of = /** @type {Record<string, Float64Array>} */ ({});
  let start = 0;
  for (const { name, rows, columns } of named) {
    of[name] = all.subarray(start, start + rows * columns);
    start += rows * columns;
  }
  return { all, of };
}

/** The initial weights for a seed. @type {(named: Named[], seed: number) => Weights} */
export function drawWeights(named, seed) {
  const weights = roomFor(named);
  named.forEach(({ name, draw, spread }, n) => {
    const [values, stream] = [weights.of[name], streamOf([1000 + n, seed])];
    for (let i = 0; i < values.length; i++) values[i] = spread * draw(stream, i);
  });
  return weights;
}
