import { PRESETS } from "../data/presets.js";
import { axes } from "../lib/axes.js";
import { ink, note } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { inLines } from "../lib/labels.js";
import { memo } from "../lib/memo.js";
import { abbreviated, clamp, decade, geometric, grouped, powerOf, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { counted, textWidth, wrapped } from "../lib/words.js";
import { firstNegativeDistance } from "../maths/base_bound.js";
import { comparedFiles, inWords } from "../maths/compare.js";
import { meanCosine } from "../maths/decay.js";
import { invFreq, wavelength } from "../maths/frequencies.js";
import { contentOf, lineOf, readAny } from "../maths/statement.js";

const FARTHEST = 32768; // how far to search for a negative score, in tokens
const REACH = 131072; // end of the distance axis, in tokens
const LINE = 19; // pixels
const BADGE = 30; // height of the verdict, in pixels
const SLOWEST = 9; // the wavelength axis ends at 10^SLOWEST tokens per turn

const presetOf = (preset) => PRESETS.filter(({ name }) => name === preset)[0];

/** The text of the user's file or, if there is none, of the selected model's file. */
const textOf = (brought, preset) => (brought.trim() ? brought : JSON.stringify(presetOf(preset).config));

/** The text of the file and, in a comparison, the text of the second file. */
function textsOf({ preset, config, second, other }) {
  const hasSecond = other.trim() || second !== "none";
  return [textOf(config, preset), ...(hasSecond ? [textOf(other, second)] : [])];
}

/** The reading of a text, or the reason why it was rejected; if layers differ, the reading of the selected layers.
 */
const read = memo((text, layers, length) => {
  const first = readAny(text, null, length);
  const types = first.reading?.layerTypes ?? (first.refused?.reason === "choose" ? first.refused.choices : []);
  if (!types.length) return first;
  return readAny(text, types[layers === "second" && types.length > 1 ? 1 : 0], length);
});

/** @type {(state: any) => any[]} */
const readState = (state) => textsOf(state).map((text) => read(text, state.layers, state.length));

/** The lines that `rope-doctor compare` prints for two texts, or the reason why there is no verdict. */
const comparison = memo((texts) => {
  try {
    const [first, second] = texts.map(contentOf);
    return inWords(comparedFiles(first, second)).map(stopped).join(" ");
  } catch (error) {
    return stopped(phrase`They cannot be compared: ${/** @type {Error} */ (error).message}`);
  }
});

/** End a line with a full stop. */
const stopped = (line) => (/[.!?]$/.test(line.trim()) ? line.trim() : `${line.trim()}.`);

/** The score curve for a set of frequencies, and the first distance with a negative score. */
const measured = memo((frequencies) => {
  const distances = geometric(1, REACH, 240).map(Math.round);
  const means = meanCosine(frequencies, distances);
  return {
    negative: firstNegativeDistance(frequencies, FARTHEST),
    scores: distances.map((distance, n) => [distance, means[n]]),
  };
});

/** Format a number with at most five significant digits. */
const short = (value) => String(Number(value.toPrecision(5)));

/** A reading's facts, as phrases on one line. */
function facts({ ropeType, base, headDim, rotaryDim, layout, attentionFactor, sections, factor, layerType }) {
  return [
    `${ropeType}${factor ? phrase`, factor ${short(factor)}` : ""}`,
    ropeType === "nope" ? phrase`no base` : phrase`base ${grouped(base)}`,
    rotaryDim < headDim ? phrase`${rotaryDim} of ${headDim} features turn` : phrase`head of ${headDim}`,
    layout.replace("_", "-"),
    phrase`attention factor ${short(attentionFactor)}`,
    ...(sections ? [phrase`sections ${sections.join(", ")}`] : []),
    ...(layerType ? [phrase`layers: ${layerType}`] : []),
  ].join(" · ");
}

/** The text above and below the chart, wrapped into lines. */
const wordsOf = memo((state, width) => {
  const [{ reading, refused, content }, second] = readState(state);
  const fit = (text, size) => wrapped(text, width - 8, size);
  if (refused) return { above: fit(refused.sentence), below: [] };
  const theirs = () => second.refused?.sentence ?? facts(second.reading);
  const above = second ? [`● ${facts(reading)}`, `+ ${theirs()}`] : [facts(reading)];
  const source = state.config.trim() ? [] : [phrase`Source: ${presetOf(state.preset).source}`];
  return {
    above: above.flatMap((line) => fit(line)),
    below: [lineOf(reading, content), ...source].flatMap((line) => fit(line, 12)),
  };
});

/** Lay out, from top to bottom, the text, the legend, the chart and the remaining text. */
function plan(state, width) {
  const { above, below } = wordsOf(state, width);
  const [{ reading }] = readState(state);
  const all = reading ? inLines(marks(reading, state.length), width, { sample: 26 }) : [];
  const lines = all.at(-1)?.line ?? 0;
  const top = BADGE + LINE * above.length;
  const chart = width < 480 ? 300 : 340;
  const box = { x: 46, y: top + 50 + LINE * lines, w: width - 60, h: chart - 110 };
  return { above, below, all, top, box, height: top + LINE * (lines + below.length) + (reading ? chart : 20) };
}

/** The lengths that a chart marks. */
function marks({ longest, trained }, length) {
  const mark = (name, tokens, stroke, dash) => ({ words: `${name} ${grouped(tokens)}`, tokens, stroke, dash });
  return [
    longest && mark(phrase`claimed`, longest, ink.text, "7 4"),
    trained && trained !== longest && mark(phrase`trained`, trained, ink.muted, "2 4"),
    mark(phrase`text`, length, ink.position, "4 3"),
  ].filter(Boolean);
}

function drawLegend(pen, all, top) {
  for (const { words: name, x, line, stroke, dash } of all) {
    const y = top + LINE * line;
    pen.line(x, y - 4, x + 20, y - 4, { stroke, width: 2, dash });
    pen.text(x + 26, y, name);
  }
}

/** Plot each pair's wavelength on a logarithmic axis, with a hollow dot for pairs that do not complete a turn
 * within the claimed length. */
function drawWaves(pen, reading, all, box, other) {
  const waves = wavelength(reading.invFreq);
  const last = Math.max(1, waves.length - 1, (other?.invFreq.length ?? 0) - 1);
  const level = (tokens) => clamp(powerOf(tokens), 0, SLOWEST);
  const { X, Y } = axes(pen, box, [0, last], [0, SLOWEST], {
    xLabel: phrase`pair, i`,
    yLabel: phrase`Wavelength (tokens)`,
    yTicks: range(0, SLOWEST, 3),
    yFormat: (power) => decade(power),
  });
  for (const { tokens, stroke, dash } of all) {
    pen.line(box.x, Y(level(tokens)), box.x + box.w, Y(level(tokens)), { stroke, width: 1.5, dash });
  }
  if (reading.ropeType !== "nope") {
    const plain = wavelength(invFreq(reading.rotaryDim, reading.base)).slice(0, waves.length);
    const curve = plain.map((wave, i) => [X(i), Y(level(wave))]);
    pen.curve(curve, { stroke: ink.muted, width: 1.2 });
  }
  const dots = waves.map((wave, i) => [X(i), Y(level(wave)), 3]);
  const within = (/** @type {boolean} */ is) => dots.filter((_, i) => waves[i] <= (reading.longest ?? Infinity) === is);
  pen.circles(within(true), { fill: ink.position });
  pen.circles(within(false), { fill: "none", stroke: ink.position, width: 1.4 });
  if (!other) return;
  const crosses = wavelength(other.invFreq).flatMap((wave, i) => {
    const [x, y] = [X(i), Y(level(wave))];
    return [
      [x - 4, y, x + 4, y],
      [x, y - 4, x, y + 4],
    ];
  });
  pen.lines(crosses, { stroke: ink.text, width: 1.2 });
}

/** Plot the mean score of equal vectors, relative to its value at distance 0. */
function drawScore(pen, reading, all, box, other) {
  const { scores, negative } = measured(reading.invFreq);
  const { X, Y } = axes(pen, box, [1, REACH], [-0.5, 1], {
    xLabel: phrase`distance (tokens, logarithmic)`,
    yLabel: phrase`Mean score of equal vectors`,
    xLog: true,
    xTicks: [1, 10, 100, 1000, 10000, 100000],
    xFormat: abbreviated,
    yTicks: [-0.5, 0, 0.5, 1],
  });
  for (const { tokens, stroke, dash } of all) {
    const x = X(clamp(tokens, 1, REACH));
    pen.line(x, box.y, x, box.y + box.h, { stroke, width: 1.5, dash });
  }
  pen.line(box.x, Y(0), box.x + box.w, Y(0), { stroke: ink.muted, width: 1 });
  const curve = (points) => points.map(([distance, score]) => [X(distance), Y(clamp(score, -0.5, 1))]);
  pen.curve(curve(scores), { stroke: ink.score, width: 2 });
  if (other) pen.curve(curve(measured(other.invFreq).scores), { stroke: ink.text, width: 1.4, dash: "5 3" });
  if (negative !== null) pen.circle(X(Math.max(1, negative)), Y(0), 5, { fill: ink.score, stroke: ink.text });
}

/** Write the verdict above the facts: read, read with remarks, or rejected. */
function drawBadge(pen, { reading, refused }) {
  const remarks = reading?.remarks.length ?? 0;
  const good = [phrase`✓ read`, ink.positionWords, ink.paper];
  const noted = [phrase`! read, with ${counted(remarks, "remark")}`, ink.other, ink.onOther];
  const [words, fill, on] = refused ? [phrase`✗ refused`, ink.text, ink.paper] : remarks ? noted : good;
  pen.rect(4, 2, textWidth(words, 13, true) + 18, 22, { fill, radius: 11 });
  pen.text(13, 18, words, { fill: on, weight: 600 });
}

function draw(pen, state, { width }) {
  const [first, second] = readState(state);
  const { above, below, all, top, box, height } = plan(state, width);
  drawBadge(pen, first);
  pen.part(() => {
    for (const [i, line] of above.entries()) pen.text(4, BADGE + 15 + LINE * i, line);
    for (const [i, line] of below.entries()) pen.text(4, height - 6 - LINE * (below.length - 1 - i), line, note);
  });
  if (first.refused) return;
  drawLegend(pen, all, top + 18);
  const drawChart = state.view === "score" ? drawScore : drawWaves;
  pen.part(() => drawChart(pen, first.reading, all, box, second?.reading));
}

function readout(state) {
  const [{ reading, refused }, second] = readState(state);
  if (refused) return phrase`This config is not read. ${refused.sentence}.`;
  if (second?.refused) return phrase`The second file is not read. ${second.refused.sentence}.`;
  if (second) return comparison(textsOf(state));
  const waves = wavelength(reading.invFreq);
  const { negative } = measured(reading.invFreq);
  const slow = (tokens) => waves.filter((wave) => wave > tokens).length;
  const inText = phrase`${slow(state.length)} of ${counted(waves.length, "pair")} make no full turn in a text of ${grouped(state.length)} tokens`;
  const claim = reading.longest
    ? phrase`${inText}, ${slow(reading.longest)} in the ${grouped(reading.longest)} that the file claims.`
    : phrase`${inText}; the file claims no length.`;
  const score =
    negative === null
      ? phrase`The mean score of equal vectors stays positive to ${grouped(FARTHEST)} tokens.`
      : phrase`The mean score of equal vectors is first negative at distance ${grouped(negative)}.`;
  return [claim, score, ...reading.remarks.map(([, text]) => text)].join(" ");
}

/** The layer control has an effect only if there are two kinds of layer. */
function uses(state) {
  const [{ reading }] = readState(state);
  return Object.keys(state).filter((name) => name !== "layers" || reading?.layerTypes.length > 1);
}

export default live({
  name: "ConfigInspector",
  title: phrase`What a model's config.json or GGUF says of its rotation`,
  height: (width, state) => plan(state, width).height,
  lines: 6,
  draw,
  readout,
  uses,
});
