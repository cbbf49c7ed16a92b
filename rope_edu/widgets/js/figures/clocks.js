import { ink, noteMiddle } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { polar } from "../lib/geometry.js";
import { SEEN, unseenPoints } from "../lib/marks.js";
import { fmt, grouped, powerOf } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { sector } from "../lib/shapes.js";
import { invFreq, reachWithin, ropeAngles, turnsOf, wavelength, withinTurn } from "../maths/frequencies.js";

const TOP = 56; // two lines of words above the faces
const topOf = ({ shows }) => (shows("reach") ? TOP : TOP - 24);

/** Every pair's speed, wavelength and angle, and whether it completes a turn within the context. */
function hands({ position, head_dim, base, context }) {
  const frequencies = invFreq(head_dim, base);
  const [waves, angles] = [wavelength(frequencies), ropeAngles(position, frequencies)];
  return frequencies.map((frequency, i) => ({
    wave: waves[i],
    turns: turnsOf(angles[i]),
    angle: withinTurn(angles[i]),
    reach: reachWithin(context, frequency),
    complete: waves[i] <= context,
  }));
}

/** How the faces stand: columns, side of a cell, height of a row, left edge. */
function grid(width, pairs) {
  const columns = Math.min(pairs, width >= 480 && pairs >= 16 ? 8 : 4);
  const cell = Math.min(width / columns, 118);
  return { columns, cell, row: cell + 16, left: (width - cell * columns) / 2, rows: Math.ceil(pairs / columns) };
}

const height = (width, { head_dim }, view) => {
  const { row, rows } = grid(width, head_dim / 2);
  return topOf(view) + row * rows + 4;
};

/** 6.3, 628, 54,410, 2.6 M: a wavelength that fits under a face. */
function shortly(value) {
  if (value < 99.95) return fmt(value, 1);
  if (value < 999999.5) return grouped(value);
  const millions = value / 1e6;
  return `${millions < 99.95 ? fmt(millions, 1) : grouped(millions)} M`;
}

/** Turns made, with as many decimals as it takes to see two digits. */
function turnWords(value) {
  if (value === 0) return "0";
  if (value >= 99.95) return grouped(value);
  return fmt(value, value >= 1 ? 1 : Math.min(12, 1 - Math.floor(powerOf(value))));
}

/** What the colour means, above the faces. */
function drawLegend(pen, wide) {
  pen.rect(2, 25, 12, 12, { ...SEEN, stroke: ink.position, width: 1 });
  const long = phrase`where the hand goes within the context; a diamond: where it never went`;
  pen.text(20, 36, wide ? long : phrase`where it goes within the context`);
}

function draw(pen, state, view) {
  const { width } = view;
  const all = hands(state);
  const { columns, cell, row, left } = grid(width, all.length);
  const wide = width >= 480;
  const long = phrase`In the corner: pair i. Below a face: tokens for a full turn.`;
  pen.text(2, 14, wide ? long : phrase`Corner: pair i. Below: tokens per turn.`);
  if (view.shows("reach")) drawLegend(pen, wide);

  const r = cell / 2 - 9;
  const top = topOf(view);
  const faces = all.map((hand, i) => {
    const [cx, cy] = [left + ((i % columns) + 0.5) * cell + 3, top + Math.floor(i / columns) * row + cell / 2 - 2];
    return { ...hand, i, cx, cy };
  });
  const complete = (/** @type {{complete: boolean}} */ hand) => hand.complete || !view.shows("reach");
  const [round, partly] = [faces.filter(complete), faces.filter((hand) => !complete(hand))];
  const rim = ({ cx, cy }) => [cx, cy, r];
  const swept = ({ cx, cy, reach }) => sector(cx, cy, r, 0, reach, Math.max(2, Math.ceil(reach * 5)));
  if (view.shows("reach")) {
    pen.circles(round.map(rim), SEEN);
    pen.areas(partly.map(swept), SEEN);
  }
  pen.circles(round.map(rim), { stroke: ink.position, width: 2 });
  pen.circles(partly.map(rim), { stroke: ink.muted, width: 1.2, dash: "3 3" });
  const hand = ({ cx, cy, angle }) => [cx, cy, ...polar(cx, cy, angle, r - 3)];
  pen.lines(faces.map(hand), { stroke: ink.text, width: 2.4 });
  const astray = view.shows("reach") ? faces.filter(({ angle, reach }) => angle > reach) : [];
  const tips = astray.map(({ cx, cy, angle }) => polar(cx, cy, angle, r - 7));
  unseenPoints(pen, tips, 4.5);
  for (const face of faces) {
    const { i, cx, cy, wave } = face;
    pen.text(cx - r - 5, cy - r + 7, i, noteMiddle);
    const fill = complete(face) ? ink.positionWords : ink.muted;
    pen.text(cx, cy + r + 16, shortly(wave), { size: 12, anchor: "middle", fill });
  }
  const around = ({ cx, cy }) => ({ x: cx - r - 2, y: cy - r - 2, w: 2 * r + 4, h: 2 * r + 4 });
  return { marks: Object.fromEntries(faces.map((face) => [`pair ${face.i}`, around(face)])) };
}

function readout(state, { shows }) {
  const all = hands(state);
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
  if (state.position <= state.context || !lost) return text;
  return lost === 1
    ? phrase`${text} 1 hand now points where no position in the context took it.`
    : phrase`${text} ${lost} hands now point where no position in the context took them.`;
}

export default live({
  name: "Clocks",
  title: phrase`One clock face for each pair of a head: how far its hand has turned at a position`,
  height,
  draw,
  readout,
  play: { trait: "position", perSecond: 12, speeds: [1, 10, 100] },
  smooth: ["position"],
});
