import { axes } from "../lib/axes.js";
import { ink, noteMiddle } from "../lib/colour.js";
import { hands } from "../lib/faces.js";
import { live } from "../lib/figure.js";
import { centred } from "../lib/labels.js";
import { BEYOND, onSpeed, speedShade } from "../lib/marks.js";
import { clamp, decade, fmt, geometric, grouped, powerOf, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { halfEllipse } from "../lib/shapes.js";
import { counted } from "../lib/words.js";
import { invFreq, wavelength } from "../maths/frequencies.js";
import { pairFeatures } from "../maths/layouts.js";
import { partialRope, pRope } from "../maths/partial.js";
import { completesTurn } from "../maths/trained_range.js";

const [FAST, SLOW] = [2, 2e6]; // ends of the chart, in tokens per turn

/** Map a wavelength to a scale from 0 (fast) to 1 (slow). */
const speedOf = (wave) => (powerOf(wave) - powerOf(FAST)) / (powerOf(SLOW) - powerOf(FAST));

/** List the rotating pairs, each with its frequency, features, wavelength and place between fast and slow. */
function turning(frequencies, pairing) {
  const waves = wavelength(frequencies);
  return frequencies.flatMap((frequency, i) => {
    const features = pairFeatures(i, frequencies.length, pairing);
    return frequency ? [{ frequency, features, wave: waves[i], speed: speedOf(waves[i]) }] : [];
  });
}

/** The three variants of a head, each with its exponent divisor, its number of pairs, and the pairs that rotate. */
function headsOf({ head_dim, fraction, base, pairing }) {
  const rotaryDim = head_dim * fraction;
  const partial = { name: phrase`partial rotary`, title: phrase`Partial rotary`, short: phrase`partial` };
  return [
    { name: "RoPE", over: head_dim, frequencies: invFreq(head_dim, base) },
    { ...partial, over: rotaryDim, frequencies: partialRope(rotaryDim, base) },
    { name: "p-RoPE", over: head_dim, frequencies: pRope(head_dim, fraction, base) },
  ].map(({ frequencies, ...head }) => ({ ...head, most: frequencies.length, pairs: turning(frequencies, pairing) }));
}

/** The rotating pair that contains the given feature, if any. */
const pairWith = (pairs, feature) => pairs.find(({ features }) => features.includes(feature));

const narrow = (width) => width < 480;
const HEADS = 3;
const [TITLE, ARC, CELL, GAP] = [20, 18, 44, 12];
const HAND = 31; // distance from the top of a cell to the middle of its hand, in pixels
const ROW = TITLE + ARC + CELL + GAP;
const CHART_TOP = HEADS * ROW + 32;
const STRIP = 26; // pixels per variant in the chart

/** Summarise a variant's rotating pairs in a few words. */
function wordsOf({ over, most, pairs }, width) {
  const exponent = phrase`exponent −2i/${over}`;
  if (width < 310) return exponent;
  if (narrow(width)) return phrase`${counted(pairs.length, "pair")}, ${exponent}`;
  return pairs.length === most
    ? phrase`${most} pairs turn, ${exponent}`
    : phrase`${pairs.length} of ${most} pairs turn, ${exponent}`;
}

function seatsOf(row, headDim, width) {
  const cell = (width - 4) / headDim;
  return { cell, top: row * ROW, y: row * ROW + TITLE + ARC, centre: (j) => 2 + (j + 0.5) * cell };
}

/** Draw an arc from the selected feature to its partner; partners among the others are alike in colour. */
function drawArc(pen, { features: [a, b] }, pairing, { cell, y, centre }) {
  const tall = pairing === "interleaved" ? clamp(0.7 * cell, 8, ARC - 4) : ARC - 4;
  pen.curve(halfEllipse(centre(a), centre(b), y - 1, tall), { stroke: ink.text, width: 3 });
}

/** Draw one cell per feature, in the colour of its speed. */
function drawCells(pen, pairs, headDim, { cell, y, centre }) {
  for (const j of range(0, headDim - 1)) {
    const pair = pairWith(pairs, j);
    const style = pair ? { fill: speedShade(pair.speed) } : { stroke: ink.grid, width: 1 };
    pen.rect(centre(j) - cell / 2 + 1, y, cell - 2, CELL, { ...style, radius: 2 });
    const fill = pair ? onSpeed(pair.speed) : ink.muted;
    pen.text(centre(j), y + 15, cell < 17 && j % 2 ? "" : j, { ...noteMiddle, fill });
  }
}

/** Draw a hand in each rotating cell, in a colour that contrasts with the cell's. */
function drawHands(pen, pairs, position, { cell, y, centre }) {
  const r = Math.min(9.5, cell / 2 - 3);
  const all = pairs.flatMap(({ features, frequency, speed }) =>
    features.map((j) => ({ cx: centre(j), cy: y + HAND, r, angle: position * frequency, stroke: onSpeed(speed) })),
  );
  pen.part(() => {
    for (const stroke of new Set(all.map((hand) => hand.stroke))) {
      const alike = all.filter((hand) => hand.stroke === stroke);
      const hubs = alike.map(({ cx, cy }) => [cx, cy, 1.8]);
      pen.lines(hands(alike, 0), { stroke, width: 2.2 });
      pen.circles(hubs, { fill: stroke });
    }
  });
}

/** Draw one variant's title, arc and cells, with frames around the selected feature and its partner. */
function drawHead(pen, head, { head_dim, pairing, feature, position }, seats, width) {
  const { name, title = name, pairs } = head;
  const { cell, top, y, centre } = seats;
  pen.text(2, top + 14, title, { weight: 600 });
  pen.text(112, top + 14, wordsOf(head, width));
  const chosen = pairWith(pairs, feature);
  pen.part(() => chosen && drawArc(pen, chosen, pairing, seats));
  drawCells(pen, pairs, head_dim, seats);
  drawHands(pen, pairs, position, seats);
  const frame = { stroke: ink.text, width: 2.5, radius: 3, dash: chosen ? undefined : "3 3" };
  for (const j of chosen?.features ?? [feature, feature]) pen.rect(centre(j) - cell / 2, y - 1, cell, CELL + 2, frame);
}

/** Draw the lower chart, which compares each pair's tokens per turn with the trained length. */
function drawWaves(pen, all, state, width) {
  const { trained_length: trained, feature } = state;
  const box = { x: 62, y: CHART_TOP, w: width - 62 - 14, h: HEADS * STRIP };
  const title = narrow(width) ? phrase`Tokens per turn` : phrase`Tokens for a turn of each pair`;
  pen.text(2, CHART_TOP - 24, title, { weight: 600 });
  const { X } = axes(pen, box, [FAST, SLOW], [0, HEADS], {
    xLog: true,
    xLabel: narrow(width)
      ? phrase`tokens; beyond L, no full turn`
      : phrase`wavelength (tokens); beyond L, no full turn in training`,
    xTicks: box.w < 210 ? geometric(10, 1e5, 2) : geometric(10, 1e6, 5),
    xFormat: (value) => decade(powerOf(value), 0, 3),
    yTicks: range(0, HEADS),
    yFormat: () => "",
  });
  const edge = X(trained);
  pen.rect(edge, box.y, box.x + box.w - edge, box.h, BEYOND);
  pen.line(edge, box.y - 4, edge, box.y + box.h, { stroke: ink.text, width: 1.5, dash: "4 3" });
  const length = `L = ${grouped(trained)}`;
  const middle = centred(edge, length, box.x, box.x + box.w, { size: 12 });
  pen.text(middle, box.y - 8, length, { anchor: "middle", size: 12 });
  all.forEach(({ name, short = name, pairs }, row) => {
    const y = box.y + (row + 0.5) * STRIP;
    pen.text(box.x - 6, y + 4, short, { anchor: "end", size: 12 });
    const chosen = pairWith(pairs, feature);
    pen.part(() => {
      for (const pair of [...pairs.filter((other) => other !== chosen), ...(chosen ? [chosen] : [])]) {
        const [r, edge] = pair === chosen ? [8, 2.5] : [5.5, 1];
        pen.circle(X(pair.wave), y, r, { fill: speedShade(pair.speed), stroke: ink.text, width: edge });
      }
    });
  });
}

function draw(pen, state, { width }) {
  const { head_dim, feature } = state;
  const all = headsOf(state);
  const seats = all.map((_, row) => seatsOf(row, head_dim, width));
  for (const [row, head] of all.entries()) drawHead(pen, head, state, seats[row], width);
  drawWaves(pen, all, state, width);
  const [{ cell, y, centre }] = seats;
  const at = (px) => clamp(Math.floor((px - 2) / cell), 0, head_dim - 1);
  return { feature: { x: centre(feature), y: y + CELL / 2, at, ink: ink.text, box: [cell + 4, CELL + 6] } };
}

function readout(state) {
  const { feature, trained_length: trained } = state;
  const all = headsOf(state);
  const said = all.map(({ name, pairs }) => {
    const pair = pairWith(pairs, feature);
    if (!pair) return phrase`${name} leaves it alone`;
    const partner = pair.features.find((other) => other !== feature);
    const tokens = pair.wave < 100 ? fmt(pair.wave, 1) : grouped(pair.wave);
    return phrase`${name} turns it with feature ${partner}, once in ${tokens} tokens`;
  });
  const counts = all.map(({ pairs }) => {
    const frequencies = pairs.map(({ frequency }) => frequency);
    return phrase`${completesTurn(frequencies, trained).filter(Boolean).length} of ${pairs.length}`;
  });
  const where = state.position ? phrase`At position ${grouped(state.position)}. ` : "";
  return phrase`${where}Feature ${feature}: ${said.join(phrase`; `)}. Pairs that complete a turn within
    ${grouped(trained)} tokens: ${counts[0]} in RoPE, ${counts[1]} in partial rotary, ${counts[2]} in p-RoPE.`;
}

function results(state) {
  const frequencies = headsOf(state)[0].pairs.map(({ frequency }) => frequency);
  return { complete: completesTurn(frequencies, state.trained_length).filter(Boolean).length };
}

export default live({
  name: "WhatTurns",
  title: phrase`One head under RoPE, partial rotary and p-RoPE: what turns, how fast, and with whom`,
  height: () => CHART_TOP + HEADS * STRIP + 40,
  lines: 4,
  draw,
  readout,
  results,
  play: { trait: "position", perSecond: 6, speeds: [1, 10] },
  smooth: ["position"],
});
