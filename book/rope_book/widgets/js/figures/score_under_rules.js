import { RULES } from "../data/rules.js";
import { axes } from "../lib/axes.js";
import { ink, ruleInk, ruleWords } from "../lib/colour.js";
import { cursor } from "../lib/cursor.js";
import { live } from "../lib/figure.js";
import { inLines } from "../lib/labels.js";
import { nameEnds, roomForNames } from "../lib/line_ends.js";
import { BEYOND, nameBeyond } from "../lib/marks.js";
import { memo } from "../lib/memo.js";
import { abbreviated, clamp, fmt, geometric, grouped, last, powerOf, range } from "../lib/numbers.js";
import { phrase, phraseOf } from "../lib/phrase.js";
import { listed, textWidth } from "../lib/words.js";
import { scoreTrend, stretched } from "../maths/stretch.js";

const SPREAD = 0.1; // a smoothed curve averages over distances within this fraction of each distance
const POINTS = 112; // points per curve

/** Each rule's switch and curve style, with plain RoPE first. */
const CURVES = {
  rope: { trait: "plain", stroke: ruleInk.rope, width: 2.4 },
  pi: { trait: "pi", stroke: ruleInk.pi, width: 2.6 },
  "ntk-aware": { trait: "ntk_aware", stroke: ruleInk["ntk-aware"], width: 2.4 },
  abf: { trait: "abf", stroke: ruleInk.abf, width: 2, dash: "9 4" },
  "ntk-by-parts": { trait: "by_parts", stroke: ruleInk["ntk-by-parts"], width: 2.6, dash: "9 4" },
  yarn: { trait: "yarn", stroke: ruleInk.yarn, width: 2.6, dash: "2 4" },
  llama3: { trait: "llama3", stroke: ruleInk.llama3, width: 2, dash: "2 4" },
};

/** The rules that are switched on. */
const shown = (state) => Object.keys(CURVES).filter((rule) => state[CURVES[rule].trait]);

const farOf = ({ wanted, trained }) => Math.max(wanted, trained);

/** The score under a rule, as a function of distance. */
function scorer(rule, { head_dim, base, trained, wanted, abf_base, smooth }) {
  const rotation = stretched(rule, head_dim, base, trained, wanted, abf_base);
  return (distance) => scoreTrend(rotation, distance, smooth ? SPREAD : 0);
}

const curve = memo((rule, head_dim, base, trained, wanted, abf_base, smooth) => {
  const score = scorer(rule, { head_dim, base, trained, wanted, abf_base, smooth });
  return geometric(1, farOf({ wanted, trained }), POINTS).map((distance) => [distance, score(distance)]);
}, 16);
const curveOf = (rule, { head_dim, base, trained, wanted, abf_base, smooth }) =>
  curve(rule, head_dim, base, trained, wanted, rule === "abf" ? abf_base : 0, smooth);

const NAMES = Object.keys(CURVES).map((rule) => ({ rule, words: phraseOf(RULES[rule]) }));
const [SAMPLE, PITCH] = [28, 28]; // pixels for the sign and padding of a switch; pixels from row to row
const switches = (width) => inLines(NAMES, width, { sample: SAMPLE, gap: 5 });
const topOf = (width) => PITCH * (last(switches(width)).line + 1) + 6; // height of the switches, in pixels
const isNarrow = (width) => width < 480; // too narrow for names beside the curves
const height = (width) => topOf(width) + (isNarrow(width) ? 360 : 390);

/** Draw a switch for each rule, with a sample of its curve or, if it is off, a plus sign; return the tap targets. */
function drawSwitches(pen, state, width) {
  /** @type {Record<string, Tap>} */
  const taps = {};
  for (const { rule, words, x, line } of switches(width)) {
    const { trait, ...style } = CURVES[rule];
    const [on, y] = [state[trait], PITCH * line];
    const box = { x: x + 1, y: y + 1, w: SAMPLE + textWidth(words) - 2, h: 22 };
    pen.rect(box.x, box.y, box.w, box.h, { fill: ink.paper, stroke: on ? ink.text : ink.muted, width: 1, radius: 11 });
    pen.line(x + 7, y + 12, x + 19, y + 12, on ? style : { stroke: ink.muted, width: 1.5 });
    if (!on) pen.line(x + 13, y + 6, x + 13, y + 18, { stroke: ink.muted, width: 1.5 });
    pen.text(x + 22, y + 16.5, words, { fill: on ? ink.text : ink.muted });
    taps[rule] = { ...box, set: { [trait]: !on } };
  }
  return taps;
}

/** Each curve's name, colour and right end. */
const endingsOf = (rules, paths) =>
  rules.map((rule, i) => ({
    name: phraseOf(RULES[rule]),
    end: last(paths[i]),
    stroke: ruleInk[rule],
    words: ruleWords[rule],
  }));

/** Draw the axes, shading the distances beyond training. */
function drawAxes(pen, box, state, values, width) {
  const far = farOf(state);
  const low = Math.min(0, Math.floor(4 * Math.min(...values)) / 4);
  const high = Math.max(1, Math.ceil(4 * Math.max(...values)) / 4);
  const beyond = (box.w * powerOf(state.trained)) / powerOf(far);
  pen.rect(box.x + beyond, box.y, box.w - beyond, box.h, BEYOND);
  const scales = axes(pen, box, [1, far], [low, high], {
    xLabel: width < 400 ? phrase`distance r (tokens)` : phrase`distance r (tokens, logarithmic)`,
    yLabel:
      width < 420 ? phrase`Score (share of plain at 0)` : phrase`Score of equal vectors (share of plain RoPE’s at 0)`,
    xLog: true,
    xTicks: range(0, Math.floor(powerOf(far)), width < 300 ? 2 : 1).map((power) => Number(`1e${power}`)),
    xFormat: abbreviated,
    yTicks: range(low, high, 0.25),
  });
  scales.level(0);
  nameBeyond(pen, { x: box.x + beyond, y: box.y, w: box.w - beyond });
  return scales;
}

function draw(pen, state, { width, height: tall }) {
  const taps = drawSwitches(pen, state, width);
  const top = topOf(width) + 52;
  const rules = shown(state);
  const right = isNarrow(width) ? 18 : roomForNames(NAMES.map(({ words }) => words));
  const box = { x: 48, y: top, w: width - 48 - right, h: tall - top - 48 };
  const curves = rules.map((rule) => curveOf(rule, state));
  const values = curves.flat().map(([, value]) => value);
  const { X, Y, at } = drawAxes(pen, box, state, values.length ? values : [0, 1], width);
  const paths = curves.map((points) => points.map(([r, value]) => [X(r), Y(value)]));
  pen.part(() => {
    for (const [i, path] of paths.entries()) pen.curve(path, CURVES[rules[i]]);
  });

  const distance = clamp(state.distance, 1, farOf(state));
  const cx = X(distance);
  cursor(pen, box, cx, `r = ${grouped(state.distance)}${distance < state.distance ? " →" : ""}`, width, 32);
  pen.part(() => {
    const dot = { fill: ink.paper, stroke: ink.text };
    for (const rule of rules) pen.circle(cx, Y(scorer(rule, state)(distance)), 4, dot);
  });
  pen.part(() => nameEnds(pen, box, isNarrow(width) ? [] : endingsOf(rules, paths)));
  const foot = box.y + box.h;
  pen.circle(cx, foot, 6.5, { fill: ink.position, stroke: ink.text, width: 1.5 });
  return { distance: { x: cx, y: foot, ring: 8, at: (px) => Math.round(at(px)) }, taps };
}

function readout(state) {
  const rules = shown(state);
  if (!rules.length) return phrase`No rule is switched on.`;
  const distance = clamp(state.distance, 1, farOf(state));
  const scores = (r) => {
    const [settings, digits] = r === 1 ? [{ ...state, smooth: false }, 4] : [state, 3];
    return listed(rules.map((rule) => `${phraseOf(RULES[rule])} ${fmt(scorer(rule, settings)(r), digits)}`));
  };
  const far = grouped(distance);
  const place = distance > state.trained ? phrase`At distance ${far}, beyond training,` : phrase`At distance ${far}`;
  return phrase`${place} the score of equal vectors is: ${scores(distance)}.
    To the next token, at distance 1: ${scores(1)}.`;
}

export default live({
  name: "ScoreUnderRules",
  title: phrase`The score of equal vectors at every distance, under several rules that stretch the context`,
  height,
  draw,
  readout,
});
