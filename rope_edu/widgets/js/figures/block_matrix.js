import { diverging, ink, note, noteEnd, noteMiddle, onShade, shade, signedPlace } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { fmt, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { length } from "../maths/complex.js";
import { invFreq, ropeAngles, turnsOf } from "../maths/frequencies.js";
import { pairFeatures } from "../maths/layouts.js";
import { applyRope, rotationMatrix } from "../maths/rotary.js";

// The vector that is rotated: small numbers, so that no pair is longer than 1 and one colour scale serves all cells.
const FEATURES = [
  0.7, 0.2, 0.5, -0.6, -0.3, 0.7, 0.6, 0.4, -0.7, 0.1, 0.3, 0.6, -0.5, -0.4, 0.7, -0.2, 0.1, -0.7, 0.4, 0.5, 0.6, -0.1,
  -0.6, 0.3, 0.2, 0.7, -0.4, -0.7, 0.5, 0.1, -0.2, 0.6,
];
const TOP = 42; // above the cells: the headings
const BELOW = 202; // below the cells: the row in numbers and the count

/** What the state means: x, the angles, R row by row, the result, and the two products of the chosen row. */
function rotated({ position, row, head_dim, pairing, base }) {
  const x = FEATURES.slice(0, head_dim);
  const angles = ropeAngles(position, invFreq(head_dim, base));
  const matrix = rotationMatrix(angles, pairing);
  const j = row;
  const partner = Array(head_dim);
  const pairOf = Array(head_dim);
  const second = Array(head_dim).fill(false);
  angles.forEach((_, i) => {
    const [a, b] = pairFeatures(i, angles.length, pairing);
    [partner[a], partner[b], pairOf[a], pairOf[b], second[b]] = [b, a, i, i, true];
  });
  return { x, angles, matrix, out: applyRope(x, angles, pairing), j, partner, pairOf, second };
}

/** Where the cells stand: the matrix, or five columns, of one height. */
function grid(width, { head_dim, form }) {
  const left = 22;
  const narrow = width < 430;
  const legend = narrow ? 0 : 62;
  const column = narrow ? 48 : 56;
  const room = width - left - legend;
  const side = Math.min(352, room - 2 * column - (narrow ? 28 : 46));
  const matrix = form === "matrix";
  const height = Math.max(side, narrow ? 176 : 0);
  return { left, narrow, column, side, height, cell: height / head_dim, room, legend, matrix };
}

const height = (width, state) => {
  const { height: cells, narrow } = grid(width, state);
  return TOP + cells + BELOW + (narrow ? 90 : 0);
};

/** One coloured cell with its number, where there is room for it. */
function cell(pen, value, x, y, w, h) {
  const place = signedPlace(value);
  pen.rect(x, y, w, h, { fill: shade(place, diverging), stroke: ink.grid, width: 0.5 });
  if (w >= 42 && h >= 15) {
    pen.text(x + w / 2, y + h / 2 + 4.5, fmt(value), { fill: onShade(place, diverging), size: 12, anchor: "middle" });
  }
}

/** A column of cells with a heading; `marked` rows get a frame. */
function drawColumn(pen, values, heading, x, { column, cell: h }, marked) {
  pen.text(x + column / 2, TOP - 12, heading, { anchor: "middle", weight: 600 });
  for (const [j, value] of values.entries()) cell(pen, value, x, TOP + j * h, column, h);
  for (const j of marked) frame(pen, x, TOP + j * h, column, h);
}

/** A frame that shows on every colour. */
function frame(pen, x, y, w, h) {
  pen.rect(x, y, w, h, { stroke: ink.paper, width: 6 });
  pen.rect(x, y, w, h, { stroke: ink.text, width: 3 });
}

/** R: the cells that are always zero stay blank. */
function drawMatrix(pen, state, at, { left, side, height: tall, cell: h }) {
  const { matrix, j, partner } = at;
  const d = state.head_dim;
  const w = side / d;
  pen.text(left + side / 2, TOP - 12, `R, ${d} × ${d}`, { anchor: "middle", weight: 600 });
  const across = range(0, d).map((i) => [left, TOP + i * h, left + side, TOP + i * h]);
  const down = range(0, d).map((i) => [left + i * w, TOP, left + i * w, TOP + tall]);
  pen.lines([...across, ...down], { stroke: ink.grid, width: 1 });
  for (const r of range(0, d - 1)) {
    for (const c of [r, partner[r]]) cell(pen, matrix[r][c], left + c * w, TOP + r * h, w, h);
  }
  if (state.pairing === "interleaved") {
    const blocks = range(0, d - 1, 2).map((i) => [left + i * w, TOP + i * h, 2 * w, 2 * h]);
    pen.rects(blocks, { stroke: ink.muted, width: 1.5 });
  }
  frame(pen, left, TOP + j * h, side, h);
}

/** The number of each row, as many as fit. */
function drawRows(pen, { head_dim }, { left, cell: h }, j) {
  const every = h >= 14 ? 1 : h >= 7 ? 4 : 8;
  for (const r of range(0, head_dim - 1)) {
    const chosen = r === j;
    if (!chosen && (r % every || (every > 1 && Math.abs(r - j) * h < 13))) continue;
    const style = chosen ? { weight: 700 } : { fill: ink.muted };
    pen.text(left - 5, TOP + (r + 0.5) * h + 4, r, { anchor: "end", size: 12, ...style });
  }
}

/** The colours and what they mean. */
function drawLegend(pen, { left, narrow, height: tall, room, matrix }, width) {
  const steps = 24;
  if (narrow) {
    const [x, y, w] = [left + 26, TOP + tall + 18, Math.min(150, width - left - 60)];
    pen.raster(x, y, w, 10, 1, steps, (_, i) => (i + 0.5) / steps, diverging);
    pen.text(x - 6, y + 10, "−1", noteEnd);
    pen.text(x + w + 6, y + 10, "1", note);
    pen.text(x + w / 2, y + 26, matrix ? phrase`0; blank: always 0` : "0", noteMiddle);
    return;
  }
  const [x, y, h] = [left + room + 22, TOP + 18, 132];
  pen.raster(x, y, 12, h, steps, 1, (i) => 1 - (i + 0.5) / steps, diverging);
  [1, 0, -1].forEach((v, i) => {
    pen.text(x + 18, y + (h * i) / 2 + 4, fmt(v, 0), note);
  });
  if (!matrix) return;
  pen.rect(x, y + h + 18, 12, 12, { stroke: ink.muted, width: 1 });
  pen.text(x - 2, y + h + 46, phrase`blank:`, note);
  pen.text(x - 2, y + h + 61, phrase`always`, note);
  pen.text(x - 2, y + h + 76, phrase`zero`, note);
}

/** Every cell of a small matrix by its name. @returns {Record<string, Box>} */
function cellsOf({ head_dim: d }, { left, side, cell: h }) {
  if (d > 8) return {};
  const w = side / d;
  const cells = range(0, d * d - 1).map((n) => [Math.floor(n / d), n % d]);
  const box = (r, c) => ({ x: left + c * w, y: TOP + r * h, w, h });
  return Object.fromEntries(cells.map(([r, c]) => [`row ${r}, column ${c}`, box(r, c)]));
}

/** A factor as it stands in a sum: brackets around what is negative. */
const factor = (value) => (fmt(value).startsWith("−") ? `(${fmt(value)})` : fmt(value));

/** The chosen row in symbols and in numbers. */
function rowWords({ x, matrix, out, j, partner, pairOf, second, angles }) {
  const [p, angle] = [partner[j], fmt(angles[pairOf[j]])];
  const sine = second[j] ? "+" : "−";
  const across = matrix[j][p] * (second[j] ? 1 : -1); // the sine itself
  return {
    symbols: [`x′[${j}] = cos ${angle} · x[${j}]`, `${sine} sin ${angle} · x[${p}]`],
    numbers: [`= ${fmt(matrix[j][j])}·${factor(x[j])} ${sine} ${factor(across)}·${factor(x[p])}`, `= ${fmt(out[j])}`],
  };
}

/** How many multiplications each form makes, drawn to scale. */
function drawCount(pen, { head_dim: d, form }, y, width) {
  const full = width - 8;
  const bars = [
    { name: "matrix", words: phrase`matrix: ${d * d} (${d * d - 2 * d} by zero)`, count: d * d },
    { name: "elementwise", words: phrase`elementwise: ${2 * d}`, count: 2 * d },
  ];
  pen.text(4, y, phrase`Multiplications for all rows`, { weight: 600 });
  bars.forEach(({ name, words, count }, i) => {
    const top = y + 12 + i * 42;
    const chosen = name === form;
    if (name === "matrix") pen.rect(4, top, full, 14, { fill: ink.grid });
    pen.rect(4, top, (full * 2) / d, 14, { fill: chosen ? ink.text : ink.muted });
    pen.rect(4, top, (full * count) / (d * d), 14, { stroke: chosen ? ink.text : ink.muted, width: 1.5 });
    pen.text(4, top + 29, words, { size: 13, weight: chosen ? 600 : 400, fill: chosen ? ink.text : ink.muted });
  });
}

/** Where the columns of the elementwise form stand: how wide, how far apart, and the left edge of each. */
function columnsOf({ left, room, narrow }) {
  const gap = narrow ? 12 : 24;
  const wide = Math.min(84, (room - 4 * gap) / 5);
  return { wide, step: wide + gap, edges: range(0, 4).map((i) => left + i * (wide + gap)) };
}

/**
 * Between the two forms: each row's cosine and sine leave the matrix and become columns, x and x′ make room for them, and
 * the partner's features come out of x. share: from the matrix, 0, to the columns, 1.
 */
function drawBetween(pen, state, at, place, share) {
  const { left, side, column, cell: h, narrow } = place;
  const { x, matrix, out, partner, second } = at;
  const { wide, edges } = columnsOf(place);
  const d = state.head_dim;
  const to = (from, end) => from + (end - from) * share;
  const inMatrix = (c) => left + (c * side) / d;
  const gap = narrow ? 6 : 14;
  const [xs, results] = [left + side + gap, left + side + gap + column + (narrow ? 20 : 30)];
  const sign = (r) => (second[r] ? 1 : -1);
  for (const r of range(0, d - 1)) {
    const y = TOP + r * h;
    const w = to(side / d, wide);
    cell(pen, matrix[r][r], to(inMatrix(r), edges[1]), y, w, h);
    cell(pen, matrix[r][partner[r]] * (share > 0.5 ? sign(r) : 1), to(inMatrix(partner[r]), edges[3]), y, w, h);
    cell(pen, sign(r) * x[partner[r]], to(xs, edges[2]), to(TOP + partner[r] * h, y), to(column, wide), h);
    cell(pen, x[r], to(xs, edges[0]), y, to(column, wide), h);
    cell(pen, out[r], to(results, edges[4]), y, to(column, wide), h);
  }
}

function draw(pen, state, /** @type {any} */ { width, way }) {
  const at = rotated(state);
  const place = grid(width, state);
  const { left, column, side, narrow, height: tall } = place;
  const { x, matrix, out, j, partner, second } = at;
  const middle = TOP + tall / 2 + 5;
  const sign = (px, words) => pen.text(px, middle, words, { anchor: "middle", size: narrow ? 14 : 17 });
  let marks = {};
  pen.part(() => drawRows(pen, state, place, j));
  if (way && way.from.form !== state.form) {
    drawBetween(pen, state, at, place, place.matrix ? 1 - way.share : way.share);
  } else if (place.matrix) {
    const gap = narrow ? 6 : 14;
    drawMatrix(pen, state, at, place);
    drawColumn(pen, x, "x", left + side + gap, place, [j, partner[j]]);
    const end = left + side + gap + column + (narrow ? 20 : 30);
    sign(end - (narrow ? 10 : 15), "=");
    drawColumn(pen, out, "x′", end, place, [j]);
    marks = cellsOf(state, place);
  } else {
    const { wide, step } = columnsOf(place);
    const parts = [
      [x, "x", "⊙"],
      [x.map((_, r) => matrix[r][r]), "cos", "+"],
      [x.map((_, r) => (second[r] ? x[partner[r]] : -x[partner[r]])), narrow ? "x, 90°" : phrase`x turned 90°`, "⊙"],
      [x.map((_, r) => matrix[r][partner[r]] * (second[r] ? 1 : -1)), "sin", "="],
      [out, "x′", ""],
    ];
    parts.forEach(([values, heading, after], i) => {
      drawColumn(pen, values, heading, left + i * step, { ...place, column: wide }, [j]);
      if (after) sign(left + i * step + wide + (step - wide) / 2, after);
    });
  }
  drawLegend(pen, place, width);
  const y = TOP + tall + (narrow ? 84 : 32);
  const words = rowWords(at);
  const products = place.matrix
    ? phrase`Row ${j}: ${state.head_dim} products, ${state.head_dim - 2} by zero`
    : phrase`Row ${j}: two products`;
  pen.text(4, y, products, { weight: 600 });
  const parts = [words.symbols, words.numbers];
  const lines = narrow ? parts.flat() : parts.map((part) => part.join(" "));
  for (const [i, line] of lines.entries()) pen.text(narrow && i === 1 ? 44 : 4, y + 20 * (i + 1), line);
  drawCount(pen, state, y + 20 * lines.length + 36, width);
  return { marks };
}

function readout(state) {
  const { position, form } = state;
  const { x, j, partner, pairOf, angles } = rotated(state);
  const [first, second] = [j, partner[j]].sort((a, b) => a - b);
  const angle = angles[pairOf[j]];
  const decimals = angle === 0 || angle >= 0.1 ? 2 : 5;
  const turned = phrase`Row ${j} belongs to pair ${pairOf[j]} (features ${first} and ${second}), which has turned by
    ${fmt(angle, decimals)} rad, ${fmt(turnsOf(angle), decimals)} turns; its length is still
    ${fmt(length([x[first], x[second]]))}.`;
  if (form === "matrix")
    return phrase`${turned} In a head of width 128, 126 of the 128 products of each row would be by zero.`;
  return phrase`${turned} cos and sin do not depend on x: computed once, they serve every vector at position ${position}.`;
}

export default live({
  name: "BlockMatrix",
  title: phrase`The rotation matrix of a head, mostly zeros, and the two columns that code keeps of it`,
  height,
  draw,
  readout,
  time: 1200,
  play: { trait: "position", perSecond: 4, speeds: [1, 4] },
});
