import { LENGTH } from "../data/length.js";
import { axes } from "../lib/axes.js";
import { ink, note, ruleInk, ruleWords } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { nameEnds, roomForNames } from "../lib/line_ends.js";
import { BEYOND, SEEN } from "../lib/marks.js";
import { clamp, fmt, grouped, last, range } from "../lib/numbers.js";
import { drawPencil } from "../lib/pencil.js";
import { phrase, phraseOf } from "../lib/phrase.js";
import { guessGap } from "../maths/drawn_guess.js";

const [PARTS, TOP] = [16, 3]; // number of parts of the text; loss at height 1 of a drawn guess, in nats
const [LOW, HIGH] = [-0.25, 3];
const THIN = { width: 1.2, opacity: 0.7 };
const WITHIN = 4; // index of a part within the trained length
const MIDDLES = range(0, PARTS - 1).map((part) => (LENGTH.tokens * (part + 0.5)) / PARTS);

const waits = ({ guess_first, guess }) => guess_first && guess.length < PARTS;
const remedyOf = ({ remedy }) => LENGTH.remedies.filter(({ name }) => name === remedy)[0];
const trained = () => LENGTH.remedies[0];

/** The remedies' names at the ends of their curves, in a wide and in a narrow picture. @type {Record<string, [string, string]>} */
const NAMES = {
  plain: [phrase`as trained`, phrase`as trained`],
  "pi-2": ["PI", "PI"],
  "ntk-aware-2": ["NTK-aware", "NTK"],
  "all-held": [phrase`distances held`, phrase`all held`],
  "slow-held": [phrase`slow pairs held`, phrase`slow held`],
  "fast-held": [phrase`fast pairs held`, phrase`fast held`],
};
const isNarrow = (width) => width < 480;
const nameOf = ({ name }, width) => NAMES[name][isNarrow(width) ? 1 : 0];

/** The chart, with room for the names to its right. */
function boxOf(width) {
  const room = roomForNames(LENGTH.remedies.map((remedy) => nameOf(remedy, width)));
  return { x: 40, y: 44, w: width - 40 - room, h: isNarrow(width) ? 230 : 270 };
}

/** Draw one curve per remedy, with its name at its end, and with the selected remedy's in bold. */
function drawCurves(pen, state, width, { X, Y }) {
  const chosen = remedyOf(state);
  const pathOf = ({ costs }) => costs[state.text].map((cost, n) => [X(MIDDLES[n]), Y(clamp(cost, LOW, HIGH))]);
  const inkOf = ({ rule }) => ruleInk[rule] ?? ink.muted;
  for (const remedy of LENGTH.remedies)
    pen.curve(pathOf(remedy), { ...THIN, stroke: inkOf(remedy), dash: remedy.rule ? undefined : "4 3" });
  pen.curve(pathOf(chosen), { stroke: chosen.rule === "rope" ? ink.text : inkOf(chosen), width: 4 });
  const ends = LENGTH.remedies.map((remedy) => ({
    name: nameOf(remedy, width),
    end: last(pathOf(remedy)),
    stroke: inkOf(remedy),
    words: ruleWords[remedy.rule] ?? ink.muted,
    weight: remedy === chosen ? 700 : 400,
  }));
  nameEnds(pen, boxOf(width), ends);
}

/** Draw the reader's guess as a line, with the pencil at its end. */
function drawGuess(pen, state, box, Y) {
  if (!state.guess_first) return {};
  const guess = drawPencil(pen, box, Y, { guess: state.guess, parts: PARTS, unit: TOP, low: LOW, high: HIGH });
  if (waits(state)) {
    const words =
      box.w < 400 ? phrase`Draw: drag this pencil` : phrase`Draw what the tokens will cost: drag this pencil`;
    pen.text(box.x + 12, Y(0) - 26, words, { size: 14, weight: 600, fill: ink.otherWords });
  }
  return { guess };
}

function draw(pen, state, { width }) {
  const box = boxOf(width);
  const edge = box.x + (box.w * LENGTH.trained) / LENGTH.tokens;
  pen.rect(box.x, box.y, edge - box.x, box.h, { ...SEEN, opacity: 0.12 });
  pen.rect(edge, box.y, box.x + box.w - edge, box.h, BEYOND);
  const scales = axes(pen, box, [0, LENGTH.tokens], [LOW, HIGH], {
    xLabel: phrase`place in the text (tokens)`,
    yLabel: phrase`Extra cost (nats per token)`,
    xTicks: range(0, LENGTH.tokens, 4096),
    xFormat: grouped,
    yTicks: [0, 1, 2, 3],
  });
  pen.text(box.x + 6, box.y + 16, phrase`trained`, { size: 12, fill: ink.positionWords, weight: 600 });
  pen.text(edge + 6, box.y + 16, phrase`beyond`, { size: 12, fill: ink.otherWords, weight: 600 });
  const limit = grouped(LENGTH.trained);
  const zero = isNarrow(width)
    ? phrase`0: reading ≤ ${limit} tokens`
    : phrase`0: the same model, reading at most ${limit} tokens`;
  pen.text(box.x + 6, scales.Y(LOW) - 4, zero, note);
  if (!waits(state)) pen.part(() => drawCurves(pen, state, width, scales));
  return drawGuess(pen, state, box, scales.Y);
}

/** Say how far the drawn guess is from the curve of the model as trained. */
function judged({ guess_first, guess, text }) {
  if (!guess_first) return "";
  const shares = MIDDLES.map((token) => token / LENGTH.tokens);
  const truth = trained().costs[text].map((cost) => cost / TOP);
  return phrase`Your guess was off by ${fmt(TOP * guessGap(0, guess, shares, truth), 1)} nats on average.`;
}

function readout(state) {
  if (waits(state))
    return phrase`The model was trained on ${grouped(LENGTH.trained)} tokens and reads ${grouped(LENGTH.tokens)}. Draw how
      much more a token costs it, as trained, than if it read at most ${grouped(LENGTH.trained)}; then the measured curves appear. You have drawn ${state.guess.length} of ${PARTS} parts.`;
  const { called, costs } = remedyOf(state);
  const end = (remedy) => fmt(last(remedy.costs[state.text]), 2);
  const told = phrase`In the last sixteenth a token costs the model, as trained, ${end(trained())} nats more than if it
    read at most ${grouped(LENGTH.trained)} tokens.`;
  const [early, place] = [costs[state.text][WITHIN], grouped(MIDDLES[WITHIN])];
  const other = phrase`With ${phraseOf(called)} it costs ${end(remedyOf(state))} more there, and ${fmt(early, 2)} around token ${place}, where nothing needs a remedy.`;
  return [judged(state), told, state.remedy === "plain" ? "" : other].filter(Boolean).join(" ");
}

export default live({
  name: "LengthCurve",
  title: phrase`The cost of tokens beyond the trained length of SmolLM2, by place, for every remedy`,
  height: (width) => boxOf(width).y + boxOf(width).h + 46,
  draw,
  readout,
  buttons: [
    { label: phrase`Guess again`, move: () => ({ guess_first: true, guess: [] }) },
    { label: phrase`Show the curves`, move: () => ({ guess_first: false }) },
  ],
});
