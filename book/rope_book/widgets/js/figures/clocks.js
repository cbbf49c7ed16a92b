import { ink, noteMiddle } from "../lib/colour.js";
import { boxAround, hands, inRows, rims, tips, wedges } from "../lib/faces.js";
import { live } from "../lib/figure.js";
import { SEEN, unseenPoints } from "../lib/marks.js";
import { fmt, grouped, powerOf } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { invFreq, reachWithin, ropeAngles, turnsOf, wavelength, withinTurn } from "../maths/frequencies.js";

/** List the pairs, each with its wavelength, turns, angle and reach, and whether it completes a turn within the
 * context. */
function pairsOf({ position, head_dim, base }, context) {
  const frequencies = invFreq(head_dim, base);
  const [waves, angles] = [wavelength(frequencies), ropeAngles(position, frequencies)];
  return frequencies.map((frequency, i) => ({
    i,
    wave: waves[i],
    turns: turnsOf(angles[i]),
    angle: withinTurn(angles[i]),
    reach: reachWithin(context, frequency),
    complete: waves[i] <= context,
  }));
}

/** Lay out the faces below one or two lines of text. */
function grid(width, pairs, { shows }) {
  const columns = Math.min(pairs, pairs < 16 ? 4 : width < 300 ? 4 : width < 480 ? 5 : 8);
  const cell = Math.min(width / columns, 118);
  const top = shows("reach") ? 56 : 32;
  const row = cell + 16;
  const height = top + row * Math.ceil(pairs / columns) + 4;
  return { x: (width - cell * columns) / 2 + 3, y: top - 2, columns, cell, row, r: cell / 2 - 9, height };
}

/** Format a wavelength to fit under a clock face: 6.3, 628, 54,410, 2.6 M. */
function shortly(value) {
  if (value < 99.95) return fmt(value, 1);
  if (value < 999999.5) return grouped(value);
  const millions = value / 1e6;
  return `${millions < 99.95 ? fmt(millions, 1) : grouped(millions)} M`;
}

/** Format a number of turns with at least two significant digits. */
function turnWords(value) {
  if (value === 0) return "0";
  if (value >= 99.95) return grouped(value);
  return fmt(value, value >= 1 ? 1 : Math.min(12, 1 - Math.floor(powerOf(value))));
}

/** Draw the legend that explains the faces' numbers and colours. */
function drawLegend(pen, wide, reach) {
  const long = phrase`In the corner: pair i. Below a face: tokens for a full turn.`;
  pen.text(2, 14, wide ? long : phrase`Corner: pair i. Below: tokens per turn.`);
  if (!reach) return;
  pen.rect(2, 25, 12, 12, { ...SEEN, stroke: ink.position, width: 1 });
  const meaning = phrase`where the hand goes within the context; a diamond: where it never went`;
  pen.text(20, 36, wide ? meaning : phrase`where it goes within the context`);
}

function draw(pen, state, view) {
  const reach = view.shows("reach");
  const all = pairsOf(state, reach ? state.context : Infinity);
  const faces = inRows(all, grid(view.width, all.length, view));
  const [round, partly] = [faces.filter((face) => face.complete), faces.filter((face) => !face.complete)];
  drawLegend(pen, view.width >= 480, reach);
  if (reach) {
    pen.circles(rims(round), SEEN);
    pen.areas(wedges(partly, "reach"), SEEN);
  }
  pen.circles(rims(round), { stroke: ink.position, width: 2 });
  pen.circles(rims(partly), { stroke: ink.muted, width: 1.2, dash: "3 3" });
  pen.lines(hands(faces, 3), { stroke: ink.text, width: 2.4 });
  const astray = faces.filter((face) => face.angle > face.reach);
  unseenPoints(pen, tips(astray, 7), 4.5);
  for (const { i, cx, cy, r, wave, complete } of faces) {
    pen.text(cx - r - 5, cy - r + 7, i, noteMiddle);
    pen.text(cx, cy + r + 16, shortly(wave), { ...noteMiddle, fill: complete ? ink.positionWords : ink.muted });
  }
  return { marks: Object.fromEntries(faces.map((face) => [`pair ${face.i}`, boxAround(face, 2)])) };
}

function readout(state, { shows }) {
  const all = pairsOf(state, state.context);
  const last = all.length - 1;
  const complete = all.filter((hand) => hand.complete).length;
  const lost = all.filter((hand) => hand.angle > hand.reach).length;
  const place = grouped(state.position);
  if (!shows("reach")) {
    const [first, slow] = [all[0], all[last]].map(({ turns }) => turnWords(turns));
    return phrase`At position ${place} the fastest hand has gone round ${first} times, the slowest ${slow} times.`;
  }
  const text = phrase`At position ${place} pair 0 has made ${turnWords(all[0].turns)} turns and pair ${last} has made
    ${turnWords(all[last].turns)}. ${complete} of ${all.length} pairs complete a turn within ${grouped(state.context)} tokens;
    the slowest needs ${grouped(all[last].wave)}.`;
  if (!lost) return text;
  return lost === 1
    ? phrase`${text} 1 hand now points where no position in the context took it.`
    : phrase`${text} ${lost} hands now point where no position in the context took them.`;
}

const results = (state) => ({ complete: pairsOf(state, state.context).filter((hand) => hand.complete).length });

export default live({
  name: "Clocks",
  title: phrase`One clock face for each pair of a head: how far its hand has turned at a position`,
  height: (width, { head_dim }, view) => grid(width, head_dim / 2, view).height,
  draw,
  readout,
  results,
  play: { trait: "position", perSecond: 12, speeds: [1, 10, 100] },
  smooth: ["position"],
});
