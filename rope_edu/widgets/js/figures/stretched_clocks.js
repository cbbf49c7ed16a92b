import { RULES } from "../data/rules.js";
import { axes } from "../lib/axes.js";
import { ink } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { inLines } from "../lib/labels.js";
import { memo } from "../lib/memo.js";
import { abbreviated, decade, fmt, grouped, powerOf, range } from "../lib/numbers.js";
import { invFreq, wavelength } from "../maths/frequencies.js";
import { divisors, stretched } from "../maths/stretch.js";
import { completesTurn, reach } from "../maths/trained_range.js";

/** Each pair before and after the rule, by how much it is slowed down, and whether that is too little. */
const measure = memo((rule, head_dim, base, trained, wanted, abf_base) => {
  const plain = invFreq(head_dim, base);
  const changed = stretched(rule, head_dim, base, trained, wanted, abf_base).invFreq;
  const factor = Math.max(1, wanted / trained);
  const slowed = divisors(plain, changed);
  const complete = completesTurn(plain, trained);
  return {
    before: wavelength(plain),
    after: wavelength(changed),
    factor,
    slowed,
    complete: complete.filter(Boolean).length,
    short: slowed.map((by, i) => !complete[i] && by < factor * (1 - 1e-9)),
    far: reach(changed, trained, plain),
  };
});
const measured = ({ rule, head_dim, base, trained, wanted, abf_base }) =>
  measure(rule, head_dim, base, trained, wanted, rule === "abf" ? abf_base : 0);

const KEY = [
  { words: "before", sign: "before" },
  { words: "after", sign: "after" },
  { words: "full turn in training", sign: "complete" },
  { words: "meets new angles", sign: "short" },
];
const legend = (width) => inLines(KEY, width - 4, { sample: 36 });
const legendLines = (width) => legend(width).at(-1).line + 1;
const parts = (width) => {
  const upper = { x: 52, y: 20 * legendLines(width) + 32, w: width - 70, h: width < 480 ? 180 : 200 };
  return { upper, lower: { ...upper, y: upper.y + upper.h + 44, h: width < 480 ? 130 : 150 } };
};
const height = (width) => {
  const { lower } = parts(width);
  return lower.y + lower.h + 46;
};

const BEFORE = { stroke: ink.muted, width: 2, dash: "5 4" };
const COMPLETE = { fill: ink.position, opacity: 0.16 };

/** A square on its corner. */
const diamond = ([x, y], r) => [
  [x, y - r],
  [x + r, y],
  [x, y + r],
  [x - r, y],
];

/** The rule's line: orange with dark edges, so that it is seen without colours too. */
function drawAfter(pen, path) {
  pen.curve(path, { stroke: ink.text, width: 5 });
  pen.curve(path, { stroke: ink.other, width: 3 });
}

function drawLegend(pen, width) {
  for (const { words, sign, x, line } of legend(width)) {
    const y = 10 + 20 * line;
    if (sign === "before") pen.line(x + 2, y, x + 28, y, BEFORE);
    if (sign === "after")
      drawAfter(pen, [
        [x + 2, y],
        [x + 28, y],
      ]);
    if (sign === "complete") pen.rect(x + 4, y - 6, 22, 12, { ...COMPLETE, stroke: ink.position, width: 1 });
    if (sign === "short") pen.area(diamond([x + 15, y], 6), { fill: ink.text });
    pen.text(x + 34, y + 5, words);
  }
}

/** The pairs that complete a turn in training, as a field. */
function drawComplete(pen, box, X, complete) {
  pen.rect(box.x, box.y, X(complete - 0.5) - box.x, box.h, complete ? COMPLETE : { opacity: 0 });
}

const across = (pairs) => /** @type {Pair} */ ([-0.5, pairs - 0.5]);

/** Above: wavelengths, with the two lengths of text. */
function drawWaves(pen, box, { trained, wanted }, { before, after, complete }) {
  const powers = [...before, ...after, trained, wanted].map(powerOf);
  /** @type {Pair} */
  const ends = [0.5, Math.ceil(Math.max(...powers) + 0.05)];
  const { X, Y } = axes(pen, box, across(before.length), ends, {
    yLabel: box.w < 260 ? "Wavelength (tokens)" : "Wavelength (tokens, logarithmic)",
    xTicks: [],
    yTicks: range(1, ends[1]),
    yFormat: (power) => (power < 4 ? decade(power, 0, 3) : decade(power, 0, 0)),
  });
  drawComplete(pen, box, X, complete);
  const path = (waves) => waves.map((wave, i) => [X(i), Y(powerOf(wave))]);
  pen.curve(path(before), BEFORE);
  drawAfter(pen, path(after));
  for (const [name, length, right] of /** @type {[string, number, number][]} */ ([
    ["L", trained, 6],
    ["L′", wanted, 110],
  ])) {
    const y = Y(powerOf(length));
    pen.line(box.x, y, box.x + box.w, y, { stroke: ink.text, width: 1.2, dash: "2 3" });
    const words = `${name} = ${length < 1e6 ? grouped(length) : abbreviated(Math.round(length / 1e4) * 1e4)}`;
    pen.text(box.x + right, y < box.y + 20 ? y + 15 : y - 5, words, { size: 12 });
  }
}

/** Below: by how much each pair is slowed down, and how much it takes. */
function drawSlowed(pen, box, { factor, slowed, short, complete }) {
  const pairs = slowed.length;
  const powers = [...slowed, factor].map(powerOf);
  /** @type {Pair} */
  const ends = [Math.min(0, ...powers) - 0.06, Math.max(0.35, ...powers) + 0.1];
  const step = pairs >= 32 ? (box.w < 420 ? 16 : 8) : pairs / 4;
  const decades = range(Math.floor(ends[0]), Math.ceil(ends[1]));
  const marks = decades.flatMap((power) => (ends[1] - ends[0] > 2 ? [1] : [1, 2, 5]).map((m) => power + powerOf(m)));
  const { X, Y } = axes(pen, box, across(pairs), ends, {
    xLabel: box.w < 300 ? "pair i (fast to slow)" : "pair i (the fast ones left, the slow ones right)",
    yLabel: "Slowed down by (logarithmic)",
    xTicks: range(0, pairs - 1, step),
    yTicks: marks.filter((t) => t >= ends[0] && t <= ends[1]),
    yFormat: (power) => decade(power, -1.5, 3.5),
  });
  drawComplete(pen, box, X, complete);
  pen.line(box.x, Y(powerOf(factor)), box.x + box.w, Y(powerOf(factor)), {
    stroke: ink.text,
    width: 1.2,
    dash: "2 3",
  });
  const points = slowed.map((by, i) => /** @type {Pair} */ ([X(i), Y(powerOf(by))]));
  drawAfter(pen, points);
  pen.areas(
    points.filter((_, i) => short[i]).map((point) => diamond(point, 5)),
    { fill: ink.text },
  );
  const y = Y(powerOf(factor));
  const words = `L′/L = ${fmt(factor, factor < 10 ? 2 : 0)}`;
  pen.text(box.x + 6, y < box.y + 20 ? y + 16 : y - 6, words, { size: 12 });
}

function draw(pen, state, { width }) {
  const all = measured(state);
  const { upper, lower } = parts(width);
  drawLegend(pen, width);
  drawWaves(pen, upper, state, all);
  drawSlowed(pen, lower, all);
}

function readout(state) {
  const { slowed, short, far, factor } = measured(state);
  const last = slowed.length - 1;
  const by = (value) => fmt(value, value < 100 ? 2 : 0);
  const first =
    `Stretch ${by(factor)}, ${RULES[state.rule]}: pair 0 is slowed down by ${by(slowed[0])}, ` +
    `pair ${last} by ${by(slowed[last])}.`;
  const many = short.filter(Boolean).length;
  if (!Number.isFinite(far)) return `${first} Every pair completes a turn in training: no angle is ever new.`;
  if (!many) return `${first} No pair meets a new angle up to the wanted ${grouped(state.wanted)} tokens.`;
  const verb = many === 1 ? "is slowed down too little and meets" : "are slowed down too little and meet";
  return `${first} ${many} of ${last + 1} pairs ${verb} new angles; the first comes at ${grouped(far)} tokens.`;
}

/** Who moves ABF's base wants to see ABF. */
export default live({
  name: "StretchedClocks",
  title: "Each pair's wavelength before and after a rule, and by how much the rule slows it down",
  height,
  draw,
  readout,
});
