import { axes } from "../lib/axes.js";
import { ink } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { decade, fmt, powerOf, range, significant } from "../lib/numbers.js";
import { textWidth } from "../lib/words.js";
import { invFreq, ropeAngles, TURN, turnsOf, withinTurn } from "../maths/frequencies.js";

const CHART = 250; // height of the chart's box
const NAMES = 44; // pixels before the first pair: the dots and the lines' names

const height = () => CHART + 202;

/** The state's frequencies, the pair that exists, and each position's angles. */
function chart({ n, position, pair, head_dim, base }) {
  const frequencies = invFreq(head_dim, base);
  const chosen = pair;
  const drawn = range(1, n);
  if (position > n) drawn.push(position);
  const lines = drawn.map((m) => ({ m, angles: ropeAngles(m, frequencies) }));
  return { frequencies, chosen, lines, most: Math.max(n, position) };
}

/**
 * How a mode places an angle on the vertical axis.
 * @returns {{place: (angle: number) => number, ys: Pair, yTicks?: number[], yFormat: (t: number) => string, note: string}}
 */
function scale(axis, frequencies, most) {
  if (axis === "turn") {
    const words = (t) => ["0", "½π", "π", "1½π", "2π"][Math.round(turnsOf(t) * 4)];
    /** @type {Pair} */
    const ys = [0, TURN];
    return {
      place: withinTurn,
      ys,
      yTicks: range(0, 4).map((t) => (t * TURN) / 4),
      yFormat: words,
      note: "after whole turns",
    };
  }
  if (axis === "linear") {
    return { place: (a) => a, ys: [0, most * 1.07], yFormat: String, note: "linear" };
  }
  const [low, high] = [Math.floor(powerOf(frequencies.at(-1)) + 1e-9), powerOf(most * 1.5)];
  const step = Math.ceil((high - low) / 6);
  return {
    place: powerOf,
    ys: [low, high],
    yTicks: range(low, Math.floor(high)).filter((t) => t % step === 0),
    yFormat: (power) => decade(power),
    note: "logarithmic",
  };
}

/** The chart: one line for each position over the pairs. */
function drawChart(pen, state, width) {
  const { frequencies, chosen, lines, most } = chart(state);
  const last = frequencies.length - 1;
  const box = { x: 46, y: 26, w: width - 58, h: CHART };
  const { place, ys, yTicks, yFormat, note } = scale(state.axis, frequencies, most);
  const step = Math.max(1, Math.ceil(last / (width < 400 ? 4 : 8)));
  const before = Math.max(0.08, NAMES / (box.w - NAMES)); // room for the lines' names, as a share of the pairs
  const { X, Y } = axes(pen, box, [-last * before - 0.2, last], ys, {
    xLabel: "pair i",
    yLabel: width < 300 ? `Angle (rad, ${note})` : `Angle m·θ (radians, ${note})`,
    xTicks: range(0, last, step),
    yTicks,
    yFormat,
  });
  pen.line(X(chosen), box.y, X(chosen), box.y + box.h, { stroke: ink.muted, width: 1.2, dash: "4 3" });
  const thin = lines.filter(({ m }) => m !== state.position);
  const thick = lines.filter(({ m }) => m === state.position);
  const at = (angles, i) => [X(i), Y(place(angles[i]))];
  const curves = ({ angles }) => runs(angles, state.axis).map((run) => run.map((i) => at(angles, i)));
  const dot =
    (r) =>
    ({ angles }) => [...at(angles, chosen), r];
  pen.curves(thin.flatMap(curves), { stroke: ink.position, width: 1.3, opacity: 0.7 });
  pen.circles(thin.map(dot(3.5)), { fill: ink.paper, stroke: ink.position, width: 1.5 });
  pen.curves(thick.flatMap(curves), { stroke: ink.position, width: 3.5 });
  pen.circles(thick.map(dot(5.5)), { fill: ink.position, stroke: ink.position, width: 1.5 });
  const left = X(0) - (chosen === 0 ? 6 : 0); // room for the dots
  pen.part(() => nameLines(pen, [...thick, ...thin.reverse()], left, (a) => Y(place(a)), state.position));
}

/** The pairs in runs; within one turn a line breaks where the angle has passed a whole turn. */
function runs(angles, axis) {
  const all = [[0]];
  for (let i = 1; i < angles.length; i++) {
    const broken = axis === "turn" && Math.floor(turnsOf(angles[i])) !== Math.floor(turnsOf(angles[i - 1]));
    if (broken) all.push([i]);
    else all.at(-1).push(i);
  }
  return all;
}

/** The position at the start of each line, where there is room; the thick one first. */
function nameLines(pen, lines, x, yOf, position) {
  const taken = [];
  for (const { m, angles } of lines) {
    const y = yOf(angles[0]);
    if (taken.some((other) => Math.abs(other - y) < 13)) continue;
    taken.push(y);
    const thick = m === position;
    pen.text(x - 6, y + 4, m, { anchor: "end", size: 12, fill: ink.positionWords, weight: thick ? 700 : 400 });
  }
}

/** One pair on a scale of its own: a token more is a step more, and all steps are equal. */
function drawRuler(pen, state, width) {
  const { frequencies, chosen, most } = chart(state);
  const [x, y, w] = [16, CHART + 152, width - 32];
  const X = (m) => x + (w * m) / most;
  const bold = { weight: 600, fill: ink.positionWords };
  const name = width < 400 ? `Pair ${chosen}` : `Pair ${chosen} on its own scale`;
  pen.text(2, y - 54, `${name}: θ = ${significant(frequencies[chosen])} rad/token`, { weight: 600 });
  const tokens = (first) => range(first, most - 1, 2).map((m) => [X(m), y - 12, w / most, 12]);
  pen.rects(tokens(0), { fill: ink.position, stroke: ink.position, width: 1 });
  pen.rects(tokens(1), { fill: ink.paper, stroke: ink.position, width: 1 });
  pen.lines(
    range(0, most).map((m) => [X(m), y, X(m), y + 5]),
    { stroke: ink.muted, width: 1 },
  );
  pen.part(() => {
    for (const m of range(0, most)) {
      pen.text(X(m), y - 20, m, { anchor: "middle", size: 12, ...(m === state.position ? bold : {}) });
    }
  });
  const angleAt = (m) => `${significant(m * frequencies[chosen])} rad`;
  const [start, end, middle] = [x - 4, x + w + 10, X(state.position)];
  const ends = [start + textWidth("0", 12), end - textWidth(angleAt(most), 12)];
  pen.text(start, y + 20, "0", { size: 12 });
  pen.text(end, y + 20, angleAt(most), { anchor: "end", size: 12, ...(state.position === most ? bold : {}) });
  const half = textWidth(angleAt(state.position), 12, true) / 2;
  const fits = middle - half > ends[0] + 6 && middle + half < ends[1] - 6;
  pen.text(middle, y + 20, fits ? angleAt(state.position) : "", { anchor: "middle", size: 12, ...bold });
  pen.text(width / 2, y + 42, "position m above, its angle below", { anchor: "middle", fill: ink.muted });
}

function draw(pen, state, { width }) {
  drawChart(pen, state, width);
  drawRuler(pen, state, width);
}

function readout(state) {
  const { frequencies, chosen } = chart(state);
  const [frequency, m] = [frequencies[chosen], state.position];
  const angle = m * frequency;
  const first =
    `Position ${m} turns pair ${chosen} by ${m} × ${significant(frequency)} = ${significant(angle)} rad, ` +
    `and every further token adds the same ${significant(frequency)}.`;
  if (state.axis === "log") return `${first} On this axis the lines are straight and parallel.`;
  if (state.axis === "linear")
    return `${first} At each pair the lines are equally far apart; from pair to pair they close up.`;
  const turns = Math.floor(turnsOf(angle));
  if (!turns) return `${first} It has not completed a turn, so nothing is taken off.`;
  const times = turns === 1 ? "one whole turn" : `${turns} whole turns`;
  return `${first} After ${times} it points at ${fmt(withinTurn(angle))} rad.`;
}

/** n and m keep each other's company; a pair that the head does not have becomes its last. */
export default live({
  name: "AngleChart",
  title: "The angle of every pair at the first few positions, and one pair on a scale of its own",
  height,
  draw,
  readout,
});
