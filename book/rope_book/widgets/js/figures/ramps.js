import { axes } from "../lib/axes.js";
import { ink, note, ruleInk } from "../lib/colour.js";
import { cursor } from "../lib/cursor.js";
import { live } from "../lib/figure.js";
import { legendOf } from "../lib/legend.js";
import { clamp, fmt, grouped, powerOf, range, significant } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { invFreq, turnsOf, wavelength } from "../maths/frequencies.js";
import { llama3, ntkByParts, yarn, yarnMscale } from "../maths/scaling.js";

const RULES = [
  { words: phrase`YaRN, code`, style: { stroke: ruleInk.yarn, width: 4 }, shape: 6 },
  { words: phrase`YaRN, paper`, style: { stroke: ruleInk["ntk-by-parts"], width: 2.4, dash: "7 4" }, shape: 4.5 },
  { words: phrase`Llama 3: 1, 4`, style: { stroke: ruleInk.llama3, width: 2.5, dash: "2 4" }, shape: 4.5 },
];

/** Each pair's wavelength and number of turns and, for each rule, the multiplier of θ, the share of θ that is kept,
 * and the curve to show. */
function measured({ factor, trained_length: trained, base, head_dim, beta_fast, beta_slow, truncate, shown }) {
  const plain = invFreq(head_dim, base);
  const betas = { betaFast: beta_fast, betaSlow: beta_slow, base };
  const multipliers = [
    yarn(head_dim, factor, trained, { ...betas, truncate }),
    ntkByParts(head_dim, factor, trained, betas),
    llama3(head_dim, factor, trained, { base }),
  ].map((rule) => rule.invFreq.map((frequency, i) => frequency / plain[i]));
  const most = 1 - 1 / factor;
  const kept = multipliers.map((row) => row.map((m) => (most > 1e-9 ? clamp((m - 1 / factor) / most, 0, 1) : 1)));
  const turns = plain.map((frequency) => turnsOf(trained * frequency));
  return { waves: wavelength(plain), turns, multipliers, kept, rows: shown === "kept" ? kept : multipliers };
}

/** Count the pairs that a rule keeps, blends and divides. */
function counts(kept) {
  const whole = kept.filter((share) => share > 1 - 1e-9).length;
  const none = kept.filter((share) => share < 1e-9).length;
  return [whole, kept.length - whole - none, none];
}

/** Draw a legend with one line per rule, which includes the rule's counts. */
function drawLegend(pen, { kept }, narrow) {
  const words = narrow ? phrase`pairs kept / blended / divided` : phrase`pairs kept / blended / divided by s`;
  pen.text(36, 15, words, note);
  legendOf(RULES, 0, { text: 36 }).draw(pen, 31);
  for (const [i, row] of kept.entries())
    pen.text(narrow ? 150 : 190, 35 + 20 * i, counts(row).join(" / "), { weight: 600 });
}

const TOP = 1.12; // top of the vertical axis, with room for the label of a knee at 1

/** Draw the axes. Returns the scales, `place`, which maps pair i to x, and `isOn`, which tells whether pair i is in
 * range. */
function drawAxes(pen, { head_dim, beta_fast, factor, shown, across }, { turns }, box, narrow) {
  const byPair = across === "pair";
  const most = byPair ? head_dim / 2 - 1 : 1.25 * beta_fast;
  const multiplied = narrow ? "θ′ / θ" : phrase`What θ is multiplied by, θ′ / θ`;
  const { X, Y, at, level } = axes(pen, box, [0, most], [0, TOP], {
    xLabel: byPair ? phrase`pair i (fast to slow)` : phrase`turns in the trained length (linear)`,
    yLabel: shown === "kept" ? phrase`Share of θ kept, γ` : multiplied,
    yTicks: range(0, 4).map((i) => i / 4),
  });
  if (shown === "multiplier") level(1 / factor, { stroke: ink.muted, width: 1.2, dash: "2 3" });
  const placeOf = (i) => (byPair ? i : turns[i]);
  return { X, Y, at, place: (i) => X(Math.min(placeOf(i), most)), isOn: (i) => placeOf(i) <= most, byPair };
}

/** Draw the three rules' lines, leaving out pairs beyond the axis when plotting against turns. */
function drawRules(pen, { pair }, { rows }, { place, Y, isOn }) {
  for (const [rule, { style, shape }] of RULES.entries()) {
    const path = rows[rule].map((value, i) => /** @type {Pair} */ ([place(i), Y(value)])).filter((_, i) => isOn(i));
    pen.curve(path, style);
    const look = { fill: style.stroke, stroke: ink.text, width: 1.2 };
    pen.circle(place(pair), Y(rows[rule][pair]), isOn(pair) ? shape : 0, look);
  }
}

/** Draw the two knees of YaRN's ramp, at the pairs that turn β times in the trained length. Dragging a knee sets β.
 */
function drawKnees(pen, { beta_fast, beta_slow, shown, factor, truncate }, { turns }, { X, Y, at }) {
  const last = turns.length - 1;
  const turnsAt = (place) => turns[clamp(Math.round(place), 0, last)];
  const pairAt = (wanted) => {
    const i = turns.findIndex((count) => count < wanted);
    if (i < 1) return i ? last : 0;
    return i - 1 + powerOf(turns[i - 1] / wanted) / powerOf(turns[i - 1] / turns[i]);
  };
  const knee = (beta, height, whole) => {
    const [x, y] = [X(truncate ? whole(pairAt(beta)) : pairAt(beta)), Y(height)];
    pen.circle(x, y, 5, { fill: ink.paper, stroke: ruleInk.yarn, width: 2 });
    return { x, y, ink: ruleInk.yarn, at: (px) => Number(turnsAt(at(px)).toPrecision(3)) };
  };
  const low = shown === "kept" ? 0 : 1 / factor;
  return { beta_fast: knee(beta_fast, 1, Math.floor), beta_slow: knee(beta_slow, low, Math.ceil) };
}

function draw(pen, state, { width, height }) {
  const { pair: i, trained_length } = state;
  const all = measured(state);
  const narrow = width < 480;
  drawLegend(pen, all, narrow);
  const box = { x: 46, y: 150, w: width - 66, h: height - 196 };
  const scales = drawAxes(pen, state, all, box, narrow);
  drawRules(pen, state, all, scales);

  const x = scales.place(i);
  const turns = significant(all.turns[i], 2, 0, 2);
  const words = phrase`pair ${i}: ${turns} turns in ${grouped(trained_length)} tokens`;
  cursor(pen, box, x, narrow ? phrase`pair ${i}: ${turns} turns` : words, width);
  if (!scales.byPair) return {};
  const pair = { x, y: scales.Y(all.rows[0][i]), at: (px) => Math.round(scales.at(px)) };
  return { ...drawKnees(pen, state, all, scales), pair };
}

function readout(state) {
  const { factor, trained_length: trained, pair: i } = state;
  const all = measured(state);
  const by = all.multipliers.map((row) => significant(row[i], 3, 0, 4));
  const parts = all.kept.map((row) => fmt(row[i], 2));
  const a = yarnMscale(factor);
  return phrase`Pair ${i} has a wavelength of ${grouped(all.waves[i])} tokens and turns ${significant(all.turns[i], 2, 0, 2)} times in
    ${grouped(trained)}. YaRN's code keeps ${parts[0]} of θ and divides the rest by s: in all, it multiplies θ by ${by[0]}, the paper's formula by ${by[1]},
    Llama 3's thresholds by ${by[2]}. YaRN also multiplies every score by a² = ${fmt(a * a, 3)}.`;
}

const KNEES = { beta_fast: 32, beta_slow: 1 };
const LLAMA = { ...KNEES, head_dim: 128 };
const GPT_OSS = { ...KNEES, factor: 32, trained_length: 4096, base: 150000, head_dim: 64, truncate: false };

function results(state) {
  const { turns, multipliers } = measured(state);
  return { turns: turns[state.pair], multiplier: multipliers[0][state.pair] };
}

export default live({
  name: "Ramps",
  title: phrase`How much of each pair's frequency YaRN's code, its paper and Llama 3 keep`,
  height: (width) => (width < 480 ? 400 : 430),
  draw,
  readout,
  results,
  buttons: [
    { label: "Llama 2, s = 16", move: () => ({ ...LLAMA, factor: 16, trained_length: 4096, base: 10000 }) },
    { label: "Llama 3.1", move: () => ({ ...LLAMA, factor: 8, trained_length: 8192, base: 500000 }) },
    { label: "gpt-oss", move: () => GPT_OSS },
  ],
});
