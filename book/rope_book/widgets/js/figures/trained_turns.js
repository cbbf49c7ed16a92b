import { axes } from "../lib/axes.js";
import { ink } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { legendOf } from "../lib/legend.js";
import { SEEN, UNSEEN, unseenPoints } from "../lib/marks.js";
import { clamp, fmt, grouped, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { textWidth } from "../lib/words.js";
import { invFreq, ropeAngles, TURN, turnsOf, withinTurn } from "../maths/frequencies.js";
import { completesTurn, meetsNewAngle, newStretches } from "../maths/trained_range.js";

const MOST = 8; // range of the lower chart, in trained lengths

/** Each pair's angle at the selected distance in turns, the fraction of a turn seen in training, and whether the
 * angle is new. */
function pairsOf({ times, trained, base, head_dim, window }) {
  const frequencies = invFreq(head_dim, base);
  const distance = times * trained;
  const counts = window ? Math.min(distance, trained) : distance;
  const fresh = meetsNewAngle(counts, frequencies, trained);
  const complete = completesTurn(frequencies, trained);
  const shown = ropeAngles(trained, frequencies);
  return ropeAngles(counts, frequencies).map((angle, i) => ({
    at: turnsOf(withinTurn(angle)),
    shown: Math.min(1, turnsOf(shown[i])),
    fresh: fresh[i],
    complete: complete[i],
    back: !complete[i] && !fresh[i] && angle > TURN,
  }));
}

/** For each pair, the intervals of distance at which its angle is new, in trained lengths. */
const stretchesOf = ({ trained, base, head_dim }) =>
  invFreq(head_dim, base).map((frequency) =>
    newStretches(frequency, trained, MOST * trained).map((ends) => ends.map((end) => end / trained)),
  );

const KEY = [
  { words: phrase`angles that training showed`, box: SEEN },
  { words: phrase`angles that are new`, box: { ...UNSEEN, stroke: ink.text, width: 1 } },
  { words: phrase`the pair’s hand`, sign: (pen, x, y) => pen.circle(x + 10, y, 4, { fill: ink.text }) },
];
const legend = (width) => legendOf(KEY, width - 4, { sample: 26, drop: 5 });
const parts = (width) => {
  const first = legend(width).height + 30;
  const upper = { x: 46, y: first, w: width - 62, h: 125 };
  return { upper, lower: { ...upper, y: upper.y + upper.h + 42, h: 175 } };
};
const height = (width, _, { shows }) => {
  const { y, h } = parts(width)[shows("map") ? "lower" : "upper"];
  return y + h + 46;
};

const acrossOf = ({ w }) =>
  w < 300 ? phrase`pair i (fast to slow)` : phrase`pair i (the fast ones left, the slow ones right)`;

/** Draw the upper chart, which shows each pair's full turn, the part of it seen in training, and the hand. */
function drawTurns(pen, box, all, alone) {
  const { X, Y } = axes(pen, box, [0, all.length], [0, 1], {
    xLabel: alone ? acrossOf(box) : undefined,
    yLabel: phrase`Angle at distance r (turns)`,
    xTicks: alone ? range(0, all.length, all.length / 4) : [],
    yTicks: [0, 0.25, 0.5, 0.75, 1],
    yFormat: (turns) => ({ 0: "0", 0.25: "¼", 0.5: "½", 0.75: "¾", 1: "1" })[turns],
  });
  const column = X(1) - X(0);
  const gap = Math.min(2, column / 4);
  const shownOf = ({ shown }, i) => [X(i) + gap / 2, Y(shown), column - gap, Y(0) - Y(shown)];
  pen.rects(all.map(shownOf), SEEN);
  const r = clamp(column / 2.6, 1.8, 4);
  const points = all.map(({ at }, i) => [X(i + 0.5), Y(at)]);
  const known = points.filter((_, i) => !all[i].fresh).map(([x, y]) => [x, y, r]);
  pen.circles(known, { fill: ink.text });
  const fresh = points.filter((_, i) => all[i].fresh);
  unseenPoints(pen, fresh, r + 1.6);
}

/** Write "never seen" in two lines at the right end of the new angles, if it fits within their coloured area and
 * the distance line does not cross it. */
function drawNever(pen, { X, Y }, times, stretches) {
  const lines = [phrase`never`, phrase`seen`];
  const [top, foot] = [3.6, 1.9]; // in trained lengths
  const left = X(stretches.length) - 10 - Math.max(...lines.map((line) => textWidth(line, 13, true)));
  const under = stretches.filter((_, i) => X(i + 1) > left);
  const isFull = under.length && under.every((ends) => ends.some(([a, b]) => a <= foot && b >= top));
  const style = { anchor: "end", weight: 600, fill: ink.onOther };
  for (const [i, line] of (isFull && (times < foot || times > top) ? lines : []).entries())
    pen.text(X(stretches.length) - 6, Y(2.75) - 2 + 16 * i, line, style);
}

/** Draw the lower chart, which shows the pairs that are at a new angle at each distance, and return the distance
 * handle.
 */
function drawMap(pen, box, state, pairs) {
  const { times, window } = state;
  const step = pairs >= 32 ? (box.w < 420 ? 16 : 8) : pairs / 4;
  const { X, Y, level } = axes(pen, box, [0, pairs], [0, MOST], {
    xLabel: acrossOf(box),
    yLabel: phrase`Distance (trained lengths)`,
    xTicks: range(0, pairs, step),
    yTicks: [0, 1, 2, 4, 6, 8],
    yFormat: (t) => (t ? `${t} L` : "0"),
  });
  const top = Y(window ? 1 : MOST);
  pen.rect(box.x, top, box.w, Y(0) - top, SEEN);
  const column = X(1) - X(0);
  const stretches = window ? [] : stretchesOf(state);
  const fields = stretches.flatMap((ends, i) => ends.map(([a, b]) => [X(i), Y(b), column, Y(a) - Y(b)]));
  pen.rects(fields, { fill: ink.paper });
  pen.rects(fields, UNSEEN);
  level(1, { stroke: ink.text, width: 1.2, dash: "6 4" });
  const named = { weight: 600, anchor: "middle" };
  pen.text(box.x + box.w * 0.3, Y(4.5), phrase`seen in training`, named);
  drawNever(pen, { X, Y }, times, stretches);
  const words = window ? phrase`beyond L every pair stays at L` : phrase`trained to here`;
  const y = Y(times);
  const low = times > 1.05 && times < 1.9; // the distance line would cross the text
  pen.text(box.x + 6, Y(1) + (low ? 14 : -6), words, { size: 12 });
  level(times, { stroke: ink.text, width: 2 });
  pen.circle(box.x + box.w, y, 6.5, { fill: ink.paper, stroke: ink.text, width: 2 });
  const at = (_, py) => clamp((box.y + box.h - py) / box.h, 0, 1) * MOST;
  return { times: { x: box.x + box.w, y, at, ink: ink.text } };
}

function draw(pen, state, { width, shows }) {
  const all = pairsOf(state);
  const { upper, lower } = parts(width);
  legend(width).draw(pen, 10);
  drawTurns(pen, upper, all, !shows("map"));
  return shows("map") ? drawMap(pen, lower, state, all.length) : {};
}

/** Name a set of pairs: "pairs 46 to 63", "pair 50" or, if some are missing, "pairs between 46 and 63". */
function named(which) {
  const [first, last] = [which[0], which.at(-1)];
  if (first === last) return phrase`pair ${first}`;
  return last - first + 1 === which.length
    ? phrase`pairs ${first} to ${last}`
    : phrase`pairs between ${first} and ${last}`;
}

function readout(state, { shows }) {
  const { times, trained, window } = state;
  const all = pairsOf(state);
  const fresh = all.flatMap((pair, i) => (pair.fresh ? [i] : []));
  const [complete, back] = [all.filter((pair) => pair.complete).length, all.filter((pair) => pair.back).length];
  const [far, length] = [grouped(times * trained), grouped(trained)];
  if (!shows("map")) {
    const many = phrase`${fresh.length} of ${all.length} hands point where training never showed one`;
    const one = phrase`${fresh.length} of ${all.length} hands points where training never showed one`;
    const words = fresh.length
      ? fresh.length === 1
        ? one
        : many
      : phrase`every hand points where training has shown it`;
    return phrase`At ${fmt(times, 2)} times the trained length, ${words}.`;
  }
  const held = window && times > 1 ? phrase` (it counts as L)` : "";
  const news = fresh.length
    ? phrase`${fresh.length} of ${all.length} pairs point at an angle that training never showed: ${named(fresh)}.`
    : phrase`no pair points at an angle that training never showed${held}.`;
  const turns =
    complete === 1
      ? phrase`1 pair completes a turn in training and can never meet one.`
      : phrase`${complete} pairs complete a turn in training and can never meet one.`;
  const again =
    back > 1
      ? phrase` ${back} slow pairs are back at an angle that they know from a far shorter distance.`
      : phrase` One slow pair is back at an angle that it knows from a far shorter distance.`;
  return phrase`At distance ${far}, ${fmt(times, 2)} times the trained ${length}, ${news} ${turns}${back ? again : ""}`;
}

function results(state) {
  const all = pairsOf(state);
  return { new: all.filter(({ fresh }) => fresh).length, complete: all.filter(({ complete }) => complete).length };
}

export default live({
  name: "TrainedTurns",
  title: phrase`For each pair the angles that training has shown, and the distances at which a longer text leaves them`,
  height,
  draw,
  readout,
  results,
  play: { trait: "times", perSecond: 0.5, speeds: [1, 4] },
});
