import { axes } from "../lib/axes.js";
import { ink, note, noteEnd, noteMiddle, onShade } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { colourScale, frame } from "../lib/heatmap.js";
import { clamp, fmt, range, sum } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { pointsAround } from "../lib/shapes.js";
import { counted } from "../lib/words.js";
import { softmax } from "../maths/dot_product.js";
import { biasCurve, factorOf, isCausal, slopeOf, tableEntry } from "../maths/example_bias.js";

/** The selected row's visible keys, the attention weights that identical words would get, the bias curve, and a
 * function that looks up a table entry. */
function followed({ scheme, head, length, query, num_buckets, max_distance, clip }) {
  const table = { numBuckets: num_buckets, maxDistance: max_distance, clip };
  const causal = isCausal(scheme);
  const curve = biasCurve(scheme, head, length, table);
  const keys = range(0, causal ? query : length - 1);
  const weights = softmax(keys.map((key) => curve[key - query + length - 1]));
  const entry = (relative) => tableEntry(scheme, relative, table);
  return { causal, curve, keys, weights, entry, last: scheme === "shaw" ? 2 * clip : num_buckets - 1 };
}

/** Lay out the matrix, with the curve and the weights beside or below it. */
function places(width) {
  const narrow = width < 520;
  const side = narrow ? Math.min(width - 44, 238) : Math.min(300, Math.round(width * 0.46));
  const bottom = 26 + side; // bottom edge of the matrix
  const x = narrow ? 40 : side + 98;
  const column = { x, w: width - x - 12 };
  const bias = { ...column, y: narrow ? bottom + 140 : 42, h: narrow ? 84 : 112 };
  const weight = { ...column, y: narrow ? bottom + 296 : 240, h: narrow ? 84 : bottom - 172 };
  const height = bottom + (narrow ? 424 : 108);
  return { matrix: { x: 40, y: 26, side }, bias, weight, height, lead: narrow ? bias.y - 44 : height };
}

const T5 = { title: phrase`Bucket of every pair`, unit: phrase`bucket` };
const WORDS = {
  alibi: { title: phrase`Factor exp(bias) of every pair`, unit: phrase`exp(bias)` },
  shaw: { title: phrase`Table row of every pair`, unit: phrase`row` },
  t5_causal: T5,
  t5_bidirectional: T5,
};

/** Draw a cell for each query–key pair, with queries as rows and keys as columns. */
function drawMatrix(pen, { scheme, length }, { causal, curve, entry, last }, { x, y, side }) {
  const cell = side / length;
  const shadeOf = range(1 - length, length - 1).map((relative) =>
    scheme === "alibi" ? factorOf(curve[relative + length - 1] ?? 0) : entry(relative) / last,
  );
  pen.text(x, y - 10, WORDS[scheme].title);
  pen.raster(x, y, side, side, length, length, (i, j) => shadeOf[j - i + length - 1]);
  if (!causal) return;
  const stairs = range(1, length - 1).flatMap((n) => [
    [x + n * cell, y + (n - 1) * cell],
    [x + n * cell, y + n * cell],
  ]);
  pen.area([...stairs, [x + side, y + side - cell], [x + side, y]], { fill: ink.grid });
  pen.text(x + side - 8, y + 22, phrase`masked`, { anchor: "end" });
}

/** Draw the row and column numbers, frame the selected row, and return the row's handle. */
function drawRow(pen, { length, query }, { x, y, side }) {
  const cell = side / length;
  const marks = range(0, length - 1, length > 24 ? 8 : 4);
  pen.part(() => {
    for (const t of marks) pen.text(x + (t + 0.5) * cell, y + side + 15, t, noteMiddle);
    for (const t of marks) {
      const words = Math.abs(t - query) * cell < 14 ? "" : t; // no room beside the number of the selected row
      pen.text(x - 6, y + (t + 0.5) * cell + 4, words, noteEnd);
    }
  });
  pen.text(x + side / 2, y + side + 32, phrase`key position j`, { anchor: "middle" });
  pen.text(13, y + side / 2, phrase`query position i`, { anchor: "middle", turn: -90 });
  const top = y + query * cell;
  frame(pen, x - 1, top - 1, side + 2, cell + 2, { stroke: ink.q, width: 2.5 });
  pen.text(x - 6, top + cell / 2 + 4, query, { ...noteEnd, fill: ink.qWords, weight: 600 });
  const [cx, cy] = [x + (query + 0.5) * cell, top + cell / 2];
  pen.circle(cx, cy, 6.5, { fill: ink.q, stroke: ink.paper, width: 2 });
  const at = (_px, py) => clamp(Math.floor((py - y) / cell), 0, length - 1);
  return { query: { x: cx, y: cy, at } };
}

/** Write the entries as numbers if the cells are large enough, skipping the cell under the dot. */
function drawEntries(pen, { scheme, length, query }, { causal, entry, last }, { x, y, side }) {
  const cell = side / length;
  if (scheme === "alibi" || cell < 19) return;
  for (const i of range(0, length - 1)) {
    for (const j of range(0, causal ? i : length - 1)) {
      if (i === query && j === i) continue;
      const number = entry(j - i);
      const fill = onShade(number / last);
      pen.text(x + (j + 0.5) * cell, y + (i + 0.5) * cell + 4, number, { ...noteMiddle, fill });
    }
  }
}

function drawScale(pen, { scheme }, { last }, { x, y, side }) {
  const [steps, most] = scheme === "alibi" ? [128, 1] : [last + 1, last];
  colourScale(pen, { x, y: y + side + 48, w: side }, [0, WORDS[scheme].unit, most], undefined, steps);
}

/** Plot the bias against j − i as one curve for all rows, highlighting the part that the selected row uses. */
function drawCurve(pen, { scheme, length, query }, { causal, curve, keys }, box) {
  const far = length - 1;
  const high = causal ? 0 : far;
  const low = scheme === "alibi" ? -Math.ceil(far / 8) * 4 : -8;
  pen.text(box.x, box.y - 26, scheme === "alibi" ? phrase`Bias against j − i` : phrase`Bias against j − i, made up`);
  pen.text(box.x, box.y - 9, phrase`grey: every row`, note);
  pen.text(box.x + 100, box.y - 9, phrase`blue: row ${query}`, { size: 12, fill: ink.qWords, weight: 600 });
  const step = far < 12 ? 4 : Math.ceil(far / 24) * 8;
  const { X, Y } = axes(pen, box, [-far, Math.max(high, 0.001)], [low, 0], {
    xLabel: phrase`relative position j − i (tokens)`,
    xTicks: range(-Math.floor(far / step) * step, high, step),
    yTicks: [low, low / 2, 0],
  });
  const points = curve.map((bias, n) => [X(n - far), Y(bias)]);
  pen.curve(points, { stroke: ink.muted, width: 1.5, opacity: 0.7 });
  const seen = points.slice(far - query, far - query + keys.length);
  pen.curve(seen, { stroke: ink.q, width: 3.5 });
  pen.circle(X(0), Y(0), 5, { fill: ink.q, stroke: ink.paper, width: 1.5 });
}

/** Plot the selected row's attention weights for identical words, so that only position matters. */
function drawWeights(pen, { length, query }, { keys, weights }, box) {
  const most = [0.05, 0.1, 0.2, 0.5, 1].find((limit) => limit >= Math.max(...weights) - 1e-9) ?? 1;
  const { X, Y } = axes(pen, box, [-0.5, length - 0.5], [0, most], {
    xLabel: phrase`key position j (tokens)`,
    yLabel: phrase`Attention weights of row ${query}`,
    xTicks: range(0, length - 1, length > 24 ? 8 : 4),
    yTicks: [0, most / 2, most],
  });
  const half = Math.max(1, (box.w / length) * 0.36);
  const bar = (key) => {
    const tall = Y(weights[key]) - Y(0);
    return pointsAround([X(key), Y(0)], [-half, 0], [-half, tall], [half, tall], [half, 0]);
  };
  pen.area(keys.flatMap(bar), { fill: ink.q, opacity: 0.6 }); // a single path is cheaper than a shape per key
  pen.area(bar(query), { fill: ink.q });
}

function draw(pen, state, { width }) {
  const { matrix, bias, weight } = places(width);
  const row = followed(state);
  drawMatrix(pen, state, row, matrix);
  const handles = drawRow(pen, state, matrix);
  drawScale(pen, state, row, matrix);
  drawCurve(pen, state, row, bias);
  drawWeights(pen, state, row, weight);
  drawEntries(pen, state, row, matrix);
  return handles;
}

function readout(state) {
  const { scheme, head, length, query, num_buckets, clip } = state;
  const { causal, keys, weights, entry } = followed(state);
  if (scheme === "alibi") {
    const slope = slopeOf(head);
    const reach = Math.round(1 / slope);
    const near = sum(weights.slice(-reach));
    const share =
      reach < keys.length
        ? phrase`the nearest ${reach} keys (1/μ) take ${fmt(100 * near, 0)} % of the weight of query ${query}`
        : phrase`query ${query} sees ${counted(keys.length, "key")}, all within 1/μ = ${counted(reach, "token")}`;
    const factor = fmt(factorOf(-slope), 3);
    return phrase`Head ${head} has the slope μ = 1/${reach}: each token of distance multiplies the weight by ${factor}, and ${share}.`;
  }
  if (scheme === "shaw") {
    const clipped = keys.filter((key) => Math.abs(key - query) >= clip).length;
    const [own, far] = [entry(0), counted(clip, "token")];
    return phrase`Query ${query} reads ${results(state).biases} of the table's ${2 * clip + 1} rows, row ${own} for itself; ${clipped} of its
      ${keys.length} keys are ${far} away or more and read row 0 (left) or row ${2 * clip} (right). A row is a vector, so the
      real bias depends on the query; this one is made up.`;
  }
  const madeUp = phrase`T5 learns one value for each bucket and head; the values here are made up.`;
  if (keys.length === 1) return phrase`Query ${query} sees only itself, at distance 0: bucket 0. ${madeUp}`;
  const places = new Set(keys.map((key) => entry(key - query)));
  const farthest = query >= length - 1 - query || causal ? 0 : length - 1;
  const far = counted(Math.abs(farthest - query), "token");
  return phrase`Query ${query} puts its ${keys.length} keys into ${places.size} of the ${num_buckets} buckets; the farthest,
    key ${farthest}, is ${far} away and falls into bucket ${entry(farthest - query)}. ${madeUp}`;
}

function results(state) {
  const { keys, entry } = followed(state);
  const distances = keys.map((key) => Math.abs(key - state.query));
  const used = state.scheme === "alibi" ? distances : keys.map((key) => entry(key - state.query));
  return { seen: keys.length, farthest: Math.max(...distances), biases: new Set(used).size };
}

export default live({
  name: "BiasMatrix",
  title: phrase`A bias for every query and key, constant along the diagonals, and the attention that it makes`,
  height: (width) => places(width).height,
  draw,
  readout,
  results,
  panel: (width) => [0, places(width).lead],
  unfolds: true,
  buttons: [{ label: phrase`Next query`, move: ({ query, length }) => ({ query: (query + 1) % length }) }],
});
