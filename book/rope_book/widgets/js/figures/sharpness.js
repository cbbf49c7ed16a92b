import { axes } from "../lib/axes.js";
import { ink, noteEnd, ruleInk } from "../lib/colour.js";
import { cursor } from "../lib/cursor.js";
import { live } from "../lib/figure.js";
import { legendOf } from "../lib/legend.js";
import { abbreviated, clamp, fmt, geometric, grouped, powerOf, range, significant } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { yarnMscale } from "../maths/scaling.js";
import { matchingShare, sharingKeys } from "../maths/sharpness.js";

const [SHORTEST, LONGEST, TRAINED] = [256, 262144, 4096];
const LENGTHS = geometric(SHORTEST, LONGEST, 160);

const LINES = [
  { words: phrase`no factor, a = 1`, style: { stroke: ink.text, width: 2, dash: "7 4" } },
  { words: phrase`YaRN, static`, style: { stroke: ruleInk.yarn, width: 4 } },
  { words: phrase`YaRN, s = length / 4,096`, style: { stroke: ink.value, width: 2.5, dash: "2 4" } },
];

/** The factor a² that each line uses at the given length. */
function scales(factor, length) {
  const square = (s) => yarnMscale(s) * yarnMscale(s);
  return [1, square(factor), square(Math.max(1, length / TRAINED))];
}

/** The three lines' values at the given length: the matching key's share, or the number of equally weighted keys
 * with the same entropy. */
function valuesAt({ factor, match, spread, shown }, length) {
  return scales(factor, length).map((scale) =>
    shown === "share" ? matchingShare(length, match, spread, scale) : sharingKeys(length, match, spread, scale),
  );
}

const legend = (width) => legendOf(LINES, width, { sample: 34, text: 34 });
const height = (width) => legend(width).height + (width < 480 ? 330 : 370);

function drawAxes(pen, { shown }, box, width) {
  const [share, narrow] = [shown === "share", width < 480];
  const keys = narrow ? phrase`Keys that share attention` : phrase`Keys that share the attention, e to the entropy`;
  return axes(pen, box, [SHORTEST, LONGEST], [0, share ? 1 : powerOf(LONGEST)], {
    xLabel: narrow ? phrase`length (tokens)` : phrase`length of the text (tokens, logarithmic)`,
    yLabel: share ? phrase`Weight of the matching key` : keys,
    xLog: true,
    xTicks: narrow ? [256, 4096, 65536] : [256, 1024, 4096, 16384, 65536, 262144],
    xFormat: (value) => (value < 1024 ? value : abbreviated(value / 1.024)),
    yTicks: share ? range(0, 4).map((i) => i / 4) : range(0, 5),
    yFormat: share ? String : (power) => abbreviated(Number(`1e${power}`)),
  });
}

function draw(pen, state, { width, height: tall }) {
  const { shown, length } = state;
  const signs = legend(width);
  signs.draw(pen, 11);
  const top = signs.height + 56;
  const box = { x: 52, y: top, w: width - 74, h: tall - top - 46 };
  const { X, Y, at, upright } = drawAxes(pen, state, box, width);
  const raise = (value) => (shown === "share" ? value : powerOf(Math.max(value, 1)));

  upright(TRAINED, { stroke: ink.muted, width: 1.5 });
  pen.text(X(TRAINED) - 5, box.y + 14, width < 480 ? phrase`trained` : phrase`trained on 4,096`, noteEnd);
  const rows = LENGTHS.map((tokens) => valuesAt(state, tokens));
  for (const [i, { style }] of LINES.entries()) {
    const path = rows.map((row, j) => /** @type {Pair} */ ([X(LENGTHS[j]), Y(raise(row[i]))]));
    pen.curve(path, style);
  }

  const cx = X(length);
  cursor(pen, box, cx, phrase`${grouped(length)} tokens`, width);
  const now = valuesAt(state, length);
  for (const [i, { style }] of LINES.entries())
    pen.circle(cx, Y(raise(now[i])), i === 1 ? 6.5 : 5, { fill: style.stroke, stroke: ink.text, width: 1.2 });
  return { length: { x: cx, y: Y(raise(now[1])), at: (px) => Math.round(clamp(at(px), SHORTEST, LONGEST)) } };
}

function readout(state) {
  const { shown, length, factor } = state;
  const [plain, fixed, dynamic] = valuesAt(state, length);
  const [trained] = valuesAt(state, TRAINED);
  const keys = (value) => (value >= 1000 ? grouped(value) : significant(value, 3, 0, 2));
  const say = shown === "share" ? (value) => `${significant(100 * value, 2, 0, 2)} %` : keys;
  const [, a2] = scales(factor, length);
  const [where, growth] = [grouped(length), fmt(a2, 3)];
  return shown === "share"
    ? phrase`At ${where} tokens the matching key gets ${say(plain)} without a factor, ${say(fixed)} with YaRN's (scores times
        ${growth}), and ${say(dynamic)} where s follows the length. At the trained 4,096 tokens it was ${say(trained)}.`
    : phrase`At ${where} tokens the attention is spread over as many keys as ${say(plain)} without a factor, ${say(fixed)} with
        YaRN's (scores times ${growth}), and ${say(dynamic)} where s follows the length. At the trained 4,096 tokens it was
        ${say(trained)}.`;
}

export default live({
  name: "Sharpness",
  title: phrase`The attention on one matching key while the text grows, with and without YaRN's factor`,
  height,
  draw,
  readout,
});
