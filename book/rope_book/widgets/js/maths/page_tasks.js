// Generates batches for the page's tasks. Rows have the format of book/rope_book/training/tasks.py, and random
// draws match book/rope_book/widgets/maths/page_training.py.
import { streamOf, uniformAt, wholeAt } from "./draws.js";
import { partOf, prose } from "./page_prose.js";

/** Tokens and targets in row-major order, and whether each position is scored. @typedef {{seq: number, tokens: Int32Array, targets: Int32Array, counts: Uint8Array}} Texts */
/** The arrays to fill for one row, without its first token. @typedef {{tokens: Int32Array, targets: Int32Array, counts: Uint8Array, row: number}} Row */
/** @typedef {(row: Row, length: number, stream: (n: number) => number, split: string) => void} Draw */

const SPLITS = ["train", "test"];
const BACK = 5; // the token to repeat is this many positions back
const LETTERS = 8; // number of letters in recall; the token ids after them are the numbers 1 … FAR
const FAR = 8;
const ASKS = 0.25;

const once = (/** @type {number} */ length) => length + 1;

/** For each task: vocabulary size, planned steps, tokens per text, the function that draws a row, and number of
 * letters. */
const TASKS = {
  back: { vocab: 17, steps: 400, seq: once, draw: drawBack, letters: 16 },
  copy: { vocab: 18, steps: 600, seq: (/** @type {number} */ length) => 2 * length + 1, draw: drawCopy, letters: 16 },
  recall: { vocab: 17, steps: 400, seq: once, draw: drawRecall, letters: LETTERS },
  text: { vocab: 76, steps: 500, seq: once, draw: drawText, letters: 75 },
};

/** The task with the given name. */
export const pageTask = (/** @type {string} */ name) => TASKS[/** @type {keyof typeof TASKS} */ (name)];

// The accuracy and the loss, in nats, of guessing uniformly among a task's letters. For text, the accuracy is that of
// always guessing the most common character, and the loss is the entropy of the character frequencies.
export function guessOf(/** @type {string} */ name) {
  if (name === "text") {
    const shares = prose().shares.filter((share) => share > 0);
    return { right: Math.max(...shares), loss: -shares.reduce((sum, share) => sum + share * Math.log(share), 0) };
  }
  const { letters } = pageTask(name);
  return { right: 1 / letters, loss: Math.log(letters) };
}

/** The number of tokens in a text, including the first. @type {(name: string, length: number) => number} */
export const placesOf = (name, length) => pageTask(name).seq(length);

// Generate a batch as a pure function of the arguments. Each row begins with a special token, the last in the
// vocabulary.
/** @type {(name: string, which: {split: string, seed: number, step: number}, rows: number, length: number) => Texts} */
export function drawTexts(name, { split, seed, step }, rows, length) {
  const { vocab, seq, draw } = pageTask(name);
  const keys = [SPLITS.indexOf(split), seed, step, length];
  const stream = (/** @type {number} */ n) => streamOf([...keys, n]);
  const long = name === "copy" && split === "train" ? shortened(stream(3), length) : length;
  const places = seq(long);
  const [tokens, targets] = [new Int32Array(rows * places), new Int32Array(rows * places)];
  const counts = new Uint8Array(rows * places);
  for (let row = 0; row < rows; row++) {
    const [first, end] = [row * places, (row + 1) * places];
    tokens[first] = vocab - 1;
    const [rest, answers] = [tokens, targets].map((all) => all.subarray(first + 1, end));
    draw({ row, tokens: rest, targets: answers, counts: counts.subarray(first + 1, end) }, long, stream, split);
  }
  return { seq: places, tokens, targets, counts };
}

/** A random integer between half of `length` and `length`. @type {(stream: number, length: number) => number} */
function shortened(stream, length) {
  const half = Math.floor(length / 2);
  return half + wholeAt(stream, 0, length - half + 1);
}

/** Draw a row of "back", in which each position repeats the token from five positions earlier. @type {Draw} */
function drawBack({ row, tokens, targets, counts }, length, stream) {
  const first = stream(0);
  for (let i = 0; i < length; i++) tokens[i] = wholeAt(first, row * length + i, 16);
  for (let i = BACK; i < length; i++) {
    targets[i] = tokens[i - BACK];
    counts[i] = 1;
  }
}

/** Draw a row of "copy", which repeats a sequence after a separator. @type {Draw} */
function drawCopy({ row, tokens, targets, counts }, n, stream) {
  const first = stream(0);
  for (let i = 0; i < n; i++) {
    const token = wholeAt(first, row * n + i, 16);
    tokens[i] = targets[i] = targets[n + i] = token;
    if (i < n - 1) tokens[n + 1 + i] = token;
    counts[n + i] = 1;
  }
  tokens[n] = 16;
}

/** Draw a row of "recall", in which a number asks for the letter at that distance. @type {Draw} */
function drawRecall({ row, tokens, targets, counts }, length, stream) {
  const [letters, far, asks] = [stream(0), stream(1), stream(2)];
  for (let i = 0; i < length; i++) {
    const n = row * length + i;
    const back = 1 + wholeAt(far, n, FAR);
    if (uniformAt(asks, n) >= ASKS) {
      tokens[i] = wholeAt(letters, n, LETTERS);
      continue;
    }
    tokens[i] = LETTERS + back - 1;
    if (i < back || tokens[i - back] >= LETTERS) continue;
    targets[i] = tokens[i - back];
    counts[i] = 1;
  }
}

/** Draw a row of "text", which is a passage of the prose from a random position. @type {Draw} */
function drawText({ row, tokens, targets, counts }, length, stream, split) {
  const part = partOf(split);
  const start = wholeAt(stream(0), row, part.length - length);
  tokens.set(part.subarray(start, start + length));
  targets.set(part.subarray(start + 1, start + length + 1));
  counts.fill(1);
}
