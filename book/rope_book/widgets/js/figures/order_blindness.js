import { ink, note, noteEnd, noteMiddle, onShade, shade } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { Labels, spotsAround } from "../lib/labels.js";
import { legendOf } from "../lib/legend.js";
import { clamp, fmt, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { crossOf, diamond, gap, planeOf } from "../lib/shapes.js";
import { quoted, shortened, textWidth } from "../lib/words.js";
import { distance } from "../maths/complex.js";
import { readWords } from "../maths/order.js";

const STILL = 1e-9; // outputs closer than this count as equal

const wordsOf = (text) => text.split(" ");
const key = (word) => word.toLowerCase();

/** Give each word a unique name by appending its number of earlier occurrences: "the 0", "the 1". */
function tokens(words) {
  const before = (place) => words.slice(0, place).filter((word) => key(word) === key(words[place])).length;
  return words.map((word, place) => `${key(word)} ${before(place)}`);
}

/**
 * Run attention on both sentences and compare the outputs of the words that they share. `to` maps each word of the
 * first sentence to its index in the second, or −1 if it is absent; `here` is that index for the selected word.
 * `moves` says how far each output moved, and `moved` counts the outputs that did.
 */
function compare({ sentence, rearranged, look, causal, layers }) {
  const [first, second] = [sentence, rearranged].map((text) => {
    const words = wordsOf(text);
    return { words, ...readWords(words, causal, layers) };
  });
  const [before, after] = [tokens(first.words), tokens(second.words)];
  const to = before.map((token) => after.indexOf(token));
  const kept = to.flatMap((n, m) => (n < 0 ? [] : [m]));
  const at = (sentence, place) => /** @type {Pair} */ (sentence.outputs[place]);
  const moves = to.map((n, m) => (n < 0 ? NaN : distance(at(first, m), at(second, n))));
  const moved = moves.filter((move) => move >= STILL).length;
  const sameWords = before.length === after.length && kept.length === to.length;
  return { first, second, to, kept, looked: look - 1, here: to[look - 1], moves, moved, sameWords, causal };
}

const OUTPUT = { fill: ink.value, stroke: ink.text, width: 1 }; // of sentence 2
const SIGNS = [
  { words: phrase`sentence 1`, sign: (pen, x, y) => pen.circle(x + 9, y, 7, { stroke: ink.muted, width: 1.5 }) },
  { words: phrase`sentence 2`, sign: (pen, x, y) => pen.circle(x + 9, y, 5, OUTPUT) },
  { words: phrase`mean`, sign: (pen, x, y) => pen.area(diamond([x + 9, y], 5), { fill: ink.muted }) },
];
const legendIn = (width) => legendOf(SIGNS, width, { sample: 20, text: 20 });

const NAMES = 54; // pixels reserved beside the weights for the words

/** Lay out the plane below the sentences, with the weights beside or below the plane if they are shown. */
function plan(width, state, { shows }) {
  const tall = width < 520;
  const rows = tall ? 176 : 142; // height of the two sentences, in pixels
  const top = rows + 14;
  if (!shows("weights")) {
    const side = Math.min(260, width - 2);
    const legend = { x: 0, y: top + side + 29, ...legendIn(width) };
    return { tall, top, side, legend, height: legend.y + legend.height - 5 };
  }
  const count = wordsOf(state.rearranged).length;
  return tall ? planTall(width, rows, count) : planWide(width, rows, count);
}

/** The weights are beside the plane. */
function planWide(width, rows, count) {
  const [top, side, w] = [rows + 14, Math.min(320, width * 0.5), width * 0.5 - 26];
  const cell = Math.min(40, (w - NAMES - 28) / count);
  const height = rows + 18 + Math.max(side + 32, 58 + cell * count);
  const table = { x: width - w, y: top, head: 62, cell };
  return { tall: false, top, side, table, legend: { x: 0, y: top + side + 29, ...legendIn(width) }, height };
}

/** The legend is beside the plane, and the weights are below. */
function planTall(width, rows, count) {
  const [top, side] = [rows + 2, Math.min(224, width - 100)];
  const cell = Math.min(33, 165 / count, (width - NAMES - 28) / count);
  const table = { x: 0, y: top + side + 44, head: 48, cell };
  const legend = { x: side + 8, y: top + 22, ...legendIn(0) }; // one entry per line
  return { tall: true, top, side, table, legend, height: table.y + table.head + cell * count + 2 };
}

/** Lay out the word boxes of both sentences. */
function seats(width, tall, { first, second }) {
  const [x0, size, h] = tall ? [2, 12, 28] : [84, 14, 30];
  const [top, bottom] = tall ? [20, 110] : [8, 88];
  const count = Math.max(first.words.length, second.words.length);
  const step = (width - x0) / count;
  const w = Math.min(step - (tall ? 4 : 10), 130);
  const seat = (px) => clamp(Math.floor((px - x0) / step), 0, count - 1);
  return { x0, size, h, top, bottom, step, w, X: (place) => x0 + step * (place + 0.5), seat };
}

/** Draw the two sentences, one above the other, with a line from each word to its new position. */
function drawSentences(pen, seen, width, tall) {
  const { first, second, to, kept, looked, here } = seen;
  const places = seats(width, tall, seen);
  const { x0, size, h, top, bottom, w, X } = places;
  const moves = (places) => places.map((m) => [X(m), top + h, X(to[m]), bottom]);
  const [others, own] = [kept.filter((m) => m !== looked), kept.filter((m) => m === looked)].map(moves);
  pen.lines(others, { stroke: ink.muted, width: 1.2 });
  pen.lines(own, { stroke: ink.text, width: 2.5 });
  if (tall) pen.rect(0, bottom - 21, 78, 18, { fill: ink.paper }); // keeps the lines off the label
  pen.text(tall ? 2 : 0, tall ? 13 : top + 20, phrase`Sentence 1`);
  pen.text(tall ? 2 : 0, tall ? bottom - 7 : bottom + 20, phrase`Sentence 2`, { weight: 600 });
  const box = (word, place, y, filled, marked, missing) => {
    const x = X(place) - w / 2;
    if (filled) pen.rect(x, y, w, h, { fill: ink.value, radius: 5, opacity: 0.32 });
    pen.rect(x, y, w, h, {
      fill: filled ? "none" : ink.paper,
      radius: 5,
      stroke: marked ? ink.text : ink.muted,
      width: marked ? 2.5 : 1,
      dash: missing ? "4 3" : undefined,
    });
    const style = { size, anchor: "middle", weight: marked ? 600 : undefined };
    pen.text(X(place), y + h / 2 + 4.5, shortened(word, w - 4, size, marked), style);
  };
  for (const [m, word] of first.words.entries()) box(word, m, top, false, m === looked, to[m] < 0);
  for (const [n, word] of second.words.entries()) box(word, n, bottom, true, n === here, !to.includes(n));
  if (second.words.length < 2) return {};
  const middle = clamp(X(Math.max(0, here)), x0 + 62, width - 62);
  pen.text(middle, bottom + h + 16, phrase`← drag any word →`, noteMiddle);
  return wordHandles(seen, places);
}

/** Handles for dragging the words of sentence 2, and click targets for questions. */
function wordHandles({ second, to, kept, here }, { h, bottom, step, w, X, seat }) {
  const grip = (place) => ({
    trait: "rearranged",
    x: X(place),
    y: bottom + h / 2,
    at: (px) => movedTo(second.words, place, seat(px)),
    ink: place === here ? ink.text : ink.value,
    box: [step - 2, h + 4],
  });
  const around = (n) => ({ x: X(n) - w / 2 - 3, y: bottom - 3, w: w + 6, h: h + 6 });
  const marks = Object.fromEntries(second.words.map((_, n) => [`word ${n + 1}`, around(n)]));
  return { ...Object.fromEntries(kept.map((m) => [`word ${m}`, grip(to[m])])), marks };
}

/** The sentence with the word at index `from` moved to index `place`. */
function movedTo(words, from, place) {
  const others = words.filter((_, n) => n !== from);
  return [...others.slice(0, place), words[from], ...others.slice(place)].join(" ");
}

/** Say how many outputs moved. */
function verdict({ to, kept, moved, sameWords }) {
  if (!sameWords) return phrase`${moved} of ${kept.length} shared words moved`;
  if (moved) return phrase`${moved} of ${to.length} outputs moved`;
  return to.length === 1 ? phrase`The output stayed put` : phrase`All ${to.length} outputs stayed put`;
}

/** Draw the plane with a ring for each output of sentence 1, a dot for each output of sentence 2, and a diamond for
 * each mean. */
function drawOutputs(pen, seen, x, y, side) {
  const { first, second, to, looked } = seen;
  const all = [...first.outputs, ...second.outputs].flat().map(Math.abs);
  const reach = [0.5, 0.75, 1, 1.25, 1.5, 2, 2.5, 3].find((r) => r >= 1.12 * Math.max(...all)) ?? 4;
  const [cx, cy] = [x + side / 2, y + side / 2];
  const { at } = planeOf(cx, cy, side / 2 / reach);
  pen.rect(x, y, side, side, { stroke: ink.grid, width: 1 });
  pen.lines(crossOf(x, y, side), { stroke: ink.grid, width: 1 });
  const labels = new Labels({ x, y, w: side, h: side });

  // label the end of each axis
  pen.text(x + side - 4, cy + 14, reach, noteEnd);
  pen.text(cx + 5, y + 14, reach, note);
  labels.avoid(x + side - 30, cy + 2, x + side, cy + 17);
  labels.avoid(cx + 3, y, cx + 30, y + 17);
  const edgeOf = (m, wide, thin) =>
    m === looked ? { stroke: ink.text, width: wide } : { stroke: ink.muted, width: thin };
  to.forEach((n, m) => {
    const [a, b] = [first.outputs[m], n < 0 ? first.outputs[m] : second.outputs[n]].map(at);
    const far = gap(a, b);
    const hidden = far < 14; // a hidden arrow is still drawn, so that later elements keep their slots
    const [ux, uy] = hidden ? [0, 0] : [(b[0] - a[0]) / far, (b[1] - a[1]) / far];
    const style = { ...edgeOf(m, 2, 1.3), dash: "4 3", head: 7, opacity: hidden ? 0 : 1 };
    pen.arrow(a[0] + 8 * ux, a[1] + 8 * uy, b[0] - 6 * ux, b[1] - 6 * uy, style);
  });
  for (const spot of second.outputs.map(at)) {
    pen.circle(...spot, 5, OUTPUT);
    labels.avoidDot(spot, 6);
  }
  first.outputs.map(at).forEach((spot, m) => {
    pen.circle(...spot, 8.5, edgeOf(m, 2.5, 1.5));
    labels.avoidDot(spot, 9);
  });
  pen.area(diamond(at(second.mean), 5), { fill: ink.muted });
  const hollow = diamond(at(first.mean), 9);
  pen.curve([...hollow, hollow[0]], { stroke: ink.muted, width: 1.5 });
  labels.avoidDot(at(first.mean), 9);
  labels.avoidDot(at(second.mean), 6);

  pen.part(() => nameOutputs(pen, seen, at, labels, Math.min(84, side / 4)));
}

/** The outputs of sentence 2 as {spot, words, marked}, with coinciding outputs merged and the mean last. */
function placesOf({ second, here }, at) {
  const groups = [];
  second.outputs.map(at).forEach((spot, n) => {
    const known = groups.find((group) => gap(group.spot, spot) < 5);
    const group = known ?? { spot, words: [], marked: false };
    if (!known) groups.push(group);
    group.words.push(second.words[n]);
    group.marked ||= n === here;
  });
  groups.sort((a, b) => Number(b.marked) - Number(a.marked));
  return [...groups, { spot: at(second.mean), words: [phrase`mean`], mean: true }];
}

/** An output's name: one or, where there is room, two distinct words, each with its count. */
function nameOf(words, room) {
  const names = [...new Set(words)].map((word) => {
    const copies = words.filter((other) => other === word).length;
    return shortened(word, room, 13) + (copies > 1 ? ` ×${copies}` : "");
  });
  const most = room < 60 ? 1 : 2;
  return names.slice(0, most).join(", ") + (names.length > most ? " …" : "");
}

function nameOutputs(pen, seen, at, labels, room) {
  for (const { spot, words, marked, mean } of placesOf(seen, at)) {
    const text = nameOf(words, room);
    const width = textWidth(text, 13) + 3;
    const { middle, baseline } = labels.place(width, spotsAround(spot, width));
    const style = { weight: marked ? 700 : undefined, fill: mean ? ink.muted : ink.text };
    pen.text(middle, baseline + 0.5, text, { ...style, anchor: "middle" });
  }
}

/** Draw the attention weights of sentence 2, in percent. */
function drawWeights(pen, { second, here, causal }, layers, { x, y, head, cell }) {
  const { words, weights } = second;
  const count = words.length;
  const plain = phrase`Weights in sentence 2 (%)`;
  pen.text(x, y, layers > 1 ? phrase`Weights in sentence 2, layer ${layers} (%)` : plain);
  if (head > 60) pen.text(x, y + 17, phrase`each row: a word and what it looks at`, note);
  const [left, top] = [x + NAMES, y + head];
  const style = (place) => ({ size: 12, weight: place === here ? 700 : 400 });
  for (const [n, word] of words.entries()) {
    const name = shortened(word, 44, 12, n === here);
    pen.text(left + cell * (n + 0.5) - 2, top - 6, name, { ...style(n), turn: -42 });
  }
  words.forEach((word, m) => {
    const middle = top + cell * (m + 0.5) + 4;
    pen.text(left - 6, middle, shortened(word, NAMES - 7, 12, m === here), { ...style(m), anchor: "end" });
    for (const n of range(0, count - 1)) {
      const masked = causal && n > m;
      const weight = weights[m][n];
      const box = [left + cell * n, top + cell * m, cell - 1, cell - 1];
      pen.rect(...box, masked ? { stroke: ink.grid, width: 1 } : { fill: shade(weight) });
      const fill = masked ? ink.muted : onShade(weight);
      const number = masked ? "·" : Math.round(100 * weight);
      pen.text(left + cell * (n + 0.5) - 0.5, middle, number, { size: 12, anchor: "middle", fill });
    }
  });
  if (here < 0) return;
  pen.rect(left - 1.5, top + cell * here - 1.5, cell * count + 2, cell + 2, { stroke: ink.text, width: 2.5 });
}

function draw(pen, state, view) {
  const { width } = view;
  const seen = compare(state);
  const { tall, top, side, table, legend } = plan(width, state, view);
  const handles = drawSentences(pen, seen, width, tall);
  pen.text(0, top, verdict(seen), { size: tall ? 14 : 15, weight: 700 });
  drawOutputs(pen, seen, 1, top + 12, side);
  legend.draw(pen, legend.y, legend.x);
  if (table) drawWeights(pen, seen, state.layers, table);
  return handles;
}

const vector = (z) => `(${fmt(z[0])}, ${fmt(z[1])})`;
const ordinal = (place) => [phrase`1st`, phrase`2nd`, phrase`3rd`, phrase`4th`, phrase`5th`, phrase`6th`][place];
const inOrder = (words) => words.map(key).join(" ");
const bag = (words) => words.map(key).sort().join(" ");
const behind = (words) => (words.length ? quoted(words.join(" ")) : phrase`none`);

/** Explain how the mask affects the selected word, given the words that precede it. */
function toldByMask({ first, second, looked, here }, outcome, stayed) {
  const [before, after] = [first.words.slice(0, looked), second.words.slice(0, here)];
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

function readout(state, { shows }) {
  const seen = compare(state);
  const { first, second, kept, looked, here, moves, moved, sameWords } = seen;
  const word = quoted(first.words[looked]);
  if (!kept.length) return phrase`Sentence 2 has none of the words of sentence 1, so no output can be compared.`;
  if (here < 0) {
    return phrase`${word} does not appear in sentence 2. Now ${moved} of the ${kept.length} outputs that can be compared
      moved: attention sees which words there are.`;
  }
  const [was, is] = [vector(first.outputs[looked]), vector(second.outputs[here])];
  const stayed = moves[looked] < STILL;
  const outcome = stayed
    ? phrase`${verdict(seen)}. The output of ${word} is ${is} in both sentences, equal to 9 decimals.`
    : phrase`${verdict(seen)}. The output of ${word} moved by ${fmt(moves[looked])}, from ${was} to ${is}.`;
  if (!shows("weights")) return outcome;
  if (!sameWords)
    return phrase`${outcome} The two sentences hold different words: attention sees which words there are.`;
  if (inOrder(first.words) === inOrder(second.words)) return phrase`${outcome} Give sentence 2 another order.`;
  if (state.causal) return toldByMask(seen, outcome, stayed);
  const places =
    looked === here ? "" : phrase` It is the ${ordinal(looked)} word of one and the ${ordinal(here)} of the other.`;
  return phrase`${outcome}${places} The mean of all outputs is the same too: nothing here tells the two orders apart.`;
}

/** The next distinct permutation of the second sentence, wrapping from the last to the first. */
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

/** When the first sentence changes and the second no longer has the same words, reverse the first to make a new
 * second. Rules between controls cannot do this. */
function follow(before, held) {
  const { sentence, rearranged } = { ...before, ...held };
  const isOwn = "rearranged" in held || bag(wordsOf(rearranged)) === bag(wordsOf(sentence));
  return "sentence" in held && !isOwn ? { rearranged: reversed(sentence) } : {};
}

function results(state) {
  const { kept, moved, moves, looked } = compare(state);
  return { shared: kept.length, moved, shift: moves[looked] < STILL ? 0 : moves[looked] };
}

export default live({
  name: "OrderBlindness",
  title: phrase`Two sentences of the same words, and where attention puts each word`,
  height: (width, state, view) => plan(width, state, view).height,
  draw,
  readout,
  results,
  follow,
  buttons: [
    { label: phrase`Next order`, move: nextOrder },
    { label: phrase`Reverse`, move: ({ rearranged }) => ({ rearranged: reversed(rearranged) }) },
  ],
});
