import { diverging, ink, note, noteEnd, noteMiddle, onShade, shade, signedPlace } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { frame } from "../lib/heatmap.js";
import { brief, fmt, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { textWidth } from "../lib/words.js";
import { length } from "../maths/complex.js";
import { invFreq, ropeAngles, turnsOf } from "../maths/frequencies.js";
import { pairFeatures } from "../maths/layouts.js";
import { applyRope, rotationMatrix } from "../maths/rotary.js";

// The vector to rotate. No pair of features has a norm above 1, so that one colour scale fits all cells.
const FEATURES = [
  0.7, 0.2, 0.5, -0.6, -0.3, 0.7, 0.6, 0.4, -0.7, 0.1, 0.3, 0.6, -0.5, -0.4, 0.7, -0.2, 0.1, -0.7, 0.4, 0.5, 0.6, -0.1,
  -0.6, 0.3, 0.2, 0.7, -0.4, -0.7, 0.5, 0.1, -0.2, 0.6,
];
const TOP = 26; // space above the cells, for the headings
const FRAME = { stroke: ink.text, width: 3 };
const BELOW = 140; // space below the cells for the sum of the selected row and the multiplication count

/**
 * Compute all numbers that a state shows: x, R, the rotated vector, and each row's pair, angle and partner. The
 * columns of the elementwise form are the cosine, the sine, and x with partners swapped and one of each pair
 * negated.
 */
function rotated({ position, head_dim, base, pairing, row: j }) {
  const x = FEATURES.slice(0, head_dim);
  const angles = ropeAngles(position, invFreq(head_dim, base));
  const matrix = rotationMatrix(angles, pairing);
  const rows = Array(head_dim);
  angles.forEach((angle, pair) => {
    const [a, b] = pairFeatures(pair, angles.length, pairing);
    rows[a] = { pair, angle, partner: b, sign: -1 };
    rows[b] = { pair, angle, partner: a, sign: 1 };
  });
  const columns = {
    cos: rows.map((_, r) => matrix[r][r]),
    turned: rows.map(({ partner, sign }) => sign * x[partner]),
    sin: rows.map(({ partner, sign }, r) => sign * matrix[r][partner]),
  };
  return { d: head_dim, x, matrix, out: applyRope(x, angles, pairing), j, rows, ...columns, followed: rows[j] };
}

/** Lay out the cells: the square matrix, x and the result at `ends`, and five columns of the same height at
 * `edges`. */
function grid(width, { head_dim, form }) {
  const left = 22;
  const narrow = width < 430;
  const column = narrow ? 44 : 48;
  const room = width - left - (narrow ? 0 : 62); // 62 pixels are for the legend
  const side = Math.min(288, room - 2 * column - (narrow ? 28 : 52));
  const first = left + side + (narrow ? 11 : 20);
  const ends = [first, first + column + (narrow ? 17 : 30)];
  const gap = narrow ? 12 : 24;
  const wide = Math.min(84, (room - 4 * gap) / 5);
  const edges = range(0, 4).map((i) => left + i * (wide + gap));
  const cell = side / head_dim;
  return { left, narrow, column, room, side, cell, ends, gap, wide, edges, isMatrix: form === "matrix" };
}

const height = (width, state) => {
  const { side, narrow } = grid(width, state);
  return TOP + side + BELOW + (narrow ? 110 : 0);
};

const FORMS = [fmt, (value) => brief(value, 2), (value) => brief(value, 1)];

/** The longest of these forms in which also a negative number fits a cell. */
const formFor = (w, h) => (h < 15 ? undefined : FORMS.find((form) => textWidth(form(-0.99), 12) + 6 <= w));

/** Draw a coloured cell, with its value as a number if there is room. */
function cell(pen, value, x, y, w, h) {
  const place = signedPlace(value);
  pen.rect(x, y, w, h, { fill: shade(place, diverging), stroke: ink.grid, width: 0.5 });
  const words = formFor(w, h)?.(value);
  if (!words) return;
  pen.text(x + w / 2, y + h / 2 + 4.5, words, { fill: onShade(place, diverging), size: 12, anchor: "middle" });
}

/** Draw a column of cells with a heading and a frame around each `marked` row. */
function drawColumn(pen, values, heading, x, w, h, marked) {
  pen.text(x + w / 2, TOP - 12, heading, { anchor: "middle", weight: 600 });
  for (const [r, value] of values.entries()) cell(pen, value, x, TOP + r * h, w, h);
  for (const r of marked) frame(pen, x, TOP + r * h, w, h, FRAME);
}

/** Draw R, leaving cells that are always zero blank. */
function drawMatrix(pen, { d, matrix, rows, j }, pairing, { left, side, cell: w }) {
  pen.text(left + side / 2, TOP - 12, `R, ${d} × ${d}`, { anchor: "middle", weight: 600 });
  const across = range(0, d).map((i) => [left, TOP + i * w, left + side, TOP + i * w]);
  const down = range(0, d).map((i) => [left + i * w, TOP, left + i * w, TOP + side]);
  pen.lines([...across, ...down], { stroke: ink.grid, width: 1 });
  for (const [r, { partner }] of rows.entries()) {
    for (const c of [r, partner]) cell(pen, matrix[r][c], left + c * w, TOP + r * w, w, w);
  }
  if (pairing === "interleaved") {
    const blocks = range(0, d - 1, 2).map((i) => [left + i * w, TOP + i * w, 2 * w, 2 * w]);
    pen.rects(blocks, { stroke: ink.muted, width: 1.5 });
  }
  frame(pen, left, TOP + j * w, side, w, FRAME);
}

/** Draw the matrix form, R times x. */
function drawProduct(pen, at, pairing, place) {
  const { x, out, j, followed } = at;
  const { column, cell: h, left, side, ends, narrow } = place;
  drawMatrix(pen, at, pairing, place);
  drawSign(pen, "×", (left + side + ends[0]) / 2, place);
  drawColumn(pen, x, "x", ends[0], column, h, [j, followed.partner]);
  drawSign(pen, "=", ends[1] - (narrow ? 8 : 15), place);
  drawColumn(pen, out, "x′", ends[1], column, h, [j]);
}

/** Draw the elementwise form, with five columns and the operators between them. */
function drawColumns(pen, { x, cos, turned, sin, out, j }, place) {
  const { edges, wide, gap, cell: h, narrow } = place;
  const columns = [
    [x, "x", "⊙"],
    [cos, "cos", "+"],
    [turned, narrow ? "x, 90°" : phrase`x turned 90°`, "⊙"],
    [sin, "sin", "="],
    [out, "x′", ""],
  ];
  columns.forEach(([values, heading, sign], i) => {
    drawColumn(pen, values, heading, edges[i], wide, h, [j]);
    if (sign) drawSign(pen, sign, edges[i] + wide + gap / 2, place);
  });
}

function drawSign(pen, sign, x, { side, narrow }) {
  pen.text(x, TOP + side / 2 + 5, sign, { anchor: "middle", size: narrow ? 14 : 17 });
}

/**
 * Animate between the two forms: each row's cosine and sine move from the matrix to their columns, x and x′ move
 * aside, and the partner features emerge from x. `share` is 0 for the matrix and 1 for the columns.
 */
function drawBetween(pen, { x, cos, turned, sin, out, rows }, { left, column, cell: w, ends, wide, edges }, share) {
  const to = (from, end) => from + (end - from) * share;
  const [inMatrix, inColumn] = [to(w, wide), to(column, wide)];
  for (const [r, { partner, sign }] of rows.entries()) {
    const y = TOP + r * w;
    cell(pen, cos[r], to(left + r * w, edges[1]), y, inMatrix, w);
    cell(pen, sin[r] * (share > 0.5 ? 1 : sign), to(left + partner * w, edges[3]), y, inMatrix, w);
    cell(pen, turned[r], to(ends[0], edges[2]), to(TOP + partner * w, y), inColumn, w);
    cell(pen, x[r], to(ends[0], edges[0]), y, inColumn, w);
    cell(pen, out[r], to(ends[1], edges[4]), y, inColumn, w);
  }
}

/** Write as many row numbers as fit. */
function drawRows(pen, { d, j }, { left, cell: h }) {
  const every = h >= 14 ? 1 : h >= 7 ? 4 : 8;
  for (const r of range(0, d - 1)) {
    const chosen = r === j;
    if (!chosen && (r % every || (every > 1 && Math.abs(r - j) * h < 13))) continue;
    const style = chosen ? { weight: 700 } : { fill: ink.muted };
    pen.text(left - 5, TOP + (r + 0.5) * h + 4, r, { anchor: "end", size: 12, ...style });
  }
}

function drawLegend(pen, { left, narrow, side, room, isMatrix }, width) {
  const steps = 24;
  if (narrow) {
    const [x, y, w] = [left + 26, TOP + side + 18, Math.min(150, width - left - 60)];
    pen.raster(x, y, w, 10, 1, steps, (_, i) => (i + 0.5) / steps, diverging);
    pen.text(x - 6, y + 10, "−1", noteEnd);
    pen.text(x + w + 6, y + 10, "1", note);
    pen.text(x + w / 2, y + 26, isMatrix ? phrase`0; blank: always 0` : "0", noteMiddle);
    return;
  }
  const [x, y, h] = [left + room + 22, TOP + 18, 132];
  pen.raster(x, y, 12, h, steps, 1, (i) => 1 - (i + 0.5) / steps, diverging);
  for (const v of [1, 0, -1]) pen.text(x + 18, y + (h * (1 - v)) / 2 + 4, fmt(v, 0), note);
  if (!isMatrix) return;
  pen.rect(x, y + h + 18, 12, 12, { stroke: ink.muted, width: 1 });
  const words = [phrase`blank:`, phrase`always`, phrase`zero`];
  for (const [i, word] of words.entries()) pen.text(x - 2, y + h + 46 + 15 * i, word, note);
}

/** All cells of a small matrix, by name. @returns {Record<string, Box>} */
function cellsOf({ d }, { left, cell }) {
  if (d > 8) return {};
  const cells = range(0, d * d - 1).map((n) => [Math.floor(n / d), n % d]);
  const box = (r, c) => ({ x: left + c * cell, y: TOP + r * cell, w: cell, h: cell });
  return Object.fromEntries(cells.map(([r, c]) => [`row ${r}, column ${c}`, box(r, c)]));
}

/** A factor formatted for a sum, in parentheses if negative. */
const factor = (value) => (fmt(value).startsWith("−") ? `(${fmt(value)})` : fmt(value));

/** Write the selected row in symbols and in numbers, and count its products. Returns the y of the last line. */
function drawRow(pen, { d, x, out, j, cos, sin, followed }, { isMatrix, narrow }, y) {
  const { partner: p, sign } = followed;
  const [angle, between] = [fmt(followed.angle), sign > 0 ? "+" : "−"];
  const parts = [
    [`x′[${j}] = cos ${angle} · x[${j}]`, `${between} sin ${angle} · x[${p}]`],
    [`= ${fmt(cos[j])}·${factor(x[j])} ${between} ${factor(sin[j])}·${factor(x[p])}`, `= ${fmt(out[j])}`],
  ];
  const products = isMatrix ? phrase`Row ${j}: ${d} products, ${d - 2} by zero` : phrase`Row ${j}: two products`;
  pen.text(4, y, products, { weight: 600 });
  const lines = narrow ? parts.flat() : parts.map((part) => part.join(" "));
  for (const [i, line] of lines.entries()) pen.text(narrow && i === 1 ? 44 : 4, y + 20 * (i + 1), line);
  return y + 20 * lines.length;
}

/** Draw a bar for the matrix form's multiplications. Its dark part is the elementwise form's share; the pale rest
 * multiplies by zero. */
function drawCount(pen, { head_dim: d, form }, { narrow }, y, width) {
  const full = width - 8;
  const style = (name) => (name === form ? { weight: 600 } : { fill: ink.muted });
  pen.text(4, y, phrase`Multiplications for all rows`, { weight: 600 });
  pen.rect(4, y + 9, full, 14, { fill: ink.grid, stroke: ink.muted, width: 1.5 });
  pen.rect(4, y + 9, (full * 2) / d, 14, { fill: ink.text });
  pen.text(4, y + 39, phrase`elementwise: ${2 * d}`, style("elementwise"));
  const words = phrase`matrix: ${d * d} (${d * d - 2 * d} by zero)`;
  pen.text(4 + full, y + (narrow ? 57 : 39), words, { ...style("matrix"), anchor: "end" });
}

function draw(pen, state, /** @type {any} */ { width, way }) {
  const at = rotated(state);
  const place = grid(width, state);
  const { isMatrix, narrow } = place;
  const isBetween = way && way.from.form !== state.form;
  pen.part(() => drawRows(pen, at, place));
  if (isBetween) drawBetween(pen, at, place, isMatrix ? 1 - way.share : way.share);
  else if (isMatrix) drawProduct(pen, at, state.pairing, place);
  else drawColumns(pen, at, place);
  drawLegend(pen, place, width);
  const end = drawRow(pen, at, place, TOP + place.side + (narrow ? 76 : 26));
  drawCount(pen, state, place, end + 30, width);
  return { marks: isMatrix && !isBetween ? cellsOf(at, place) : {} };
}

function readout(state) {
  const { j, x, followed } = rotated(state);
  const { pair, angle, partner } = followed;
  const [first, second] = [Math.min(j, partner), Math.max(j, partner)];
  const decimals = angle === 0 || angle >= 0.1 ? 2 : 5;
  const turned = phrase`Row ${j} belongs to pair ${pair} (features ${first} and ${second}), which has turned by
    ${fmt(angle, decimals)} rad, ${fmt(turnsOf(angle), decimals)} turns; its length is still
    ${fmt(length([x[first], x[second]]))}.`;
  if (state.form === "matrix")
    return phrase`${turned} In a head of width 128, 126 of the 128 products of each row would be by zero.`;
  return phrase`${turned} cos and sin do not depend on x: computed once, they serve every vector at position ${state.position}.`;
}

const results = (state) => ({ angle: rotated(state).followed.angle });

export default live({
  name: "BlockMatrix",
  title: phrase`The rotation matrix of a head, mostly zeros, and the two columns that code keeps of it`,
  height,
  draw,
  readout,
  results,
  time: 1200,
  play: { trait: "position", perSecond: 4, speeds: [1, 4] },
});
