import { diverging, ink, noteEnd, noteMiddle, signedPlace } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { colourScale, frame } from "../lib/heatmap.js";
import { memo } from "../lib/memo.js";
import { clamp, fmt, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { arrowPlace, gridCoordinates, patchScores, schemeFrequencies } from "../maths/spatial.js";

const SIDE = 21; // patches along a side
const PLACES = gridCoordinates(SIDE, SIDE);
const STEP = 5; // distance used in the readout, in patches

// click targets for questions, relative to the query: [rows down, columns to the right]
/** @type {Record<string, Pair>} */
const NEAR = {
  "5 to the right": [0, STEP],
  "8 to the right": [0, 8],
  "5 down": [STEP, 0],
  "5 to the right and 5 down": [STEP, STEP],
};

/** The frequencies along the height and along the width for a state, and the score of each patch. */
const seen = memo(({ scheme, row, column, head_dim, base, direction }) => {
  const [byHeight, byWidth] = schemeFrequencies(scheme, head_dim, base, direction);
  return { byHeight, byWidth, scores: patchScores([row, column], PLACES, [byHeight, byWidth]) };
});

/** Lay out the patches and the colour scale, with the pairs beside or below them. */
function places(width) {
  const narrow = width < 520;
  const side = Math.min(380, narrow ? width - 44 : Math.round(width * 0.56));
  const scaleTop = side + 66;
  const radius = narrow ? 74 : clamp((width - side - 90) / 2, 60, 120);
  const [cx, cy] = narrow ? [width / 2, scaleTop + 104 + radius] : [width - radius - 26, 62 + radius];
  return { x: 38, y: 26, side, scaleTop, cx, cy, radius, height: Math.max(scaleTop + 46, cy + radius + 78) };
}

// The picture behind the patches, as SVG points in units of its side length.
const HILLS = "0,0.66 0.14,0.57 0.3,0.6 0.46,0.5 0.62,0.56 0.8,0.48 1,0.58";
const HOUSE = "0.1,0.86 0.1,0.68 0.21,0.57 0.32,0.68 0.32,0.86 0.1,0.86";
const DOOR = "0.18,0.86 0.18,0.76 0.24,0.76 0.24,0.86";
const TRUNK = "0.76,0.88 0.76,0.74";
const [SUN, CROWN] = ["0.8,0.19", "0.76,0.65"]; // centres of the circles

/** Draw the picture's outlines over the coloured patches. */
function drawPicture(pen, { x, y, side }) {
  const style = { stroke: ink.text, width: 2, opacity: 0.55 };
  const place = ([a, b]) => /** @type {Pair} */ ([x + a * side, y + b * side]);
  const points = (text) => text.split(" ").map((pair) => place(pair.split(",").map(Number)));
  for (const stroke of [HILLS, HOUSE, DOOR, TRUNK]) pen.curve(points(stroke), style);
  pen.circle(...points(SUN)[0], 0.08 * side, style);
  pen.circle(...points(CROWN)[0], 0.09 * side, style);
}

/** Draw each patch in the colour of its score, with a frame around the query. */
function drawPatches(pen, { row, column }, scores, { x, y, side }) {
  const cell = side / SIDE;
  pen.text(x, y - 10, side < 260 ? phrase`Score with every patch` : phrase`Score with every patch of a picture`);
  pen.raster(x, y, side, side, SIDE, SIDE, (down, across) => signedPlace(scores[down * SIDE + across]), diverging);
  for (const n of range(0, SIDE - 1, 5)) {
    pen.text(x + (n + 0.5) * cell, y + side + 15, n, noteMiddle);
    pen.text(x - 6, y + (n + 0.5) * cell + 4, n, noteEnd);
  }
  pen.text(x + side / 2, y + side + 31, phrase`column (patches)`, { anchor: "middle" });
  pen.text(11, y + side / 2, phrase`row (patches)`, { anchor: "middle", turn: -90 });
  drawPicture(pen, { x, y, side });
  const [left, top] = [x + column * cell, y + row * cell];
  frame(pen, left - 1, top - 1, cell + 2, cell + 2, { stroke: ink.q, width: 2.5 });
  const [across, down] = [left + cell / 2, top + cell / 2];
  const atRow = [x - 4, down, x, down];
  pen.lines([atRow, [across, y + side, across, y + side + 4]], { stroke: ink.q, width: 3 });
  const index = (at, start) => clamp(Math.floor((at - start) / cell), 0, SIDE - 1);
  const at = (px, py) => ({ row: index(py, y), column: index(px, x) });
  const wide = cell + 4;
  const around = ([rows, columns]) => ({ x: left + columns * cell - 2, y: top + rows * cell - 2, w: wide, h: wide });
  const marks = Object.fromEntries(Object.entries(NEAR).map(([name, by]) => [name, around(by)]));
  const query = { x: across, y: down, at, several: true, box: [cell + 8, cell + 8] };
  return { query, marks, taps: { patch: { x, y, w: side, h: side, at } } };
}

/** Draw one spoke per pair, which shows the pair's speed and the direction in which it turns fastest. */
function drawPairs(pen, { byHeight, byWidth }, base, { cx, cy, radius }) {
  pen.text(cx, cy - radius - 38, phrase`Each pair turns by`, { anchor: "middle" });
  pen.circle(cx, cy, radius, { stroke: ink.grid, width: 1 });
  const ends = byHeight.map((frequency, i) => {
    const [dx, dy] = arrowPlace(frequency, byWidth[i], base);
    return [cx + dx * radius, cy + dy * radius];
  });
  const spokes = ends.map(([x, y]) => [cx, cy, x, y]);
  pen.lines(spokes, { stroke: ink.position, width: 1.2 });
  const tips = ends.map(([x, y]) => [x, y, 3]);
  pen.circles(tips, { fill: ink.position });
  pen.text(cx, cy + radius + 20, phrase`height ↓`, noteMiddle);
  pen.text(cx, cy - radius - 18, phrase`width →`, noteMiddle);
  pen.text(cx, cy + radius + 44, phrase`rim: 1 radian per patch`, noteMiddle);
  pen.text(cx, cy + radius + 61, phrase`inwards: slower`, noteMiddle);
}

function draw(pen, state, { width }) {
  const [field, layout] = [seen(state), places(width)];
  const handles = drawPatches(pen, state, field.scores, layout);
  const scale = { x: layout.x, y: layout.scaleTop, w: layout.side };
  colourScale(pen, scale, ["−1", "0", phrase`1 (own)`], diverging);
  drawPairs(pen, field, state.base, layout);
  return handles;
}

/** The scores of patches at distance `STEP`, to the side where there is more room. */
function results(state) {
  const { row, column } = state;
  const { scores } = seen(state);
  const [down, right] = [row, column].map((at) => (at + STEP < SIDE ? STEP : -STEP));
  const score = (dy, dx) => scores[(row + dy) * SIDE + column + dx];
  return { in_row: score(0, right), in_column: score(down, 0), in_both: score(down, right) };
}

function readout(state) {
  const { scheme, direction, row, column } = state;
  const said = {
    axial: phrase`Half of the pairs turn by height and half by width: the field is a cross along row and column`,
    mixed: phrase`The pairs turn along ${direction}° and across it: the cross is turned as far`,
    contiguous: phrase`Height has the fast pairs and width the slow ones: the field is a band along the row`,
    interleaved: phrase`Fast and slow pairs are dealt in turn: a cross, height a step faster than width`,
  }[scheme];
  const [across, along, both] = Object.values(results(state)).map((score) => fmt(score, 2));
  return phrase`${said}. Seen from row ${row}, column ${column}, the patch ${STEP} away in its row scores
    ${across} of what it scores itself, ${STEP} away in its column ${along}, and ${STEP} away in both ${both}.`;
}

export default live({
  name: "PatchScores",
  title: phrase`How one patch of an image scores all others, and by which coordinates the pairs turn`,
  height: (width) => places(width).height,
  draw,
  readout,
  results,
  smooth: ["row", "column"],
  unfolds: true,
});
