import { axes } from "../lib/axes.js";
import { ink, note, noteEnd, noteMiddle, onShade } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { clamp, fmt, range, sum } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { counted } from "../lib/words.js";
import { softmax } from "../maths/dot_product.js";
import { biasCurve, factorOf, isCausal, slopeOf, tableEntry } from "../maths/example_bias.js";

/** The numbers of a scheme's table. */
const tableOf = ({ num_buckets, max_distance, clip }) => ({ numBuckets: num_buckets, maxDistance: max_distance, clip });

/** The entry of the table that a relative position reads. */
const entry = (state, relative) => tableEntry(state.scheme, relative, tableOf(state));

/** How many entries that table has. */
const tableSize = ({ scheme, num_buckets, clip }) => (scheme === "shaw" ? 2 * clip + 1 : num_buckets);

/** The followed row: its place, the bias of each key it sees, and the weights if all contents are equal. */
function followed(state) {
  const { scheme, head, length, query } = state;
  const curve = biasCurve(scheme, head, length, tableOf(state));
  const keys = range(0, isCausal(scheme) ? query : length - 1);
  const bias = keys.map((key) => curve[key - query + length - 1]);
  return { query, curve, keys, bias, weights: softmax(bias) };
}

const stacked = (width) => width < 520;

/** Where the parts stand. */
function places(width) {
  if (stacked(width)) {
    const side = Math.min(width - 44, 380);
    const top = 26 + side + 98;
    const column = { x: 40, w: width - 52 };
    const [bias, weight] = [
      { ...column, y: top + 42, h: 120 },
      { ...column, y: top + 248, h: 110 },
    ];
    return { side, bias, weight, height: top + 406 };
  }
  const side = Math.min(300, Math.round(width * 0.46));
  const x = side + 98;
  const column = { x, w: width - x - 12 };
  const bottom = 26 + side + 40;
  const [bias, weight] = [
    { ...column, y: 42, h: 112 },
    { ...column, y: 240, h: bottom - 240 + 28 },
  ];
  return { side, bias, weight, height: bottom + 68 };
}
const height = (width) => places(width).height;

/** All pairs at once: rows are queries, columns are keys. */
function drawMatrix(pen, state, row, x, y, side) {
  const { scheme, length } = state;
  const cell = side / length;
  const most = tableSize(state) - 1;
  const shadeOf = range(1 - length, length - 1).map((relative) =>
    scheme === "alibi" ? factorOf(row.curve[relative + length - 1] ?? 0) : entry(state, relative) / most,
  );
  const title = { alibi: phrase`Factor exp(bias) of every pair`, shaw: phrase`Table row of every pair` }[scheme];
  pen.text(x, y - 10, title ?? phrase`Bucket of every pair`);
  pen.raster(x, y, side, side, length, length, (i, j) => shadeOf[j - i + length - 1]);
  if (isCausal(scheme)) {
    const steps = range(1, length - 1).map((n) => n * cell);
    const stairs = steps.flatMap((at, n) => [
      [x + at, y + (n ? steps[n - 1] : 0)],
      [x + at, y + at],
    ]);
    pen.area([...stairs, [x + side, y + side - cell], [x + side, y]], { fill: ink.grid });
    pen.text(x + side - 8, y + 22, phrase`masked`, { anchor: "end", fill: ink.text });
  }
  const marks = range(0, length - 1, length > 24 ? 8 : 4);
  pen.part(() => {
    for (const t of marks) pen.text(x + (t + 0.5) * cell, y + side + 15, t, noteMiddle);
    for (const t of marks) {
      const words = Math.abs(t - row.query) * cell < 14 ? "" : t; // beside the followed row there is no room
      pen.text(x - 6, y + (t + 0.5) * cell + 4, words, noteEnd);
    }
  });
  pen.text(x + side / 2, y + side + 32, phrase`key position j`, { anchor: "middle" });
  pen.text(11, y + side / 2, phrase`query position i`, { anchor: "middle", turn: -90 });
  const top = y + row.query * cell;
  pen.rect(x - 1, top - 1, side + 2, cell + 2, { stroke: ink.paper, width: 5 });
  pen.rect(x - 1, top - 1, side + 2, cell + 2, { stroke: ink.q, width: 2.5 });
  pen.text(x - 6, top + cell / 2 + 4, row.query, { anchor: "end", size: 12, fill: ink.qWords, weight: 600 });
  const [cx, cy] = [x + (row.query + 0.5) * cell, top + cell / 2];
  pen.circle(cx, cy, 6.5, { fill: ink.q, stroke: ink.paper, width: 2 });
  drawScale(pen, state, x, y + side + 48, side);
  const at = (_px, py) => clamp(Math.floor((py - y) / cell), 0, length - 1);
  return { query: { x: cx, y: cy, at } };
}

/** The entries as numbers, where the cells have room for them; the dot hides one. */
function drawEntries(pen, state, row, x, y, side) {
  const cell = side / state.length;
  if (state.scheme === "alibi" || cell < 19) return;
  for (const i of range(0, state.length - 1)) {
    for (const j of range(0, isCausal(state.scheme) ? i : state.length - 1)) {
      if (i === row.query && j === i) continue;
      const number = entry(state, j - i);
      const fill = onShade(number / (tableSize(state) - 1));
      pen.text(x + (j + 0.5) * cell, y + (i + 0.5) * cell + 4, number, { fill, size: 12, anchor: "middle" });
    }
  }
}

/** What the colours mean. */
function drawScale(pen, state, x, y, w) {
  const most = tableSize(state) - 1;
  const steps = state.scheme === "alibi" ? 128 : most + 1;
  pen.raster(x, y, w, 12, 1, steps, (_, c) => c / (steps - 1));
  const last = state.scheme === "alibi" ? 1 : most;
  const words = { alibi: phrase`exp(bias)`, shaw: phrase`row` }[state.scheme] ?? phrase`bucket`;
  pen.text(x, y + 27, 0, note);
  pen.text(x + w / 2, y + 27, words, noteMiddle);
  pen.text(x + w, y + 27, last, noteEnd);
}

/** The bias by j − i: one curve for all rows, and the part of it that the followed row reads. */
function drawCurve(pen, state, row, box) {
  const { scheme, length } = state;
  const far = length - 1;
  const high = isCausal(scheme) ? 0 : far;
  const low = scheme === "alibi" ? -Math.ceil(far / 8) * 4 : -8;
  pen.text(box.x, box.y - 26, scheme === "alibi" ? phrase`Bias against j − i` : phrase`Bias against j − i, made up`);
  pen.text(box.x, box.y - 9, phrase`grey: every row`, note);
  pen.text(box.x + 100, box.y - 9, phrase`pink: row ${row.query}`, { size: 12, fill: ink.scoreWords, weight: 600 });
  const step = far < 12 ? 4 : Math.ceil(far / 24) * 8;
  const { X, Y } = axes(pen, box, [-far, Math.max(high, 0.001)], [low, 0], {
    xLabel: phrase`relative position j − i (tokens)`,
    xTicks: range(-Math.floor(far / step) * step, high, step),
    yTicks: [low, low / 2, 0],
  });
  const points = row.curve.map((bias, n) => [X(n - far), Y(bias)]);
  pen.curve(points, { stroke: ink.muted, width: 1.5, opacity: 0.7 });
  const seen = points.slice(far - row.query, far - row.query + row.keys.length);
  pen.curve(seen, { stroke: ink.score, width: 3.5 });
  pen.circle(X(0), Y(0), 5, { fill: ink.q, stroke: ink.paper, width: 1.5 });
}

/** The attention weights of the followed row when all words are alike: position alone decides. */
function drawWeights(pen, { length }, row, box) {
  const most = [0.05, 0.1, 0.2, 0.5, 1].find((limit) => limit >= Math.max(...row.weights) - 1e-9);
  const { X, Y } = axes(pen, box, [-0.5, length - 0.5], [0, most], {
    xLabel: phrase`key position j (tokens)`,
    yLabel: phrase`Attention weights of row ${row.query}`,
    xTicks: range(0, length - 1, length > 24 ? 8 : 4),
    yTicks: [0, most / 2, most],
  });
  const thick = Math.max(2, (box.w / length) * 0.72);
  const bar = (key, n) => {
    const [left, right, top] = [X(key) - thick / 2, X(key) + thick / 2, Y(row.weights[n])];
    return [
      [left, Y(0)],
      [left, top],
      [right, top],
      [right, Y(0)],
    ];
  };
  pen.area(row.keys.flatMap(bar), { fill: ink.score }); // one comb: cheaper than a shape for each key
  pen.area(bar(row.query, row.query), { fill: ink.q });
}

function draw(pen, state, { width }) {
  const { side, bias, weight } = places(width);
  const row = followed(state);
  const handles = drawMatrix(pen, state, row, 40, 26, side);
  drawCurve(pen, state, row, bias);
  drawWeights(pen, state, row, weight);
  drawEntries(pen, state, row, 40, 26, side);
  return handles;
}

function readout(state) {
  const { query, keys, weights } = followed(state);
  if (state.scheme === "alibi") {
    const slope = slopeOf(state.head);
    const reach = Math.round(1 / slope);
    const near = sum(weights.slice(-reach));
    const share =
      reach < keys.length
        ? phrase`the nearest ${reach} keys (1/μ) take ${fmt(100 * near, 0)} % of the weight of query ${query}`
        : phrase`query ${query} sees ${counted(keys.length, "key")}, all within 1/μ = ${counted(reach, "token")}`;
    const factor = fmt(factorOf(-slope), 3);
    return phrase`Head ${state.head} has the slope μ = 1/${reach}: each token of distance multiplies the weight by ${factor}, and ${share}.`;
  }
  if (state.scheme === "shaw") {
    const clipped = keys.filter((key) => Math.abs(key - query) >= state.clip).length;
    const [own, far] = [entry(state, 0), counted(state.clip, "token")];
    return phrase`The table has ${2 * state.clip + 1} rows. Query ${query} reads row ${own} for itself; ${clipped} of its
      ${keys.length} keys are ${far} away or more and read row 0 (left) or row ${2 * state.clip} (right). A row is a vector, so the
      real bias depends on the query; this one is made up.`;
  }
  const madeUp = phrase`T5 learns one value for each bucket and head; the values here are made up.`;
  if (keys.length === 1) return phrase`Query ${query} sees only itself, at distance 0: bucket 0. ${madeUp}`;
  const places = new Set(keys.map((key) => entry(state, key - query)));
  const farthest = query >= state.length - 1 - query || isCausal(state.scheme) ? 0 : state.length - 1;
  const far = counted(Math.abs(farthest - query), "token");
  return phrase`Query ${query} puts its ${keys.length} keys into ${places.size} of the ${state.num_buckets} buckets; the farthest,
    key ${farthest}, is ${far} away and falls into bucket ${entry(state, farthest - query)}. ${madeUp}`;
}

export default live({
  name: "BiasMatrix",
  title: phrase`A bias for every query and key, constant along the diagonals, and the attention that it makes`,
  height,
  draw,
  readout,
  panel: (width) => [0, stacked(width) ? places(width).bias.y - 44 : height(width)],
  unfolds: true,
  buttons: [{ label: phrase`Next query`, move: ({ query, length }) => ({ query: (query + 1) % length }) }],
});
