import { PRESETS } from "../data/presets.js";
import { axes } from "../lib/axes.js";
import { ink } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { inLines } from "../lib/labels.js";
import { namedBy } from "../lib/leads.js";
import { legendOf } from "../lib/legend.js";
import { memo } from "../lib/memo.js";
import { abbreviated, clamp, decade, geometric, grouped, last, powerOf, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { counted, textWidth, wrapped } from "../lib/words.js";
import { firstNegativeDistance } from "../maths/base_bound.js";
import { comparedFiles, inWords } from "../maths/compare.js";
import { meanCosine } from "../maths/decay.js";
import { invFreq, wavelength } from "../maths/frequencies.js";
import { contentOf, readAny } from "../maths/statement.js";

const FARTHEST = 32768; // how far to search for a negative score, in tokens
const REACH = 131072; // end of the distance axis, in tokens
const LINE = 19; // line height, in pixels
const HEAD = { size: 16, pitch: 22 }; // font size and line height of the verdict, in pixels
const CHIP = { w: 22, h: 24, pitch: 30 }; // padding, height and row spacing of the model chips, in pixels
const CHART = { least: 60, most: 136, above: 26, below: 46 }; // height of the axes, and room for words around them
const SLOWEST = 9; // the wavelength axis ends at 10^SLOWEST tokens per turn

const CHIPS = (namedBy("ConfigInspector").few?.preset ?? []).map((name) => ({ name, words: name.split(" (")[0] }));

const presetOf = (preset) => PRESETS.filter(({ name }) => name === preset)[0];

/** The text of the user's file or, if there is none, of the selected model's file. */
const textOf = (brought, preset) => (brought.trim() ? brought : JSON.stringify(presetOf(preset).config));

/** The texts to read: one file's or, in a comparison, both files'. */
function textsOf({ preset, config, second, other }) {
  const hasSecond = other.trim() || second !== "none";
  return [textOf(config, preset), ...(hasSecond ? [textOf(other, second)] : [])];
}

/** Read a config's text and return {reading} or, if it was rejected, {refused}. If the layers differ, read those
 * that the user selected.
 */
const read = memo((text, layers, length) => {
  const first = readAny(text, null, length);
  const types = first.reading?.layerTypes ?? (first.refused?.reason === "choose" ? first.refused.choices : []);
  if (!types.length) return first;
  return readAny(text, types[layers === "second" && types.length > 1 ? 1 : 0], length);
});

/** @type {(state: any) => any[]} */
const readState = (state) => textsOf(state).map((text) => read(text, state.layers, state.length));

/** What `rope-doctor compare` says of two texts: its verdict with the number of differences, and all that it prints,
 * with a line for each difference and each note. Texts that cannot be compared get the reason instead.
 */
const comparison = memo((texts) => {
  try {
    const [first, second] = texts.map(contentOf);
    const compared = comparedFiles(first, second);
    const printed = inWords(compared);
    const count = counted(compared.differences.length, "difference");
    const verdict = compared.differences.length ? phrase`They do not rotate alike: ${count}` : printed[0];
    const opens = (line, n) => n > 1 && !line.startsWith(" "); // what is indented belongs to the line above it
    return {
      verdict,
      lines: printed
        .map((line, n) => (opens(line, n) ? "\n" : " ") + stopped(line))
        .join("")
        .trim(),
    };
  } catch (error) {
    const why = stopped(phrase`They cannot be compared: ${/** @type {Error} */ (error).message}`);
    return { verdict: why, lines: why };
  }
});

/** Add a full stop unless the line already ends in punctuation. */
const stopped = (line) => (/[.!?]$/.test(line.trim()) ? line.trim() : `${line.trim()}.`);

/** The mean score by distance for the given frequencies, and the first distance at which it is negative. */
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

/** A one-line summary of a reading's settings. */
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

/** The number of pairs that do not complete a turn within the given number of tokens. */
const slowOf = ({ invFreq }, tokens) => wavelength(invFreq).filter((wave) => wave > tokens).length;

/** The headline: how many pairs never complete a turn, whether two files agree, or that a file was rejected. */
function verdictOf(state) {
  const [{ reading, refused }, second] = readState(state);
  if (refused) return phrase`This config is not read.`;
  if (second?.refused) return phrase`The second file is not read.`;
  if (second) return comparison(textsOf(state)).verdict;
  const pairs = reading.invFreq.length;
  const [within, slow] = [reading.longest ?? state.length, slowOf(reading, reading.longest ?? state.length)];
  const [many, far] = [counted(pairs, "hand"), grouped(within)];
  if (slow === 1) return phrase`1 of ${many} never completes a turn in ${far} tokens`;
  return reading.longest
    ? phrase`${slow} of ${many} never complete a turn in the ${far} tokens that it claims`
    : phrase`${slow} of ${many} never complete a turn in ${far} tokens; it claims no length`;
}

/** The verdict and the facts, wrapped into lines. */
const wordsOf = memo((state, width) => {
  const [{ reading, refused }, second] = readState(state);
  const fit = (text, size = 13) => wrapped(text, width - 8, size);
  const head = fit(verdictOf(state), 1.13 * HEAD.size); // allows for bold type
  if (refused) return { head, above: fit(refused.sentence) };
  const theirs = () => second.refused?.sentence ?? facts(second.reading);
  const above = second ? [`● ${facts(reading)}`, `+ ${theirs()}`] : [facts(reading)];
  return { head, above: above.flatMap((line) => fit(line)) };
});

const chips = (width) => inLines(CHIPS, width, { sample: CHIP.w, gap: 6 });

/** The legend of the lengths and of what the chart shows beside them. */
const legend = ({ reading }, { length, view }, width) =>
  legendOf(reading ? [...marks(reading, length), ...keysOf(reading, view)] : [], width - 2);

/** The number of lines that the longest preset needs, so that choosing another preset moves nothing. */
const roomFor = memo((layers, width) => {
  const all = PRESETS.map(({ name }) => ({
    preset: name,
    config: "",
    other: "",
    second: "none",
    layers,
    length: REACH,
    view: "waves",
  }));
  const words = all.map((state) => wordsOf(state, width));
  return {
    head: Math.max(...words.map(({ head }) => head.length)),
    above: Math.max(...words.map(({ above }) => above.length)),
    legend: Math.max(...all.map((state) => legend(readState(state)[0], state, width).height)),
  };
});

/** Lay out, from top to bottom, the models' chips, the verdict, the facts, the legend and the chart, which makes room
 * for the facts of a second file.
 */
function plan(state, width, { small }) {
  const { head, above } = wordsOf(state, width);
  const room = roomFor(state.layers, width);
  const key = legend(readState(state)[0], state, width);
  const first = small ? 0 : CHIP.pitch * (last(chips(width)).line + 1) + 4;
  const facts = first + HEAD.pitch * head.length + 4;
  const top = facts + LINE * above.length;
  const least = first + HEAD.pitch * room.head + 4 + LINE * room.above + room.legend;
  const y = Math.max(least, top + key.height) + CHART.above;
  const h = Math.max(CHART.least, least + CHART.above + CHART.most - y);
  const box = { x: 46, y, w: width - 60, h };
  return { head, above, key, first, facts, top, box, height: y + h + CHART.below };
}

/** Draw a chip for each of a few models, filled for the selected one, and return the chips' tap targets. */
function drawChips(pen, { preset, config }, width) {
  /** @type {Record<string, Tap>} */
  const taps = {};
  for (const { name, words, x, line } of chips(width)) {
    const [isOn, box] = [name === preset && !config.trim(), { x: x + 1, y: CHIP.pitch * line + 1 }];
    const size = { w: CHIP.w + textWidth(words) - 2, h: CHIP.h };
    const fill = isOn ? ink.text : ink.paper;
    pen.rect(box.x, box.y, size.w, size.h, { fill, stroke: isOn ? ink.text : ink.muted, width: 1, radius: 12 });
    pen.text(box.x + size.w / 2, box.y + 16.5, words, { anchor: "middle", fill: isOn ? ink.paper : ink.text });
    taps[name] = { ...box, ...size, set: { preset: name, config: "" } };
  }
  return taps;
}

const TEXT = { stroke: ink.position, width: 3 }; // wider, because another line may cross it
const TRAINED = { stroke: ink.muted, width: 1.5, dash: "2 4" };
const CLAIMED = { stroke: ink.text, width: 1.5, dash: "7 4" };
const PLAIN = { stroke: ink.muted, width: 1.2 };
const HOLLOW = { fill: "none", stroke: ink.position, width: 1.4 };
const NEGATIVE = { fill: ink.score, stroke: ink.text }; // the first score below 0
const ZERO = { words: phrase`first negative`, sign: (pen, x, y) => pen.circle(x + 12, y, 5, NEGATIVE) };

/** The lengths to mark in a chart, as legend entries: the text length, the trained length and the claimed length. Those
 * that are equal share a line and its words. */
function marks({ longest, trained }, length) {
  const lengths = [
    { name: phrase`text`, tokens: length, style: TEXT },
    { name: phrase`trained`, tokens: trained, style: TRAINED },
    { name: phrase`claimed`, tokens: longest, style: CLAIMED },
  ];
  return [...new Set(lengths.map(({ tokens }) => tokens).filter(Boolean))].map((tokens) => {
    const alike = lengths.filter((other) => other.tokens === tokens);
    return { ...alike[0], words: `${alike.map(({ name }) => name).join(" = ")} ${grouped(tokens)}` };
  });
}

/** The legend's entries for the first negative score or, beside wavelengths, for those that the base alone gives and for
 * pairs that do not complete a turn. */
function keysOf(reading, view) {
  if (view === "score") return measured(reading.invFreq).negative === null ? [] : [ZERO];
  const { ropeType, longest } = reading;
  const isSlow = longest && slowOf(reading, longest);
  const sign = (pen, x, y) => pen.circle(x + 12, y, 3, HOLLOW);
  return [
    ropeType !== "nope" && { words: phrase`by the base alone`, style: PLAIN },
    isSlow && { words: phrase`no full turn in ${grouped(longest)} tokens`, sign },
  ].filter(Boolean);
}

/** Plot each pair's wavelength on a logarithmic axis, with a hollow dot for pairs that do not complete a turn
 * within the claimed length. */
function drawWaves(pen, reading, lengths, box, other) {
  const waves = wavelength(reading.invFreq);
  const last = Math.max(1, waves.length - 1, (other?.invFreq.length ?? 0) - 1);
  const raise = (tokens) => clamp(powerOf(tokens), 0, SLOWEST);
  const { X, Y, level } = axes(pen, box, [0, last], [0, SLOWEST], {
    xLabel: phrase`pair, i`,
    yLabel: phrase`Wavelength (tokens)`,
    yTicks: range(0, SLOWEST, 3),
    yFormat: (power) => decade(power),
  });
  for (const { tokens, style } of lengths) level(raise(tokens), style);
  if (reading.ropeType !== "nope") {
    const plain = wavelength(invFreq(reading.rotaryDim, reading.base)).slice(0, waves.length);
    const curve = plain.map((wave, i) => [X(i), Y(raise(wave))]);
    pen.curve(curve, PLAIN);
  }
  const dots = waves.map((wave, i) => [X(i), Y(raise(wave)), 3]);
  const within = (/** @type {boolean} */ is) => dots.filter((_, i) => waves[i] <= (reading.longest ?? Infinity) === is);
  pen.circles(within(true), { fill: ink.position });
  pen.circles(within(false), HOLLOW);
  if (!other) return;
  const crosses = wavelength(other.invFreq).flatMap((wave, i) => {
    const [x, y] = [X(i), Y(raise(wave))];
    return [
      [x - 4, y, x + 4, y],
      [x, y - 4, x, y + 4],
    ];
  });
  pen.lines(crosses, { stroke: ink.text, width: 1.2 });
}

/** Plot the mean score of equal vectors by distance, relative to its value at distance 0. */
function drawScore(pen, reading, lengths, box, other) {
  const { scores, negative } = measured(reading.invFreq);
  const { X, Y, level, upright } = axes(pen, box, [1, REACH], [-0.5, 1], {
    xLabel: phrase`distance (tokens, logarithmic)`,
    yLabel: phrase`Mean score of equal vectors`,
    xLog: true,
    xTicks: [1, 10, 100, 1000, 10000, 100000],
    xFormat: abbreviated,
    yTicks: [-0.5, 0, 0.5, 1],
  });
  for (const { tokens, style } of lengths) upright(clamp(tokens, 1, REACH), style);
  level(0);
  const curve = (points) => points.map(([distance, score]) => [X(distance), Y(clamp(score, -0.5, 1))]);
  pen.curve(curve(scores), { stroke: ink.score, width: 2 });
  if (other) pen.curve(curve(measured(other.invFreq).scores), { stroke: ink.text, width: 1.4, dash: "5 3" });
  if (negative !== null) pen.circle(X(Math.max(1, negative)), Y(0), 5, NEGATIVE);
}

function draw(pen, state, view) {
  const { width, small } = view;
  const [mine, second] = readState(state);
  const { head, above, key, first, facts, top, box } = plan(state, width, view);
  /** @type {Record<string, Tap>} */
  let taps = {};
  pen.part(() => {
    if (!small) taps = drawChips(pen, state, width);
  });
  pen.part(() => {
    const bold = { size: HEAD.size, weight: 700 };
    for (const [i, line] of head.entries()) pen.text(4, first + 17 + HEAD.pitch * i, line, bold);
    for (const [i, line] of above.entries()) pen.text(4, facts + 15 + LINE * i, line, { fill: ink.muted });
  });
  if (mine.refused) return { taps };
  pen.part(() => key.draw(pen, top + 14));
  const drawChart = state.view === "score" ? drawScore : drawWaves;
  pen.part(() => drawChart(pen, mine.reading, marks(mine.reading, state.length), box, second?.reading));
  return { taps };
}

function readout(state) {
  const [{ reading, refused }, second] = readState(state);
  if (refused) return phrase`This config is not read. ${refused.sentence}.`;
  if (second?.refused) return phrase`The second file is not read. ${second.refused.sentence}.`;
  if (second) return comparison(textsOf(state)).lines;
  const pairs = counted(reading.invFreq.length, "pair");
  const { negative } = measured(reading.invFreq);
  const inText = phrase`${slowOf(reading, state.length)} of ${pairs} make no full turn in a text of ${grouped(state.length)} tokens`;
  const claim = reading.longest
    ? phrase`${inText}, ${slowOf(reading, reading.longest)} in the ${grouped(reading.longest)} that the file claims.`
    : phrase`${inText}; the file claims no length.`;
  const score =
    negative === null
      ? phrase`The mean score of equal vectors stays positive to ${grouped(FARTHEST)} tokens.`
      : phrase`The mean score of equal vectors is first negative at distance ${grouped(negative)}.`;
  const shown = state.view === "score" ? [score] : [];
  return [claim, ...shown, ...reading.remarks.map(([, text]) => text)].join(" ");
}

/** List the controls that have an effect: the layer control only if layers differ, and the second file's only once
 * the user has given a file. */
function uses(state, used) {
  const [{ reading }] = readState(state);
  const idle = { layers: !(reading?.layerTypes.length > 1), other: !(state.config.trim() || state.other.trim()) };
  return used.filter((name) => !idle[name]);
}

function results(state) {
  const [{ reading }] = readState(state);
  if (!reading) return { pairs: NaN, slow: NaN, slow_in_claim: NaN };
  const { invFreq, longest } = reading;
  const inClaim = longest ? slowOf(reading, longest) : NaN;
  return { pairs: invFreq.length, slow: slowOf(reading, state.length), slow_in_claim: inClaim };
}

/** Where the chosen model's file comes from; a reader knows the source of a file that they brought. */
const source = ({ config, preset }) => (config.trim() ? "" : phrase`Source: ${presetOf(preset).source}`);

export default live({
  name: "ConfigInspector",
  title: phrase`What a model's config.json or GGUF says of its rotation`,
  height: (width, state, view) => plan(state, width, view).height,
  lines: 5,
  scrolls: true,
  draw,
  readout,
  results,
  source,
  uses,
});
