import { axes } from "../lib/axes.js";
import { ink, note, noteMiddle } from "../lib/colour.js";
import { boxAround, hands, inRows, rims, wedges } from "../lib/faces.js";
import { live } from "../lib/figure.js";
import { polar } from "../lib/geometry.js";
import { centred } from "../lib/labels.js";
import { SEEN } from "../lib/marks.js";
import { clamp, decade, fmt, powerOf, range, significant, sorted } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { planeOf, sector } from "../lib/shapes.js";
import { counted } from "../lib/words.js";
import { invFreq, ropeAngles, TURN, turnsOf, withinTurn } from "../maths/frequencies.js";
import { positionTowards } from "../maths/pair_angle.js";

const MOST = 16; // maximum number of clocks in the upper rows
const TURNS = 50; // space at the right of the chart, for the numbers of turns
const stacked = (width) => width < 560;

/** Lay out the rows of clocks, the selected clock, and the chart of its angle. */
function parts(width) {
  const narrow = stacked(width);
  const columns = narrow ? MOST / 2 : MOST;
  const cell = (width - 4) / columns;
  const clocks = { x: 2, y: 22, columns, cell, row: cell + 14, r: cell / 2 - 4 };
  const top = 26 + (MOST / columns) * clocks.row;
  const big = narrow ? { x: 4, y: top + 24, w: width - 8, h: 170 } : { x: 4, y: top + 34, w: width * 0.32, h: 226 };
  const chart = narrow
    ? { x: 58, y: big.y + big.h + 42, w: width - 58 - TURNS, h: 200 }
    : { x: big.x + big.w + 64, y: top + 40, w: width - big.x - big.w - 64 - TURNS, h: 206 };
  const height = chart.y + chart.h + 42;
  return { clocks, big, chart, height, lead: narrow ? big.y + big.h : height };
}

/** The pairs whose clocks to draw: all of them, or an evenly spaced subset that includes the selected pair. */
function shownOf(pairs, chosen) {
  if (pairs <= MOST) return range(0, pairs - 1);
  const spread = range(0, MOST - 1).map((j) => Math.round((j * (pairs - 1)) / (MOST - 1)));
  const nearest = sorted(spread.map((i) => Math.abs(i - chosen)))[0];
  return sorted(spread.map((i) => (Math.abs(i - chosen) === nearest ? chosen : i)));
}

/** Draw the clocks in rows and return their tap targets. Clicking a clock selects its pair. */
function drawClocks(pen, { pair, position }, frequencies, rows, width) {
  const long = phrase`Press a clock to unroll it: its angle against the position is below.`;
  pen.text(2, 14, stacked(width) ? phrase`Press a clock to unroll it.` : long);
  const angles = ropeAngles(position, frequencies);
  const clocks = shownOf(frequencies.length, pair).map((i) => ({ i, angle: withinTurn(angles[i]) }));
  const faces = inRows(clocks, rows);
  pen.areas(wedges(faces, "angle"), SEEN);
  pen.circles(rims(faces), { stroke: ink.muted, width: 1 });
  const chosen = faces.filter(({ i }) => i === pair);
  pen.circles(rims(chosen), { stroke: ink.position, width: 3 });
  pen.lines(hands(faces, 2), { stroke: ink.text, width: 2 });
  pen.part(() => {
    for (const { i, cx, cy, r } of faces) {
      const style = i === pair ? { fill: ink.positionWords, weight: 700 } : {};
      pen.text(cx, cy + r + 14, i, { ...noteMiddle, ...style });
    }
  });
  const tap = (face) => ({ ...boxAround(face, 3, 16), set: { pair: face.i } });
  return { taps: Object.fromEntries(faces.map((face) => [face.i, tap(face)])) };
}

/** Draw the selected clock, with a spiral that shows all its turns. */
function drawBig(pen, { pair, position, n }, frequency, { x, y, w, h }) {
  const r = Math.min(w, h - 34) / 2 - 6;
  const [cx, cy] = [x + w / 2, y + r + 6];
  const { back } = planeOf(cx, cy, r);
  const angle = position * frequency;
  const turns = turnsOf(angle);
  pen.circle(cx, cy, r, { stroke: ink.grid, width: 1 });
  pen.area(sector(cx, cy, r * 0.3, 0, withinTurn(angle), 24), SEEN);
  const inwards = Math.min(0.09 * turns, 0.62) * r;
  const steps = Math.max(24, Math.ceil(turns * 40));
  const thread = range(0, steps).map((i) => polar(cx, cy, (angle * i) / steps, r - inwards * (1 - i / steps)));
  pen.curve(thread, { stroke: ink.position, width: 3 });
  const tip = polar(cx, cy, angle, r);
  pen.line(cx, cy, ...tip, { stroke: ink.text, width: 3 });
  pen.circle(...tip, 5.5, { fill: ink.position, stroke: ink.text, width: 1.5 });
  const whole = Math.floor(turns);
  const words = whole
    ? phrase`pair ${pair}: ${counted(whole, "turn")} and ${fmt(withinTurn(angle))} rad`
    : phrase`pair ${pair}: ${fmt(withinTurn(angle))} rad`;
  const middle = centred(cx, words, 2, x + w + 30, { bold: true });
  pen.text(middle, cy + r + 26, words, { anchor: "middle", weight: 600, fill: ink.positionWords });
  const towards = (px, py) => positionTowards([1, 0], position, frequency, back(px, py), n);
  return { hand: { trait: "position", x: tip[0], y: tip[1], at: towards } };
}

/**
 * The vertical axis in the given mode, the same for all clocks, with a function `place` that maps an angle to a position on the axis.
 * @returns {{place: (angle: number) => number, ys: Pair, yTicks?: number[], yFormat: (t: number) => string, yLabel: string}}
 */
function scale(axis, frequencies, n) {
  if (axis === "turn") {
    const words = (t) => ["0", "½π", "π", "1½π", "2π"][Math.round(turnsOf(t) * 4)];
    const yTicks = range(0, 4).map((t) => (t * TURN) / 4);
    return { place: withinTurn, ys: [0, TURN], yTicks, yFormat: words, yLabel: phrase`Angle within one turn (rad)` };
  }
  if (axis === "linear") {
    const end = n * frequencies[0] * 1.04; // the fastest clock's
    return { place: (a) => a, ys: [0, end], yFormat: String, yLabel: phrase`Angle m·θ, unrolled (rad)` };
  }
  const [low, high] = [Math.floor(powerOf(frequencies.at(-1)) + 1e-9), powerOf(n * 1.5)];
  const yTicks = range(low, Math.floor(high), Math.ceil((high - low) / 6));
  const yFormat = (power) => decade(power);
  return { place: powerOf, ys: [low, high], yTicks, yFormat, yLabel: phrase`Angle m·θ (rad, logarithmic)` };
}

/** The current vertical axis, and whether the line breaks after each turn. */
function scaleNow({ pair, axis, n }, frequencies, way) {
  const whole = scale(axis, frequencies, n);
  const wasRolled = way?.from.axis === "turn";
  const rises = axis === "linear" && way?.share < 1 && (wasRolled || way.from.pair !== pair);
  if (!rises) return { ...whole, broken: axis === "turn" };
  // while animating from "turn" or from another clock, raise each turn into position
  const rolled = scale("turn", frequencies, n);
  const between = (from, to) => from + (to - from) * way.share;
  const place = (angle) => between(rolled.place(angle), whole.place(angle));
  const ys = /** @type {Pair} */ ([0, wasRolled ? between(rolled.ys[1], whole.ys[1]) : whole.ys[1]]);
  return { ...whole, ys, place, broken: true };
}

/** Sample the positions of a line, in one run per turn if the line breaks after each turn and in a single run
 * otherwise.
 */
function runsOf(frequency, broken, log, from, to) {
  const steps = broken ? Math.ceil((to - from) * 4) : log ? 60 : 1;
  const runs = [];
  for (const i of range(0, steps)) {
    const m = from + ((to - from) * i) / steps;
    const turn = broken ? Math.floor(turnsOf(m * frequency)) : 0;
    runs[turn] ??= [];
    runs[turn].push(m);
  }
  return runs.filter((run) => run.length > 1);
}

/** Draw horizontal lines at whole turns, numbered at their right ends. */
function drawTurns(pen, turns, { x, w }, Y) {
  const levels = turns.map((t) => [x, Y(t * TURN), x + w, Y(t * TURN)]);
  pen.lines(levels, { stroke: ink.position, width: 1, dash: "2 6" });
  const style = { ...note, fill: ink.positionWords };
  pen.part(() => {
    for (const t of turns) pen.text(x + w + 6, Y(t * TURN) + 4, t === 1 ? counted(1, "turn") : t, style);
  });
}

/** Plot the selected pair's angle, in bold up to the current position, with faint lines for the other clocks. */
function drawChart(pen, state, frequencies, box, { width, way }) {
  const { pair, position, axis, n } = state;
  const { place, broken, ys, ...vertical } = scaleNow(state, frequencies, way);
  const log = axis === "log";
  /** @type {Pair} */
  const xs = log ? [1, Math.max(2, n)] : [0, n];
  const { X, Y, at } = axes(pen, box, xs, ys, {
    ...vertical,
    xLabel: log ? phrase`position m (tokens, logarithmic)` : phrase`position m (tokens)`,
    xLog: log,
    xTicks: log ? [1, 2, 4, 8, 16, 32, 64].filter((m) => m <= xs[1]) : undefined,
  });
  const lines = (of, end) => runsOf(of, broken, log, xs[0], end).map((run) => run.map((m) => [X(m), Y(place(m * of))]));
  const others = broken ? [] : shownOf(frequencies.length, pair).filter((i) => i !== pair);
  const faint = others.flatMap((i) => lines(frequencies[i], xs[1]));
  pen.curves(faint, { stroke: ink.muted, width: 1, opacity: 0.7 });
  drawTurns(pen, axis === "linear" ? range(1, turnsOf(ys[1])) : [], box, Y);
  const frequency = frequencies[pair];
  const now = Math.max(position, xs[0]);
  pen.curves(lines(frequency, xs[1]), { stroke: ink.position, width: 1.6 });
  pen.curves(now > xs[0] ? lines(frequency, now) : [], { stroke: ink.position, width: 4 });
  const dots = range(xs[0], now).map((m) => [X(m), Y(place(m * frequency)), 2.2]);
  pen.circles(box.w / n > 5 || width > 560 ? dots : [], { fill: ink.text });
  const [x, y] = [X(now), Y(place(now * frequency))];
  pen.circle(x, y, 6.5, { fill: ink.position, stroke: ink.text, width: 1.5 });
  return { position: { x, y, at: (px) => clamp(at(px), 0, n) } };
}

/** @param {any} pen @param {any} state @param {{width: number, way?: Way}} size */
function draw(pen, state, { width, way }) {
  const frequencies = invFreq(state.head_dim, state.base);
  const places = parts(width);
  const taps = drawClocks(pen, state, frequencies, places.clocks, width);
  const hand = drawBig(pen, state, frequencies[state.pair], places.big);
  return { ...hand, ...taps, ...drawChart(pen, state, frequencies, places.chart, { width, way }) };
}

function readout({ pair, position, axis, head_dim, base }) {
  const frequency = invFreq(head_dim, base)[pair];
  const angle = position * frequency;
  const turns = Math.floor(turnsOf(angle));
  const rest = turns ? phrase`, ${counted(turns, "whole turn")} and ${fmt(withinTurn(angle))} rad` : "";
  const first = phrase`At position ${position} the hand of pair ${pair} has turned by ${position} × ${significant(frequency)} =
    ${significant(angle)} rad${rest}.`;
  if (axis === "log")
    return phrase`${first} On these axes the lines of all clocks are parallel: each is slower by the same factor.`;
  if (axis === "turn")
    return phrase`${first} Within one turn only ${fmt(withinTurn(angle))} rad are left: where the hand points.`;
  return phrase`${first} Unrolled, it is a straight line: every token adds the same ${significant(frequency)} rad.`;
}

export default live({
  name: "AngleChart",
  title: phrase`The clocks of a head, and one of them unrolled into its angle against the position`,
  height: (width) => parts(width).height,
  lines: 2,
  draw,
  readout,
  panel: (width) => [0, parts(width).lead],
  smooth: ["position"],
  play: { trait: "position", perSecond: 6 },
});
