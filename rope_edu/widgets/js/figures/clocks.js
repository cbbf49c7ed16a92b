import { ink } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { polar, sector } from "../lib/geometry.js";
import { fmt, grouped, powerOf } from "../lib/numbers.js";
import { invFreq, reachWithin, ropeAngles, turnsOf, wavelength, withinTurn } from "../maths/frequencies.js";

const TOP = 56; // two lines of words above the faces

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

const height = (width, { head_dim }) => {
  const { row, rows } = grid(width, head_dim / 2);
  return TOP + row * rows + 4;
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

function draw(pen, state, { width }) {
  const all = hands(state);
  const { columns, cell, row, left } = grid(width, all.length);
  const wide = width >= 480;
  pen.text(
    2,
    14,
    wide ? "In the corner: pair i. Below a face: tokens for a full turn." : "Corner: pair i. Below: tokens per turn.",
  );
  pen.rect(2, 25, 12, 12, { fill: ink.position, opacity: 0.28, stroke: ink.position, width: 1 });
  pen.text(
    20,
    36,
    wide
      ? "where the hand goes within the context; a dashed rim: no full turn there"
      : "where it goes within the context",
  );

  const r = cell / 2 - 9;
  const faces = all.map((hand, i) => {
    const [cx, cy] = [left + ((i % columns) + 0.5) * cell + 3, TOP + Math.floor(i / columns) * row + cell / 2 - 2];
    return { ...hand, i, cx, cy };
  });
  const [round, partly] = [faces.filter(({ complete }) => complete), faces.filter(({ complete }) => !complete)];
  const rim = ({ cx, cy }) => [cx, cy, r];
  const swept = ({ cx, cy, reach }) => sector(cx, cy, r, 0, reach, Math.max(2, Math.ceil(reach * 5)));
  pen.circles(round.map(rim), { fill: ink.position, opacity: 0.28 });
  pen.areas(partly.map(swept), { fill: ink.position, opacity: 0.28 });
  pen.circles(round.map(rim), { stroke: ink.position, width: 2 });
  pen.circles(partly.map(rim), { stroke: ink.muted, width: 1.2, dash: "3 3" });
  pen.lines(
    faces.map(({ cx, cy, angle }) => [cx, cy, ...polar(cx, cy, angle, r - 3)]),
    { stroke: ink.text, width: 2.4 },
  );
  for (const { i, cx, cy, wave, complete } of faces) {
    pen.text(cx - r - 5, cy - r + 7, i, { size: 12, fill: ink.muted, anchor: "middle" });
    const fill = complete ? ink.positionWords : ink.muted;
    pen.text(cx, cy + r + 16, shortly(wave), { size: 12, anchor: "middle", fill });
  }
}

function readout(state) {
  const all = hands(state);
  const last = all.length - 1;
  const complete = all.filter((hand) => hand.complete).length;
  const lost = all.filter((hand) => hand.angle > hand.reach).length;
  const place = grouped(state.position);
  const text =
    `At position ${place} pair 0 has made ${turnWords(all[0].turns)} turns and pair ${last} has made ` +
    `${turnWords(all[last].turns)}. ${complete} of ${all.length} pairs complete a turn within ` +
    `${grouped(state.context)} tokens; the slowest needs ${grouped(all[last].wave)}.`;
  if (state.position <= state.context || !lost) return text;
  const points = lost === 1 ? "1 hand now points" : `${lost} hands now point`;
  return `${text} ${points} where no position in the context took ${lost === 1 ? "it" : "them"}.`;
}

export default live({
  name: "Clocks",
  title: "One clock face for each pair of a head: how far its hand has turned at a position",
  height,
  draw,
  readout,
  play: { trait: "position", perSecond: 12 },
});
