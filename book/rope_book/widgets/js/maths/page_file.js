// Saves a model trained in the page as a file, with the settings and all the numbers needed to continue training
// exactly.
import { fromBase64, toBase64 } from "../lib/base64.js";
import { phrase } from "../lib/phrase.js";

/** The numbers of a run. @typedef {{step: number, losses: Vector, weights: Float64Array, means: Float64Array, squares: Float64Array}} Kept */

const FORMAT = "rope-book model of the page";
const VERSION = 1;
const LISTS = /** @type {const} */ (["weights", "means", "squares"]);

/** Encode numbers as little-endian float64 in base64. */
export const packed = (/** @type {Float64Array} */ numbers) => toBase64(new Uint8Array(numbers.slice().buffer));

/** Decode the numbers in a string written by `packed`. Returns undefined for any other string. */
export function unpacked(/** @type {unknown} */ text) {
  if (typeof text !== "string" || text.length % 4 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  const { buffer } = fromBase64(text);
  return buffer.byteLength % 8 ? undefined : new Float64Array(buffer);
}

/** The text to save in a file. @type {(settings: State, kept: Kept) => string} */
export function fileOf(settings, kept) {
  const lists = Object.fromEntries(LISTS.map((name) => [name, packed(kept[name])]));
  return JSON.stringify({ format: FORMAT, version: VERSION, settings, losses: kept.losses, ...lists }, null, 1);
}

// Parse a file. Throws an Error with a message for the user if the file is damaged or of a different kind. `sizeOf`
// counts a model's weights.
/** @type {(text: string, sizeOf: (settings: State) => number) => {settings: State, kept: Kept}} */
export function readFile(text, sizeOf) {
  let all;
  try {
    all = JSON.parse(text);
  } catch {
    throw new Error(phrase`This file is not JSON: choose one that “Save the model” wrote.`);
  }
  if (all?.format !== FORMAT) throw new Error(phrase`This file does not hold a model of this page.`);
  if (all.version !== VERSION)
    throw new Error(phrase`This file has version ${all.version}; this page reads version ${VERSION}.`);
  const { settings, losses } = all;
  const wanted = sizeOf(settings ?? {});
  const lists = LISTS.map((name) => /** @type {const} */ ([name, unpacked(all[name])]));
  for (const [name, numbers] of lists) {
    const found = numbers ? `${numbers.length} numbers` : "no numbers";
    if (numbers?.length !== wanted)
      throw new Error(phrase`This file is broken: its ${name} are ${found}, not ${wanted}.`);
    if (!numbers?.every(Number.isFinite)) throw new Error(phrase`This file is broken: its ${name} are not all finite.`);
  }
  const known = Array.isArray(losses) && losses.length <= 2000 && losses.every(Number.isFinite);
  if (!known) throw new Error(phrase`This file is broken: its losses must be at most 2000 numbers.`);
  const kept = /** @type {Kept} */ ({ step: losses.length, losses, ...Object.fromEntries(lists) });
  return { settings, kept };
}
