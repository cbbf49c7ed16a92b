import { ink, note, noteEnd, noteMiddle, onShade, shade } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { Labels, spotsAround } from "../lib/labels.js";
import { clamp, fmt, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { crossOf, diamond, gap, planeOf } from "../lib/shapes.js";
import { quoted, shortened, textWidth } from "../lib/words.js";
import { distance } from "../maths/complex.js";
import { readWords } from "../maths/order.js";

const STILL = 1e-9; // outputs closer than this lie on each other

const wordsOf = (text) => text.split(" ");
const key = (word) => word.toLowerCase();

/** For each place of `words`, how many times that word has come before, as a name: "the 0", "the 1". */
function tokens(words) {
  const before = (place) => words.slice(0, place).filter((word) => key(word) === key(words[place])).length;
  return words.map((word, place) => `${key(word)} ${before(place)}`);
}

/** The two sentences, read, and which place of the second each word of the first has gone to (−1: nowhere). */
function compare({ sentence, rearranged, look, causal, layers }) {
  const [first, second] = [sentence, rearranged].map((text) => {
    const words = wordsOf(text);
    return { words, ...readWords(words, causal, layers) };
  });
  const [here, there] = [tokens(first.words), tokens(second.words)];
  const to = here.map((token) => there.indexOf(token));
  const looked = look - 1;
  const at = (sentence, place) => /** @type {Pair} */ (sentence.outputs[place]);
  const moves = to.map((n, m) => (n < 0 ? NaN : distance(at(first, m), at(second, n))));
  const sameWords = here.length === there.length && !to.includes(-1);
  const unmoved = moves.filter((move) => move < STILL).length;
  return { first, second, to, looked, moves, sameWords, unmoved };
}

// ------------------------------------------------------------------------------------------------ drawing

const narrow = (width) => width < 520;
const ROWS = { wide: 142, tall: 176 }; // height of the two sentences

/** The two sentences, one above the other, with a line from each word to the place where it has gone. */
function drawSentences(pen, { first, second, to, looked }, width) {
  const tall = narrow(width);
  const [x0, size, boxHeight] = tall ? [2, 12, 28] : [84, 14, 30];
  const [top, bottom] = tall ? [20, 110] : [8, 88];
  const count = Math.max(first.words.length, second.words.length);
  const step = (width - x0) / count;
  const w = Math.min(step - (tall ? 4 : 10), 130);
  const X = (place) => x0 + step * (place + 0.5);
  const moves = (wanted) =>
    to.flatMap((n, m) => (n >= 0 && (m === looked) === wanted ? [[X(m), top + boxHeight, X(n), bottom]] : []));
  pen.lines(moves(false), { stroke: ink.muted, width: 1.2 });
  pen.lines(moves(true), { stroke: ink.text, width: 2.5 });
  if (tall) pen.rect(0, bottom - 21, 78, 18, { fill: ink.paper }); // keeps the lines out of the words
  pen.text(tall ? 2 : 0, tall ? 13 : top + 20, phrase`Sentence 1`, { size: 13 });
  pen.text(tall ? 2 : 0, tall ? bottom - 7 : bottom + 20, phrase`Sentence 2`, { size: 13, weight: 600 });
  const box = (word, place, y, filled, marked, missing) => {
    const x = X(place) - w / 2;
    if (filled) pen.rect(x, y, w, boxHeight, { fill: ink.value, radius: 5, opacity: 0.32 });
    pen.rect(x, y, w, boxHeight, {
      fill: filled ? "none" : ink.paper,
      radius: 5,
      stroke: marked ? ink.text : ink.muted,
      width: marked ? 2.5 : 1,
      dash: missing ? "4 3" : undefined,
    });
    const style = { size, anchor: "middle", weight: marked ? 600 : undefined };
    pen.text(X(place), y + boxHeight / 2 + 4.5, shortened(word, w - 4, size, marked), style);
  };
  for (const [m, word] of first.words.entries()) box(word, m, top, false, m === looked, to[m] < 0);
  for (const [n, word] of second.words.entries()) box(word, n, bottom, true, n === to[looked], !to.includes(n));
  if (second.words.length < 2) return {};
  const middle = clamp(X(Math.max(0, to[looked])), x0 + 62, width - 62);
  pen.text(middle, bottom + boxHeight + 16, phrase`← drag any word →`, noteMiddle);
  const seat = (px) => clamp(Math.floor((px - x0) / step), 0, count - 1);
  const grip = (place) => ({
    trait: "rearranged",
    x: X(place),
    y: bottom + boxHeight / 2,
    at: (px) => movedTo(second.words, place, seat(px)),
    ink: place === to[looked] ? ink.text : ink.value,
    box: [step - 2, boxHeight + 4],
  });
  const kept = [...to.keys()].filter((m) => to[m] >= 0);
  const around = (n) => ({ x: X(n) - w / 2 - 3, y: bottom - 3, w: w + 6, h: boxHeight + 6 });
  const marks = Object.fromEntries(second.words.map((_, n) => [`word ${n + 1}`, around(n)]));
  return { ...Object.fromEntries(kept.map((m) => [`word ${m}`, grip(to[m])])), marks };
}

/** The words as a sentence, with the one at `from` taken out and put at `place`. */
function movedTo(words, from, place) {
  const others = words.filter((_, n) => n !== from);
  return [...others.slice(0, place), words[from], ...others.slice(place)].join(" ");
}

/** How the outputs compare, in a few words. */
function verdict({ to, unmoved, sameWords }) {
  const shared = to.filter((n) => n >= 0).length;
  if (!sameWords) return phrase`${shared - unmoved} of ${shared} shared words moved`;
  if (unmoved === to.length)
    return to.length === 1 ? phrase`The output stayed put` : phrase`All ${to.length} outputs stayed put`;
  return phrase`${to.length - unmoved} of ${to.length} outputs moved`;
}

/** The plane: a ring for each output of sentence 1, a dot for each of sentence 2, a diamond for the means. */
function drawOutputs(pen, seen, x, y, side) {
  const { first, second, to, looked } = seen;
  const all = [...first.outputs, ...second.outputs].flat().map(Math.abs);
  const reach = [0.5, 0.75, 1, 1.25, 1.5, 2, 2.5, 3].find((r) => r >= 1.12 * Math.max(...all)) ?? 4;
  const unit = side / 2 / reach;
  const [cx, cy] = [x + side / 2, y + side / 2];
  const { at } = planeOf(cx, cy, unit);
  pen.rect(x, y, side, side, { stroke: ink.grid, width: 1 });
  pen.lines(crossOf(x, y, side), { stroke: ink.grid, width: 1 });
  const labels = new Labels({ x, y, w: side, h: side });

  // what one half of each axis is worth
  pen.text(x + side - 4, cy + 14, reach, noteEnd);
  pen.text(cx + 5, y + 14, reach, note);
  labels.avoid(x + side - 30, cy + 2, x + side, cy + 17);
  labels.avoid(cx + 3, y, cx + 30, y + 17);
  to.forEach((n, m) => {
    const a = at(first.outputs[m]);
    const b = n < 0 ? a : at(second.outputs[n]);
    const far = gap(a, b);
    const hidden = far < 14; // still drawn, so that the elements after it keep their places
    const [ux, uy] = hidden ? [0, 0] : [(b[0] - a[0]) / far, (b[1] - a[1]) / far];
    const style = { stroke: m === looked ? ink.text : ink.muted, width: m === looked ? 2 : 1.3, dash: "4 3", head: 7 };
    pen.arrow(a[0] + 8 * ux, a[1] + 8 * uy, b[0] - 6 * ux, b[1] - 6 * uy, { ...style, opacity: hidden ? 0 : 1 });
  });
  for (const output of second.outputs) {
    pen.circle(...at(output), 5, { fill: ink.value, stroke: ink.text, width: 1 });
    labels.avoidDot(at(output), 6);
  }
  first.outputs.forEach((output, m) => {
    pen.circle(...at(output), 8.5, { stroke: m === looked ? ink.text : ink.muted, width: m === looked ? 2.5 : 1.5 });
    labels.avoidDot(at(output), 9);
  });
  pen.area(diamond(at(second.mean), 5), { fill: ink.muted });
  const hollow = diamond(at(first.mean), 9);
  pen.curve([...hollow, hollow[0]], { stroke: ink.muted, width: 1.5 });
  labels.avoidDot(at(first.mean), 9);
  labels.avoidDot(at(second.mean), 6);

  pen.part(() => nameOutputs(pen, seen, at, labels));
}

/** The places where outputs of sentence 2 lie: {spot, words, marked}; words that fall together share one. The mean comes last. */
function placesOf({ second, to, looked }, at) {
  const groups = [];
  second.outputs.forEach((output, n) => {
    const spot = at(output);
    const group = groups.find((g) => gap(g.spot, spot) < 5);
    const marked = n === to[looked];
    if (group) {
      group.words.push(second.words[n]);
      group.marked ||= marked;
    } else groups.push({ spot, words: [second.words[n]], marked });
  });
  groups.sort((a, b) => Number(b.marked) - Number(a.marked));
  return [...groups, { spot: at(second.mean), words: [phrase`mean`], mean: true }];
}

/** At most two of the words, each once, with how many copies of it there are. */
function nameOf(words) {
  const names = [...new Set(words)].map((word) => {
    const copies = words.filter((other) => other === word).length;
    return shortened(word, 84, 13) + (copies > 1 ? ` ×${copies}` : "");
  });
  return names.slice(0, 2).join(", ") + (names.length > 2 ? " …" : "");
}

/** A name for each place where dots lie. */
function nameOutputs(pen, seen, at, labels) {
  const groups = placesOf(seen, at);
  for (const { spot, words, marked, mean } of groups) {
    const text = nameOf(words);
    const width = textWidth(text, 13) + 3;
    const { middle, baseline } = labels.place(width, spotsAround(spot, width));
    const style = { size: 13, weight: marked ? 700 : undefined, fill: mean ? ink.muted : ink.text };
    pen.text(middle, baseline + 0.5, text, { ...style, anchor: "middle" });
  }
}

/** What the rings, dots and diamonds mean. */
function drawLegend(pen, x, y) {
  pen.circle(x + 9, y - 4, 7, { stroke: ink.muted, width: 1.5 });
  pen.text(x + 21, y, phrase`sentence 1`, { size: 12 });
  pen.circle(x + 103, y - 4, 5, { fill: ink.value, stroke: ink.text, width: 1 });
  pen.text(x + 113, y, phrase`sentence 2`, { size: 12 });
  pen.area(diamond([x + 193, y - 4], 5), { fill: ink.muted });
  pen.text(x + 202, y, phrase`mean`, { size: 12 });
}

/** Who looks at whom in sentence 2, in percent. */
function drawWeights(pen, { second, to, looked }, state, x, y, w) {
  const { words, weights } = second;
  const count = words.length;
  const names = 54;
  const cell = Math.min(40, (w - names - 28) / count);
  const [left, top] = [x + names, y + 42];
  words.forEach((word, n) => {
    const [px, py] = [left + cell * (n + 0.5) - 2, top - 6];
    const bold = n === to[looked];
    pen.text(px, py, shortened(word, 44, 12, bold), { size: 12, turn: -42, weight: bold ? 700 : 400 });
  });
  words.forEach((word, m) => {
    const middle = top + cell * (m + 0.5) + 4;
    const bold = m === to[looked];
    const style = { size: 12, anchor: "end", weight: bold ? 700 : undefined };
    pen.text(left - 6, middle, shortened(word, names - 7, 12, bold), style);
    for (const n of range(0, count - 1)) {
      const masked = state.causal && n > m;
      const place = [left + cell * n, top + cell * m, cell - 1, cell - 1];
      pen.rect(...place, masked ? { stroke: ink.grid, width: 1 } : { fill: shade(weights[m][n]) });
      const style = { size: 12, anchor: "middle", fill: masked ? ink.muted : onShade(weights[m][n]) };
      pen.text(left + cell * (n + 0.5) - 0.5, middle, masked ? "·" : Math.round(100 * weights[m][n]), style);
    }
  });
  if (to[looked] >= 0) {
    pen.rect(left - 1.5, top + cell * to[looked] - 1.5, cell * count + 2, cell + 2, { stroke: ink.text, width: 2.5 });
  }
}

/** How wide the plane and the table of weights are. */
function sides(width, { shows }) {
  if (!shows("weights")) return { plane: Math.min(260, width - 2), table: 0 };
  if (narrow(width)) return { plane: width - 2, table: width };
  return { plane: Math.min(320, width * 0.5), table: width * 0.5 - 26 };
}

const tableHeight = (wide, count) => 42 + Math.min(40, (wide - 82) / count) * count;

function height(width, { rearranged }, view) {
  const { plane, table: wide } = sides(width, view);
  if (!wide) return (narrow(width) ? ROWS.tall : ROWS.wide) + plane + 58;
  const table = tableHeight(wide, wordsOf(rearranged).length);
  if (narrow(width)) return ROWS.tall + plane + table + 106;
  return ROWS.wide + 22 + Math.max(plane + 32, 16 + table);
}

function draw(pen, state, view) {
  const { width } = view;
  const seen = compare(state);
  const tall = narrow(width);
  const { plane, table } = sides(width, view);
  const handles = drawSentences(pen, seen, width);
  const top = (tall ? ROWS.tall : ROWS.wide) + 14;
  pen.text(0, top, verdict(seen), { size: tall ? 14 : 15, weight: 700 });
  drawOutputs(pen, seen, 1, top + 12, plane);
  drawLegend(pen, 2, top + plane + 33);
  if (!table) return handles;
  const plain = phrase`Weights in sentence 2 (%)`;
  const title = [
    state.layers > 1 ? phrase`Weights in sentence 2, layer ${state.layers} (%)` : plain,
    phrase`each row: a word and what it looks at`,
  ];
  const [x, y] = tall ? [0, top + plane + 68] : [width - table, top];
  pen.text(x, y, title[0], { size: 13 });
  pen.text(x, y + 17, title[1], note);
  drawWeights(pen, seen, state, x, y + 20, table);
  return handles;
}

// ------------------------------------------------------------------------------------------------ in words

const vector = (z) => `(${fmt(z[0])}, ${fmt(z[1])})`;
const ordinal = (place) => [phrase`1st`, phrase`2nd`, phrase`3rd`, phrase`4th`, phrase`5th`, phrase`6th`][place];
const inOrder = (words) => words.map(key).join(" ");
const bag = (words) => words.map(key).sort().join(" ");
const behind = (words) => (words.length ? quoted(words.join(" ")) : phrase`none`);

function readout(state, { shows }) {
  const seen = compare(state);
  const { first, second, to, looked, moves, sameWords } = seen;
  const word = quoted(first.words[looked]);
  const place = to[looked];
  if (place < 0) {
    const shared = to.filter((n) => n >= 0).length;
    if (!shared) return phrase`Sentence 2 has none of the words of sentence 1, so no output can be compared.`;
    return phrase`${word} does not appear in sentence 2. Now ${shared - seen.unmoved} of the ${shared} outputs that can be compared
      moved: attention sees which words there are.`;
  }
  const was = vector(first.outputs[looked]);
  const is = vector(second.outputs[place]);
  const stayed = moves[looked] < STILL;
  const outcome = stayed
    ? phrase`The output of ${word} is ${is} in both sentences, equal to 9 decimals.`
    : phrase`The output of ${word} moved from ${was} to ${is}.`;
  if (!shows("weights")) return phrase`${verdict(seen)}. ${outcome}`;
  if (!sameWords)
    return phrase`${outcome} The two sentences hold different words: attention sees which words there are.`;
  if (inOrder(first.words) === inOrder(second.words)) return phrase`${outcome} Give sentence 2 another order.`;
  if (!state.causal) {
    const places =
      looked === place ? "" : phrase` It is the ${ordinal(looked)} word of one and the ${ordinal(place)} of the other.`;
    return phrase`${outcome}${places} The mean of all outputs is the same too: nothing here tells the two orders apart.`;
  }
  const [before, after] = [first.words.slice(0, looked), second.words.slice(0, place)];
  if (bag(before) !== bag(after)) {
    return phrase`${outcome} The words before it are ${behind(before)} in sentence 1 and ${behind(after)} in sentence 2: with the
      mask it sees other words.`;
  }
  if (inOrder(before) === inOrder(after))
    return phrase`${outcome} What it sees, itself and the words before it, is the same in both.`;
  return stayed
    ? phrase`${outcome} The same words come before it in another order, and one masked layer cannot tell.`
    : phrase`${outcome} The same words come before it in another order: layer 1 has changed their rows, and layer 2 reads those.`;
}

// ------------------------------------------------------------------------------------------------ moves

/** The next order of the second sentence, counted through all orders that differ; after the last comes the first. */
function nextOrder({ sentence, rearranged }) {
  const ranks = wordsOf(sentence).map(key);
  const rank = (word) => ranks.indexOf(key(word));
  const words = wordsOf(rearranged);
  let i = words.length - 2;
  while (i >= 0 && rank(words[i]) >= rank(words[i + 1])) i -= 1;
  if (i < 0) return { rearranged: [...words].sort((a, b) => rank(a) - rank(b)).join(" ") };
  let j = words.length - 1;
  while (rank(words[j]) <= rank(words[i])) j -= 1;
  [words[i], words[j]] = [words[j], words[i]];
  return { rearranged: [...words.slice(0, i + 1), ...words.slice(i + 1).reverse()].join(" ") };
}

const reversed = (text) => wordsOf(text).reverse().join(" ");

/** A new first sentence brings a second one of its words; no rule of the controls says what a text becomes. */
function follow(before, held) {
  const { sentence, rearranged } = { ...before, ...held };
  const isOwn = "rearranged" in held || bag(wordsOf(rearranged)) === bag(wordsOf(sentence));
  return "sentence" in held && !isOwn ? { rearranged: reversed(sentence) } : {};
}

export default live({
  name: "OrderBlindness",
  title: phrase`Two sentences of the same words, and where attention puts each word`,
  height,
  draw,
  readout,
  follow,
  buttons: [
    { label: phrase`Next order`, move: nextOrder },
    { label: phrase`Reverse`, move: ({ rearranged }) => ({ rearranged: reversed(rearranged) }) },
  ],
});
