import { ink, note, noteMiddle } from "../lib/colour.js";
import { live } from "../lib/figure.js";
import { polar } from "../lib/geometry.js";
import { centred, inLines } from "../lib/labels.js";
import { clamp, fmt, range } from "../lib/numbers.js";
import { phrase } from "../lib/phrase.js";
import { pointsAround, sector } from "../lib/shapes.js";
import { counted } from "../lib/words.js";
import { decodingWork, heldKeys, keyAngle } from "../maths/decoding.js";

const STEPS = 16;
const SEEN = 0.005; // radians: less cannot be seen

/** The keys that the cache holds after a step, oldest first, with what the step did to each and how far it is off. */
function held({ store, pair, capacity }, step) {
  return heldKeys(store, pair, capacity, step).map((key) => {
    const kind = key.position === step - 1 ? "new" : store === "unrotated" ? "again" : "kept";
    return { ...key, kind, off: key.used - key.wanted };
  });
}

/** How many keys point elsewhere than they should by more than can be seen, and the farthest of them. */
function stale(state) {
  const off = held(state, state.step).filter((key) => Math.abs(key.off) > SEEN);
  const most = Math.max(...off.map((key) => Math.abs(key.off)));
  const worst = off.find((key) => Math.abs(key.off) === most);
  return { count: off.length, worst };
}

const narrow = (width) => width < 620;
const rowHeight = (width) => clamp(width / STEPS - 4, 13, 17); // height of one step of the history

/** Where the parts stand, from the top. */
function plan(width) {
  const side = width / STEPS; // of a column
  const r = Math.min(side / 2 - 1, 18);
  const query = 30 + r;
  const keys = query + 2 * r + 42;
  const legend = keys + r + 36;
  const history = legend + (narrow(width) ? 80 : 40);
  const bottom = history + STEPS * rowHeight(width);
  return { side, r, query, keys, legend, history, bottom };
}

const height = (width) => plan(width).bottom + (narrow(width) ? 178 : 6);

// Elements are reused from one picture to the next: each kind always has the same attributes.

/** A line, solid unless its style says otherwise. */
function stroke(pen, x1, y1, x2, y2, style) {
  pen.line(x1, y1, x2, y2, { dash: "none", ...style });
}

/** A filled box. */
function box(pen, x, y, w, h, fill, opacity, radius = 0) {
  pen.rect(x, y, w, h, { fill, opacity, radius });
}

/** A face, or the place of one. */
function face(pen, cx, cy, r, style) {
  pen.circle(cx, cy, r, { dash: "none", ...style });
}

/** A hand from the middle of a face. */
function hand(pen, cx, cy, length, angle, style) {
  stroke(pen, cx, cy, ...polar(cx, cy, angle, length), style);
}

/** The cache now: the newest query above, its dot products, a face for each column. */
function drawNow(pen, state, width, at) {
  const { side, r, query, keys } = at;
  const X = (position) => (position + 0.5) * side;
  const all = held(state, state.step);
  const newest = state.step - 1;
  for (const { position } of all) {
    stroke(pen, X(newest), query + r, X(position), keys - r - 1, { stroke: ink.score, width: 1.3 });
  }
  face(pen, X(newest), query, r, { stroke: ink.q, width: 2, fill: ink.paper });
  const angle = keyAngle(state.store, state.pair, newest, state.step);
  hand(pen, X(newest), query, r - 2, angle, { stroke: ink.q, width: 3 });
  const words = phrase`query of the newest token, m = ${newest}`;
  pen.text(centred(X(newest), words, 0, width), 17, words, { anchor: "middle", fill: ink.qWords });
  for (const position of range(0, STEPS - 1)) {
    if (all.some((key) => key.position === position)) continue;
    const gone = position < state.step;
    face(pen, X(position), keys, r, { stroke: gone ? ink.muted : ink.grid, width: 1, dash: "2 3" });
    if (gone) pen.text(X(position), keys + 4, "×", noteMiddle);
  }
  for (const key of all) drawKey(pen, state, key, X(key.position), keys, r);
  const every = side < 26 ? 3 : 1;
  for (const position of range(0, STEPS - 1, every)) {
    pen.text(X(position), keys + r + 16, position, { anchor: "middle", size: 12, fill: ink.positionWords });
  }
}

/** One face: what is stored, and what the query meets. */
function drawKey(pen, { store }, key, cx, cy, r) {
  const fresh = key.kind === "new";
  if (fresh) box(pen, cx - r - 1, cy - r - 1, 2 * r + 2, 2 * r + 2, ink.k, 0.28, 3);
  face(pen, cx, cy, r, { stroke: ink.k, width: fresh ? 3 : 1.3 });
  if (Math.abs(key.off) > SEEN) {
    pen.area(sector(cx, cy, r, key.used, key.wanted, 8), { fill: ink.text, opacity: 0.25 });
    hand(pen, cx, cy, r, key.wanted, { stroke: ink.position, width: 2, dash: "3 2" });
  }
  if (store === "unrotated") {
    hand(pen, cx, cy, r - 2, key.stored, { stroke: ink.k, width: 1.5 });
    hand(pen, cx, cy, r - 2, key.used, { stroke: ink.position, width: 3 });
  } else {
    hand(pen, cx, cy, r - 2, key.used, { stroke: ink.k, width: 3 });
  }
}

/**
 * What the signs mean: draw(x, y) draws one.
 * @returns {{words: string, sign: (x: number, y: number) => void}[]}
 */
function signs(pen, { store, capacity, step }) {
  const swatch = (colour, opacity) => (x, y) => box(pen, x, y - 11, 14, 13, colour, opacity);
  const sample = (style) => (x, y) => stroke(pen, x, y - 4, x + 15, y - 4, style);
  const fresh = { words: phrase`new`, sign: swatch(ink.k, 0.45) };
  const stored = { words: phrase`stored`, sign: sample({ stroke: ink.k, width: 1.5 }) };
  const again = { words: phrase`turned again at this step`, sign: sample({ stroke: ink.position, width: 3 }) };
  const kept = { words: phrase`kept as it is`, sign: sample({ stroke: ink.k, width: 3 }) };
  const wanted = { words: phrase`where it belongs`, sign: sample({ stroke: ink.position, width: 2, dash: "3 2" }) };
  const stale = { words: phrase`stale`, sign: swatch(ink.text, 0.3) };
  const evicted = { words: phrase`evicted`, sign: (x, y) => pen.text(x + 3, y, "×", { fill: ink.muted }) };
  const hands = { unrotated: [stored, again], rotated: [kept], dynamic: [kept, wanted, stale] }[store];
  return [fresh, ...hands, ...(step > capacity ? [evicted] : [])];
}

function drawLegend(pen, state, width, y) {
  for (const { words, sign, x, line } of inLines(signs(pen, state), width - 2, { sample: 20, gap: 12 })) {
    sign(x + 2, y + 20 * line);
    pen.text(x + 22, y + 20 * line, words);
  }
}

/** Every step so far as a row of small hands under the columns they belong to. */
function drawHistory(pen, state, width, at) {
  const { side, history } = at;
  const tall = rowHeight(width);
  pen.text(2, history - 7, width < 320 ? phrase`One row per step` : phrase`One row per step, one column per position`);
  stroke(pen, 0, history, width, history, { stroke: ink.grid, width: 1 });
  for (const step of range(1, state.step)) {
    const y = history + (step - 1) * tall;
    for (const key of held(state, step)) {
      const x = key.position * side;
      const [cx, cy] = [x + side / 2, y + tall / 2];
      const dark = Math.min(0.6, Math.abs(key.off) * 0.6);
      const again = key.kind === "again";
      const fill = key.kind === "new" ? ink.k : again ? ink.position : ink.text;
      const opacity = key.kind === "new" ? 0.45 : again ? 0.25 : dark;
      if (opacity > 0.003) box(pen, x + 0.5, y + 0.5, side - 1, tall - 1, fill, opacity);
      const colour = state.store === "unrotated" ? ink.position : ink.k;
      hand(pen, cx, cy, tall / 2 - 1, key.used, { stroke: colour, width: 1.8 });
    }
  }
  const y = history + (state.step - 1) * tall;
  const first = Math.max(0, state.step - state.capacity);
  const [left, right] = [Math.max(0.6, first * side), Math.min(width - 0.6, state.step * side)];
  const wide = right - left;
  const rim = pointsAround([left, y], [0, 0], [wide, 0], [wide, tall], [0, tall], [0, 0]);
  pen.curve(rim, { stroke: ink.text, width: 1.2 });
}

/** What something costs as two bars, with and without a cache, `full` at most; in parentheses what this step adds. */
function drawBars(pen, { name, values, now, full, fill }, x, y, w) {
  const share = w - 154;
  pen.text(x, y, name, { weight: 600 });
  for (const [i, words] of [phrase`with cache`, phrase`without`].entries()) {
    const top = y + 5 + 17 * i;
    const long = (share * values[i]) / full;
    pen.text(x, top + 11, words, note);
    box(pen, x + 68, top + 1, Math.max(1, long), 12, fill, i ? 0.4 : 1);
    pen.text(x + 74 + long, top + 12, values[i] + (now ? ` (${now[i]})` : ""), { size: 12 });
  }
}

/** What each step costs: keys turned, dot products, and the bytes that it reads. */
function costOf({ store, capacity, step }) {
  const [all, before] = [decodingWork(store, capacity, step), decodingWork(store, capacity, step - 1)];
  const added = (name) => all[name].map((value, i) => value - before[name][i]);
  return { all, turned: added("turned"), products: added("products") };
}

/** The work of all steps so far, and what the cache keeps. */
function drawWork(pen, state, x, y, w) {
  const { all, turned, products } = costOf(state);
  const bars = [
    { name: phrase`Keys turned (at this step)`, values: all.turned, now: turned, full: 136, fill: ink.position },
    { name: phrase`Dot products (at this step)`, values: all.products, now: products, full: 816, fill: ink.score },
    { name: phrase`Bytes kept, read at each step`, values: all.bytes, now: null, full: 512, fill: ink.k },
  ];
  for (const [i, each] of bars.entries()) drawBars(pen, each, x, y + 52 * i, w);
}

function draw(pen, state, { width }) {
  const at = plan(width);
  drawNow(pen, state, width, at);
  drawLegend(pen, state, width, at.legend);
  drawHistory(pen, state, width, at);
  if (narrow(width)) drawWork(pen, state, 2, at.bottom + 22, width - 4);
  else drawWork(pen, state, 10.2 * at.side, at.history + 16, width - 10.2 * at.side);
}

function readout(state) {
  const { step, store, capacity, pair } = state;
  const earlier = held(state, step).length - 1;
  const { count, worst } = stale(state);
  const { all, products } = costOf(state);
  const added = phrase`Step ${step} writes one key, at position ${step - 1}, takes ${counted(products[0], "dot product")} and reads
    ${all.bytes[0]} bytes.`;
  const over = step - capacity;
  const gone = over < 1 ? "" : over === 1 ? phrase` The oldest is evicted.` : phrase` The oldest ${over} are evicted.`;
  if (!earlier) return added;
  if (store === "unrotated")
    return phrase`${added} All ${counted(earlier + 1, "key")} are turned, to their positions, at every step.${gone}`;
  if (store === "rotated" || !count) {
    const why = store === "dynamic" && pair === 0 ? phrase` Dynamic NTK never changes pair 0.` : "";
    return earlier === 1
      ? phrase`${added} The 1 key before it stays as stored.${why}${gone}`
      : phrase`${added} The ${earlier} keys before it stay as stored.${why}${gone}`;
  }
  const [before, off] = [counted(earlier, "key"), fmt(Math.abs(worst.off))];
  return count === 1
    ? phrase`${added} It has changed the frequencies: of the ${before} before it 1 is stale, that of position ${worst.position} by
        ${off} rad.${gone}`
    : phrase`${added} It has changed the frequencies: of the ${before} before it ${count} are stale, that of position
        ${worst.position} by ${off} rad.${gone}`;
}

export default live({
  name: "CacheSteps",
  title: phrase`A cache of keys, one column per token, and what every step of decoding adds or changes`,
  height,
  draw,
  readout,
  play: { trait: "step", perSecond: 1.5 },
});
