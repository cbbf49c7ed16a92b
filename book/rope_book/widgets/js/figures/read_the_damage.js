import { DAMAGE } from "../data/damage.js";
import { ink, note, noteEnd } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { legendOf } from "../lib/legend.js";
import { memo } from "../lib/memo.js";
import { fmt, grouped, range } from "../lib/numbers.js";
import { phrase, phraseOf } from "../lib/phrase.js";
import { listed, quoted, shortened, textWidth, wrapped } from "../lib/words.js";

const LINE = 19; // line spacing in pixels
const SPACE = textWidth(" ");
const GAP = 28; // between two columns
const SIGNS = 190; // pixels for the legend
const LEGEND = legendOf(
  [
    { words: phrase`shared`, box: { fill: ink.muted } },
    { words: phrase`repeated`, box: { fill: ink.otherWords } },
  ],
  SIGNS,
  { sample: 22 },
);
const ALIKE = {
  word: phrase`These make it repeat one word:`,
  phrase: phrase`These make it go round in one phrase:`,
  lines: phrase`These fill it with empty lines:`,
  salad: phrase`These leave no language:`,
  fluent: phrase`These leave good English, off the text:`,
  same: phrase`These change no word here:`,
};

const columns = (width) => (width < 520 ? 1 : 2);
const acrossOf = (width) => (columns(width) > 1 ? (width - GAP) / 2 : width - 4);
const mistakeOf = (name) => DAMAGE.mistakes.filter((mistake) => mistake.name === name)[0];
const caseOf = ({ number }) => mistakeOf(DAMAGE.cases[number - 1]);

/** The mistake to show, or undefined if the figure shows a list. */
const shownOf = (state) => (state.task === "guess" ? caseOf(state) : mistakeOf(state.mistake));
const isList = ({ task }) => task in ALIKE;
const isNamed = (state) => state.task === "choose" || state.guess === caseOf(state).name;
const isWrong = (state) => state.task === "guess" && state.guess !== "none" && !isNamed(state);

/** The text to compare with: the right one, or after a wrong guess that of the guessed mistake. */
const otherOf = (state) => (isWrong(state) ? mistakeOf(state.guess) : DAMAGE.right);

/** The text that the correct model or one with a mistake writes after the selected prompt. */
const textOf = ({ written }, { prompt }) => written[prompt].text;
const rightWordsOf = ({ written }, { prompt }) => written[prompt].rightWords;
const looksOf = ({ written }, { prompt }) => written[prompt].looks;

/** Split a text into words and line breaks. Consecutive line breaks become one piece with a count. */
const piecesOf = (text) =>
  [...text.matchAll(/\n+(?:[^\S\n]*\n+)*|[^\s]+/g)].map(([piece]) => {
    const breaks = piece.split("\n").length - 1;
    return breaks > 1 ? `↵×${breaks}` : breaks ? "↵" : piece;
  });

/** The number of words and line breaks that the shown text has in common with the other one before they part. */
function sharedOf(state) {
  const [shown, other] = [shownOf(state), otherOf(state)].map((each) => piecesOf(textOf(each, state)));
  const first = shown.findIndex((piece, n) => piece !== other[n]);
  return first < 0 ? shown.length : first;
}

/** Whether the three pieces ending at index n have already occurred in this order. */
function isRepeat(pieces, n) {
  const three = (at) => pieces.slice(at - 2, at + 1).join(" ");
  return n > 1 && range(2, n - 1).some((at) => three(at) === three(n));
}

/** Wrap pieces to the given width and return a {piece, x, line} for each. */
function placedIn(pieces, width) {
  let [x, line] = [0, 0];
  return pieces.map((piece) => {
    const wide = textWidth(piece) + (piece.startsWith("↵") ? 7 : 0);
    if (x > 0 && x + wide > width) [x, line] = [0, line + 1];
    const placed = { piece, x, line };
    x += wide + SPACE;
    return placed;
  });
}

/** The number of lines that the longest text needs, over all prompts. */
const linesNeeded = memo((width) => {
  const texts = [DAMAGE.right, ...DAMAGE.mistakes].flatMap(({ written }) => Object.values(written));
  return 1 + Math.max(...texts.map(({ text }) => placedIn(piecesOf(text), width).at(-1)?.line ?? 0));
}, 4);

/** The lines of a prompt in quotation marks, with room for the legend to their right if there are two columns. */
function askedOf(prompt, width) {
  const room = columns(width) > 1 ? SIGNS : 0;
  return wrapped(`${quoted(piecesOf(DAMAGE.prompts[prompt]).join(" "))} …`, width - 4 - room, 12);
}

function plan(width) {
  const across = acrossOf(width);
  const asked = LINE * Math.max(...Object.keys(DAMAGE.prompts).map((prompt) => askedOf(prompt, width).length));
  const signs = columns(width) > 1 ? { x: width - SIGNS, y: 10 } : { x: 0, y: 14 + asked };
  const top = columns(width) > 1 ? 24 + asked : signs.y + 10 + LEGEND.height;
  const tall = 2 + LINE * linesNeeded(across);
  const second = columns(width) > 1 ? { x: across + GAP, y: top } : { x: 2, y: top + tall + 26 };
  return { across, signs, first: { x: 2, y: top }, second, height: second.y + tall };
}

/** Draw a text word by word: grey while it matches the other one, amber where it repeats itself. */
function drawText(pen, { x, y }, across, title, pieces, shared, words) {
  pen.text(x, y, title, { weight: 600 });
  const placed = placedIn(pieces, across).slice(0, words);
  pen.part(() => {
    for (const [n, { piece, x: dx, line }] of placed.entries()) {
      const fill = n < shared ? ink.muted : isRepeat(pieces, n) ? ink.otherWords : ink.text;
      pen.text(x + dx, y + LINE * (line + 1), piece, { fill });
    }
  });
}

/** The mistakes whose text fits the selected description. */
const lookingLike = (state) => DAMAGE.mistakes.filter((mistake) => looksOf(mistake, state) === state.task);

/** List the commands that distinguish mistakes, without their arguments, each with the mistakes that it finds. */
function commandsFor(mistakes) {
  const commandOf = ({ run }) => run.split(" ").slice(0, 2).join(" ");
  const commands = [...new Set(mistakes.map(commandOf).filter(Boolean))];
  return commands.map((run) => ({ run, names: mistakes.filter((mistake) => commandOf(mistake) === run) }));
}

const rowsOf = (mistakes, width) => Math.ceil(mistakes.length / columns(width));
const listHeight = (state, width) => 44 + LINE * rowsOf(lookingLike(state), width);

function drawList(pen, state, width) {
  const mistakes = lookingLike(state);
  pen.text(2, 14, shortened(ALIKE[state.task], width - 4, 13, true), { weight: 600 });
  pen.text(width, 33, phrase`perplexity × right`, noteEnd);
  const rows = rowsOf(mistakes, width);
  const across = acrossOf(width);
  mistakes.forEach((mistake, n) => {
    const [left, y] = [2 + (across + GAP) * Math.floor(n / rows), 52 + LINE * (n % rows)];
    pen.text(left, y, shortened(phraseOf(mistake.called), across - 60));
    pen.text(left + across - 4, y, `× ${worse(mistake.perplexity)}`, { anchor: "end" });
  });
}

/** The largest increase in perplexity on any text, as a factor. */
function worse(perplexity) {
  const most = Math.max(...perplexity.map((bad, n) => (bad ?? Infinity) / DAMAGE.right.perplexity[n]));
  if (!Number.isFinite(most)) return "∞";
  return most < 9.95 ? fmt(most, 1) : grouped(most);
}

function draw(pen, state, { width }) {
  if (isList(state)) return drawList(pen, state, width);
  const mistake = shownOf(state);
  const at = plan(width);
  askedOf(state.prompt, width).forEach((line, n) => {
    pen.text(2, 14 + LINE * n, line, note);
  });
  LEGEND.draw(pen, at.signs.y, at.signs.x);
  const shared = sharedOf(state);
  const named = isNamed(state)
    ? phraseOf(mistake.called)
    : phrase`It writes: text ${state.number} of ${DAMAGE.cases.length}`;
  const other = isWrong(state) ? phrase`Your guess: ${phraseOf(otherOf(state).called)}` : phrase`It should write`;
  const write = (place, title, each) =>
    drawText(
      pen,
      place,
      at.across,
      shortened(title, at.across, 13, true),
      piecesOf(textOf(each, state)),
      shared,
      state.words,
    );
  write(at.first, other, otherOf(state));
  write(at.second, named, mistake);
}

/** Say how many of the text's first words are right. */
function parting(state) {
  const shared = rightWordsOf(shownOf(state), state);
  if (shared === piecesOf(textOf(shownOf(state), state)).length) return phrase`Every word is right.`;
  if (shared === 0) return phrase`Its first word is wrong.`;
  return shared === 1 ? phrase`Its first word is right, and no other.` : phrase`Its first ${shared} words are right.`;
}

/** Say where the text of a wrong guess differs. */
function refuted(shared) {
  if (shared === 0)
    return phrase`No: your guess would write the other text, now shown. They differ from the first word on. Look again.`;
  return shared === 1
    ? phrase`No: your guess would write the other text, now shown. They share only the first word. Look again.`
    : phrase`No: your guess would write the other text, now shown. They share only the first ${shared} words. Look again.`;
}

/** A sentence that names the other mistakes with exactly the same text, or "" if there are none. */
function twins(state) {
  const text = textOf(shownOf(state), state);
  const same = DAMAGE.mistakes.filter((mistake) => mistake !== shownOf(state) && textOf(mistake, state) === text);
  const names = same.map(({ called }) => phraseOf(called));
  return names.length ? phrase`The same words come from: ${listed(names)}.` : "";
}

/** Say how many mistakes match the selected description, and how many of them each command finds. */
function readList(state) {
  const mistakes = lookingLike(state);
  const everywhere = mistakes.filter(({ written }) =>
    Object.values(written).every(({ looks }) => looks === state.task),
  );
  const ways = commandsFor(mistakes).map(({ run, names }) => phrase`${run} finds ${names.length} of them`);
  return [
    phrase`${mistakes.length} of ${DAMAGE.mistakes.length} known mistakes look like that.`,
    phrase`${everywhere.length} of them do so after every prompt.`,
    ...(ways.length ? [phrase`Text alone does not tell these apart: ${listed(ways)}.`] : []),
  ].join(" ");
}

function readout(state) {
  if (isList(state)) return readList(state);
  const mistake = shownOf(state);
  const cost = phrase`Its perplexity is up to ${worse(mistake.perplexity)} times the right one.`;
  const facts = `${parting(state)} ${cost}`;
  const found = mistake.run
    ? phrase`${quoted(mistake.run)} finds it.`
    : phrase`It changes no distance and no score, so nothing has to find it.`;
  const all = [facts, found, twins(state)].filter(Boolean).join(" ");
  if (state.task === "choose") return all;
  if (state.guess === "none") return phrase`Text ${state.number}: ${facts} Which mistake is it?`;
  if (isNamed(state)) return phrase`Right. ${all}`;
  return refuted(sharedOf(state));
}

/** Choosing another text resets the guess. */
const follow = (before, held) =>
  "number" in held && !("guess" in held) && held.number !== before.number ? { guess: "none" } : {};

export default live({
  name: "ReadTheDamage",
  title: phrase`What SmolLM2 writes with a mistake in its positions, beside what it should write`,
  height: (width, state) => (state.task in ALIKE ? listHeight(state, width) : plan(width).height),
  draw,
  readout,
  follow,
  unfolds: true,
  answers: "guess",
  play: { trait: "words", perSecond: 8 },
  buttons: [
    { label: phrase`Next text`, move: ({ number }) => ({ task: "guess", number: (number % DAMAGE.cases.length) + 1 }) },
    { label: phrase`Tell me`, move: ({ number }) => ({ task: "guess", guess: caseOf({ number }).name }) },
  ],
});
