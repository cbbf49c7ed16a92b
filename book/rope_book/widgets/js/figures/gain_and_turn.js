import { GAINED } from "../data/gained.js";
import { axes } from "../lib/axes.js";
import { ink, note, noteEnd } from "../lib/colour.js";
import { CURSOR } from "../lib/cursor.js";
import { live } from "../lib/figure.js";
import { fmt, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { makePlane, nameTips } from "../lib/plane.js";
import { textWidth } from "../lib/words.js";
import { length } from "../maths/complex.js";
import { gainedPair, gainedParts, gainedScore } from "../maths/gained.js";

const { q: Q, k: K } = /** @type {{q: Pair, k: Pair}} */ (GAINED);
const [SPAN, LAST] = [2.4, 96]; // half the width of the plane; the last position of the key
const ROUND = range(0, 64).map((i) => (i * Math.PI) / 32); // angles around the circle

/** The gains, and whether they are applied after the turn. @returns {[Pair, boolean]} */
const gainsOf = ({ first, second, where }) => [[first, second], where === "after"];

const scoreOf = (state) => gainedScore(Q, K, state.position, state.distance, state.inv_freq, ...gainsOf(state));

/** Lay out the plane and the score chart side by side or, in a narrow figure, one below the other. */
function plan(width) {
  const narrow = width < 560;
  const size = narrow ? Math.min(width - 8, 360) : Math.min(290, width * 0.46);
  const score = narrow
    ? { x: 36, y: size + 96, w: width - 52, h: 170 }
    : { x: size + 62, y: 86, w: width - size - 78, h: size - 84 };
  const plane = { x: narrow ? (width - size) / 2 : 0, y: 24, size };
  return { narrow, plane, score, height: size + (narrow ? 318 : 44) };
}

/** Draw the paths of the arrows' tips, and the arrows at their current positions. */
function drawPlane(pen, state, { x, y, size }) {
  const plane = makePlane(pen, { x, y, side: size }, SPAN);
  const { cx, cy, at, labels } = plane;
  const { position, distance, inv_freq } = state;
  const tipAt = (content, angle) => gainedPair(content, angle, ...gainsOf(state));
  const arrows = [
    { content: Q, angle: (position + distance) * inv_freq, colour: ink.q, words: ink.qWords, name: "q" },
    { content: K, angle: position * inv_freq, colour: ink.k, words: ink.kWords, name: "k", dash: "7 4" },
  ].map((arrow) => ({ ...arrow, z: tipAt(arrow.content, arrow.angle) }));
  for (const { content, colour, dash } of arrows) {
    const path = ROUND.map((angle) => at(tipAt(content, angle)));
    pen.curve(path, { stroke: colour, width: 1.8, dash });
    for (const dot of path) labels.avoidDot(dot, 3);
  }
  for (const { z, colour } of arrows) pen.arrow(cx, cy, ...at(z), { stroke: colour, width: 3.5, head: 12 });
  const [across, up] = [phrase`first feature →`, phrase`↑ second feature`];
  pen.text(x + size - 2, y + size - 4, across, noteEnd);
  pen.text(x + 2, y + 12, up, note);
  labels.avoid(x + size - 2 - textWidth(across, 12), y + size - 18, x + size, y + size);
  labels.avoid(x, y, x + 4 + textWidth(up, 12), y + 16);
  const names = arrows.map(({ z, name, words }) => ({ z, name, fill: words, bold: true, r: 7 }));
  nameTips(pen, plane, names);
}

/** Plot the score at one distance along the text, with the gains applied before and after the turn. */
function drawScore(pen, state, box) {
  const { position, distance, inv_freq } = state;
  const [gains, after] = gainsOf(state);
  const most = Math.max(1, Math.ceil(length(Q) * length(K) * Math.max(...gains) * Math.max(...gains)));
  const { X, Y, at, upright } = axes(pen, box, [0, LAST], [-most, most], {
    xLabel: phrase`position of the key, n (tokens)`,
    xTicks: range(0, LAST, 24),
    yTicks: [-most, 0, most],
  });
  const alongText = (late) =>
    range(0, LAST, 0.5).map((n) => [X(n), Y(gainedScore(Q, K, n, distance, inv_freq, gains, late))]);
  const chosen = { stroke: ink.score, width: 3 };
  const other = { stroke: ink.muted, width: 1.5, dash: "3 4" };
  pen.curve(alongText(!after), other);
  pen.curve(alongText(after), chosen);
  const [cx, cy] = [X(position), Y(scoreOf(state))];
  upright(position, CURSOR);
  pen.circle(cx, cy, 6.5, { fill: ink.score, stroke: ink.text, width: 1.5 });
  pen.text(box.x - 30, box.y - 50, phrase`Score at distance ${distance}, gains`);
  const key = (left, words, style, fill) => {
    pen.line(left, box.y - 29, left + 26, box.y - 29, style);
    pen.text(left + 32, box.y - 25, words, { fill });
  };
  key(box.x - 30, after ? phrase`after the turn` : phrase`before the turn`, chosen, ink.scoreWords);
  key(box.x + 120, after ? phrase`before` : phrase`after`, other, ink.muted);
  return { position: { x: cx, y: cy, at: (px) => Math.round(at(px)) } };
}

function draw(pen, state, { width }) {
  const { narrow, plane, score } = plan(width);
  pen.text(2, 14, narrow ? phrase`Tips of q and k, once round` : phrase`The tips of q and k, once round`);
  drawPlane(pen, state, plane);
  return drawScore(pen, state, score);
}

function readout(state) {
  const { where, first, second, position, distance, inv_freq } = state;
  const now = phrase`With the key at ${position} and the query ${distance} tokens later the score is ${fmt(scoreOf(state), 2)}`;
  const [stays, swing] = gainedParts(Q, K, distance, inv_freq, [first, second]);
  if (first === second)
    return phrase`${now}, and the same all along the text: equal gains stretch a circle to a circle.`;
  if (where === "before")
    return phrase`${now}, and the same all along the text: before the turn, gains are content, and a turn keeps lengths.`;
  return phrase`${now}. All along the text it swings between ${fmt(stays - swing, 2)} and ${fmt(stays + swing, 2)},
    at one and the same distance: after the turn, unequal gains make an ellipse of the circle.`;
}

const results = (state) => ({ score: scoreOf(state) });

export default live({
  name: "GainAndTurn",
  title: phrase`A pair with a gain on each feature, before or after its turn, and the score at one distance along a text`,
  height: (width) => plan(width).height,
  draw,
  readout,
  results,
  panel: (width) => [plan(width).narrow ? plan(width).score.y - 48 : 0, plan(width).height], // show the score
  play: { trait: "position", perSecond: 12, speeds: [1, 4] },
  buttons: [{ label: phrase`Equal gains`, move: ({ first }) => ({ second: first }) }],
});
