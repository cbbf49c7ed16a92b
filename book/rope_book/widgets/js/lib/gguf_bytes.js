import { phrase } from "./phrase.js";

// Parses the header of a GGUF from the file's first bytes, treating it as untrusted. Weights are not read.

const LONGEST = 16384; // maximum number of array elements to keep, and of bytes in a string
const ENTRIES = 200000; // maximum number of keys, and of tensors
const TEXTS = 2000000; // maximum number of strings in arrays, such as the tokens of a vocabulary
const [TEXT, ARRAY] = [8, 9];
/** A number's width in bytes and its reader, by GGUF type. @type {Record<number, [number, (view: DataView, at: number) => any]>} */
export const NUMBERS = {
  0: [1, (view, at) => view.getUint8(at)],
  1: [1, (view, at) => view.getInt8(at)],
  2: [2, (view, at) => view.getUint16(at, true)],
  3: [2, (view, at) => view.getInt16(at, true)],
  4: [4, (view, at) => view.getUint32(at, true)],
  5: [4, (view, at) => view.getInt32(at, true)],
  6: [4, (view, at) => shortest(view.getFloat32(at, true))],
  7: [1, (view, at) => view.getUint8(at) !== 0],
  10: [8, (view, at) => Number(view.getBigUint64(at, true))],
  11: [8, (view, at) => Number(view.getBigInt64(at, true))],
  12: [8, (view, at) => view.getFloat64(at, true)],
};

/**
 * The shortest decimal that rounds to the given float32: 0.1, not 0.10000000149.
 * @type {(number: number) => number}
 */
export function shortest(number) {
  const single = Math.fround(number);
  if (!Number.isFinite(single)) return single;
  for (let digits = 1; digits < 9; digits++) {
    const short = rounded(single, digits);
    if (Math.fround(short) === single) return short;
  }
  return Number(single.toPrecision(9));
}

/** Round a number to `digits` digits, half to even as in NumPy. @type {(value: number, digits: number) => number} */
function rounded(value, digits) {
  const [mantissa, power] = value.toExponential(digits).split("e");
  const halfway = mantissa.endsWith("5") && Number(`${mantissa}e${power}`) === value;
  const even = halfway && Number(mantissa.at(-2) === "." ? mantissa.at(-3) : mantissa.at(-2)) % 2 === 0;
  return even ? Number(`${mantissa.slice(0, -1)}e${power}`) : Number(value.toPrecision(digits));
}

/** Thrown if the bytes end before the end of the header. */
export class Cut extends Error {}

/** Reads numbers and strings in sequence. */
class Reader {
  at = 0;
  texts = 0;

  /** @param {ArrayBuffer} bytes @param {number} size of the whole file, in bytes @param {boolean} keep whether to keep arrays of strings */
  constructor(bytes, size, keep) {
    this.view = new DataView(bytes);
    this.size = size;
    this.keep = keep;
  }

  /** @param {number} length @returns {number} the start of these bytes */
  skip(length) {
    if (length > this.size - this.at) throw new Error(phrase`it is cut, or a length in it is too large`);
    this.at += length;
    return this.at - length;
  }

  /** @param {number} length */
  take(length) {
    const begin = this.skip(length);
    if (this.at > this.view.byteLength) throw new Cut();
    return begin;
  }

  /** @param {number} kind */
  number(kind) {
    const [width, read] = NUMBERS[kind];
    return read(this.view, this.take(width));
  }

  text() {
    const length = this.number(10);
    if (length <= LONGEST) return new TextDecoder().decode(new Uint8Array(this.view.buffer, this.take(length), length));
    this.skip(length);
    return "";
  }

  /** @param {number} kind @returns {any} */
  value(kind) {
    if (kind === TEXT) return this.text();
    if (NUMBERS[kind]) return this.number(kind);
    if (kind !== ARRAY) throw new Error(phrase`a value has the unknown type ${kind}`);
    const [inner, length] = [this.number(4), this.number(10)];
    if (inner === TEXT) return this.list(length);
    if (!NUMBERS[inner]) throw new Error(phrase`an array has elements of the type ${inner}`);
    if (length <= LONGEST) return Array.from({ length }, () => this.number(inner));
    this.skip(length * NUMBERS[inner][0]);
    return null;
  }

  /** Read an array of strings, or skip the strings and return null. @param {number} length */
  list(length) {
    this.texts += length;
    if (this.texts > TEXTS) throw new Error(phrase`it states ${this.texts} texts, more than a vocabulary has`);
    if (this.keep) return Array.from({ length }, () => this.text());
    for (let i = 0; i < length; i++) this.skip(this.number(10));
    return null;
  }

  /** Read a tensor's entry, with its offset from the start of the data. */
  tensor() {
    const [name, axes] = [this.text(), this.number(4)];
    if (axes > 8) throw new Error(phrase`a tensor has ${axes} axes`);
    const shape = Array.from({ length: axes }, () => this.number(10));
    return { name, shape, kind: this.number(4), start: this.number(10) };
  }
}

/**
 * Parse the first bytes of a file of `size` bytes. Returns the keys with their values, the tensors with shape, kind
 * and offset, the end of the header, and the start of the data. Arrays of strings, such as a vocabulary, are null
 * unless `keep` is set.
 * @type {(bytes: ArrayBuffer, size: number, keep?: boolean) => {values: Record<string, any>, tensors: Placed[], end: number, data: number}}
 */
export function header(bytes, size, keep = false) {
  const reader = new Reader(bytes, size, keep);
  if (reader.number(4) !== 0x46554747) throw new Error(phrase`it does not begin with GGUF`);
  const version = reader.number(4);
  if (version !== 2 && version !== 3) throw new Error(phrase`its version is ${version}, and 2 and 3 are read`);
  const [tensors, keys] = [reader.number(10), reader.number(10)];
  if (tensors + keys > ENTRIES)
    throw new Error(phrase`it states ${tensors} tensors and ${keys} keys, more than a header has`);
  /** @type {Record<string, any>} */
  const values = Object.create(null);
  for (let i = 0; i < keys; i++) values[reader.text()] = reader.value(reader.number(4));
  const places = Array.from({ length: tensors }, () => reader.tensor());
  const [end, align] = [reader.at, values["general.alignment"] ?? 32];
  const data = Math.ceil(end / align) * align;
  return { values, tensors: places.map((place) => ({ ...place, start: data + place.start })), end, data };
}
