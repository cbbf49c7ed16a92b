import { ink, note, noteMiddle } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { polar } from "../lib/geometry.js";
import { legendOf } from "../lib/legend.js";
import { fmt, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { pointsAround, sector } from "../lib/shapes.js";
import { counted } from "../lib/words.js";
import { decodingWork, heldKeys } from "../maths/decoding.js";

const STEPS = 16;
const COST = 44; // height of a pair of bars with its heading, in pixels
const VISIBLE = 0.005; // in radians; smaller errors are invisible

// styles of the clock hands
const STORED = { stroke: ink.k, width: 1.5 };
const KEPT = { stroke: ink.k, width: 3 };
const AGAIN = { stroke: ink.position, width: 3 };
const WANTED = { stroke: ink.position, width: 2, dash: "3 2" };

const COSTS = [
  { of: "turned", name: phrase`Keys turned (at this step)`, full: 136, fill: ink.position, adds: true },
  { of: "products", name: phrase`Dot products (at this step)`, full: 816, fill: ink.text, adds: true },
  { of: "bytes", name: phrase`Bytes kept, read at each step`, full: 512, fill: ink.k, adds: false },
];

/** The cached keys after a step, oldest first, each with its error and with the effect of the step. */
function held({ store, pair, capacity }, step) {
  return heldKeys(store, pair, capacity, step).map((key) => {
    const kind = key.position === step - 1 ? "new" : store === "unrotated" ? "again" : "kept";
    return { ...key, kind, off: Math.abs(key.used - key.wanted) };
  });
}

/** The keys that the newest query sees at a wrong angle. */
const staleIn = (keys) => keys.filter((key) => key.off > VISIBLE);

function plan(width) {
  const narrow = width < 620;
  const side = width / STEPS; // width of a column
  const tall = narrow ? 15 : 13.2; // height of one step in the history
  const r = Math.min(side / 2 - 1, 18);
  const keys = 24 + r;
  const top = keys + r + 32;
  const history = top + (narrow ? 64 : 34);
  const bottom = history + STEPS * tall;
  const work = narrow
    ? { x: 2, y: bottom + 40, w: width - 4 }
    : { x: 10.2 * side, y: history + 14, w: width - 10.2 * side }; // above the newest steps
  return { side, tall, r, keys, legend: top, history, work, height: bottom + (narrow ? 48 + COSTS.length * COST : 2) };
}

function hand(pen, cx, cy, length, angle, style) {
  pen.line(cx, cy, ...polar(cx, cy, angle, length), style);
}

/** Draw the current cache: one clock face per column. */
function drawNow(pen, state, { side, r, keys }) {
  const { store, step } = state;
  const X = (position) => (position + 0.5) * side;
  const all = held(state, step);
  pen.text(2, 14, phrase`The cache after step ${step}`, { weight: 600 });
  for (const position of range(0, STEPS - 1)) {
    if (all.some((key) => key.position === position)) continue;
    const gone = position < step;
    pen.circle(X(position), keys, r, { stroke: gone ? ink.muted : ink.grid, width: 1, dash: "2 3" });
    if (gone) pen.text(X(position), keys + 4, "×", noteMiddle);
  }
  for (const key of all) drawKey(pen, store, key, X(key.position), keys, r);
  for (const position of range(0, STEPS - 1, side < 26 ? 3 : 1)) {
    pen.text(X(position), keys + r + 16, position, { ...noteMiddle, fill: ink.positionWords });
  }
}

/** Draw a key's clock face, with hands for the stored and the used angle and a shaded sector for the error. */
function drawKey(pen, store, { kind, stored, used, wanted, off }, cx, cy, r) {
  const fresh = kind === "new";
  if (fresh) pen.rect(cx - r - 1, cy - r - 1, 2 * r + 2, 2 * r + 2, { fill: ink.k, opacity: 0.28, radius: 3 });
  pen.circle(cx, cy, r, { stroke: ink.k, width: fresh ? 3 : 1.3 });
  if (off > VISIBLE) {
    pen.area(sector(cx, cy, r, used, wanted, 8), { fill: ink.text, opacity: 0.25 });
    hand(pen, cx, cy, r, wanted, WANTED);
  }
  if (store === "unrotated") hand(pen, cx, cy, r - 2, stored, STORED);
  hand(pen, cx, cy, r - 2, used, store === "unrotated" ? AGAIN : KEPT);
}

const SIGNS = {
  unrotated: [
    { words: phrase`stored`, style: STORED },
    { words: phrase`turned again at this step`, style: AGAIN },
  ],
  rotated: [{ words: phrase`kept as it is`, style: KEPT }],
  dynamic: [
    { words: phrase`kept as it is`, style: KEPT },
    { words: phrase`where it belongs`, style: WANTED },
    { words: phrase`stale`, box: { fill: ink.text, opacity: 0.3 } },
  ],
};
const NEW = { words: phrase`new`, box: { fill: ink.k, opacity: 0.45 } };
const EVICTED = { words: phrase`evicted`, sign: (pen, x, y) => pen.text(x + 5, y + 4, "×", { fill: ink.muted }) };

function legend({ store, capacity, step }, width) {
  const signs = [NEW, ...SIGNS[store], ...(step > capacity ? [EVICTED] : [])];
  return legendOf(signs, width - 2, { sample: 20, text: 22 });
}

/** Draw one row of small clock hands for each step so far, aligned with the columns above. */
function drawHistory(pen, state, width, { side, tall, history }) {
  pen.text(2, history - 7, width < 320 ? phrase`One row per step` : phrase`One row per step, one column per position`);
  pen.line(0, history, width, history, { stroke: ink.grid, width: 1 });
  const top = (step) => history + (step - 1) * tall;
  const stroke = state.store === "unrotated" ? ink.position : ink.k;
  for (const step of range(1, state.step)) {
    for (const { position, kind, used, off } of held(state, step)) {
      const [x, y] = [position * side, top(step)];
      const stale = { fill: ink.text, opacity: Math.min(0.6, off * 0.6) };
      const style = { new: NEW.box, again: { fill: ink.position, opacity: 0.25 } }[kind] ?? stale;
      if (style.opacity > 0.003) pen.rect(x + 0.5, y + 0.5, side - 1, tall - 1, style);
      hand(pen, x + side / 2, y + tall / 2, tall / 2 - 1, used, { stroke, width: 1.8 });
    }
  }
  const first = Math.max(0, state.step - state.capacity);
  const [left, right] = [Math.max(0.6, first * side), Math.min(width - 0.6, state.step * side)];
  const wide = right - left;
  const rim = pointsAround([left, top(state.step)], [0, 0], [wide, 0], [wide, tall], [0, tall], [0, 0]);
  pen.curve(rim, { stroke: ink.text, width: 1.2 });
}

/** Draw the total cost with and without a cache as pairs of bars, with the last step's cost in parentheses. */
function drawWork(pen, { store, capacity, step }, { x, y, w }) {
  const [all, before] = [step, step - 1].map((steps) => decodingWork(store, capacity, steps));
  pen.text(x, y - 21, phrase`Each cost on its own scale`, note);
  for (const [n, { of, name, full, fill, adds }] of COSTS.entries()) {
    const top = y + COST * n;
    pen.text(x, top, name, { weight: 600 });
    for (const [i, words] of [phrase`with cache`, phrase`without`].entries()) {
      const [value, line] = [all[of][i], top + 4 + 14 * i];
      const [long, added] = [((w - 154) * value) / full, value - before[of][i]];
      pen.text(x, line + 9.5, words, note);
      pen.rect(x + 68, line, Math.max(1, long), 10, { fill, opacity: i ? 0.4 : 1 });
      pen.text(x + 74 + long, line + 9.5, adds ? `${value} (${added})` : `${value}`, { size: 12 });
    }
  }
}

function draw(pen, state, { width }) {
  const at = plan(width);
  drawNow(pen, state, at);
  legend(state, width).draw(pen, at.legend);
  drawHistory(pen, state, width, at);
  drawWork(pen, state, at.work);
}

function readout(state) {
  const { step, store, capacity, pair } = state;
  const all = held(state, step);
  const off = staleIn(all).sort((one, other) => other.off - one.off);
  const earlier = all.length - 1;
  const [bytes] = decodingWork(store, capacity, step).bytes;
  const added = phrase`Step ${step} writes one key, at position ${step - 1}, takes ${counted(all.length, "dot product")} and reads
    ${bytes} bytes.`;
  const over = step - capacity;
  const gone = over < 1 ? "" : over === 1 ? phrase` The oldest is evicted.` : phrase` The oldest ${over} are evicted.`;
  if (!earlier) return added;
  if (store === "unrotated")
    return phrase`${added} All ${counted(earlier + 1, "key")} are turned, to their positions, at every step.${gone}`;
  if (!off.length) {
    const why = store === "dynamic" && pair === 0 ? phrase` Dynamic NTK never changes pair 0.` : "";
    return earlier === 1
      ? phrase`${added} The 1 key before it stays as stored.${why}${gone}`
      : phrase`${added} The ${earlier} keys before it stay as stored.${why}${gone}`;
  }
  const before = counted(earlier, "key");
  const [{ position, off: by }] = off;
  return off.length === 1
    ? phrase`${added} It has changed the frequencies: of the ${before} before it 1 is stale, that of position ${position} by
        ${fmt(by)} rad.${gone}`
    : phrase`${added} It has changed the frequencies: of the ${before} before it ${off.length} are stale, that of position
        ${position} by ${fmt(by)} rad.${gone}`;
}

const results = (state) => ({
  held: held(state, state.step).length,
  bytes_held: decodingWork(state.store, state.capacity, state.step).bytes[0],
  stale: staleIn(held(state, state.step)).length,
});

export default live({
  name: "CacheSteps",
  title: phrase`A cache of keys, one column per token, and what every step of decoding adds or changes`,
  height: (width) => plan(width).height,
  draw,
  readout,
  results,
  play: { trait: "step", perSecond: 1.5 },
});
