import { Cut, header } from "../lib/gguf_bytes.js";

// Changes the rotation in a GGUF by adding a list of factors, renaming a key, or reordering the rows of W_q and
// W_k. Only the header and those rows are read; all other data remains a slice of the user's file.

const FACTORS = "rope_freqs.weight";
const FIRST = 2 ** 21; // number of bytes that usually contain the header
const ALIGN = 32;
const FLOAT32 = 0;
/** Values per block and bytes per block, by ggml type: float32, float16, Q4_0, Q4_1, Q8_0. @type {Record<number, [number, number]>} */
const BLOCKS = { 0: [1, 4], 1: [1, 2], 2: [32, 18], 3: [32, 20], 8: [32, 34] };

/**
 * Read a file's header, and keep the bytes that contain it.
 * @type {(file: Blob) => Promise<GgufHead>}
 */
export async function headOf(file) {
  for (let length = FIRST; ; length *= 4) {
    const bytes = await file.slice(0, length).arrayBuffer();
    try {
      return { ...header(bytes, file.size, true), bytes };
    } catch (error) {
      if (!(error instanceof Cut) || length > file.size) throw error;
    }
  }
}

/** Apply an edit to a file; an empty edit returns the file unchanged. @type {(file: Blob, head: GgufHead, edit: Edit) => Promise<Blob>} */
export async function edited(file, head, { factors, forget, permute }) {
  if (!factors && !forget && !permute) return file;
  let front = new Uint8Array(head.bytes.slice(0, head.end));
  if (forget) front = renamed(front, forget);
  const tail = factors ? [padding(file.size - head.data), Float32Array.from(factors)] : [];
  if (factors) front = listed(front, factors.length, padded(file.size - head.data));
  const rows = permute ? await reordered(file, head) : [file.slice(head.data)];
  return new Blob([front, padding(front.length), ...rows, ...tail]);
}

const padded = (/** @type {number} */ length) => Math.ceil(length / ALIGN) * ALIGN;
const padding = (/** @type {number} */ length) => new Uint8Array(padded(length) - length);

/** Encode little-endian integers, given as [width, value] with a width of 4 or 8 bytes. @type {(...fields: [number, number][]) => Uint8Array} */
function integers(...fields) {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [width]) => sum + width, 0)));
  let at = 0;
  for (const [width, value] of fields) {
    view.setUint32(at, value % 2 ** 32, true);
    if (width === 8) view.setUint32(at + 4, Math.floor(value / 2 ** 32), true);
    at += width;
  }
  return new Uint8Array(view.buffer);
}

/** Concatenate byte arrays. @type {(...parts: Uint8Array[]) => Uint8Array<ArrayBuffer>} */
function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Encode a string for a GGUF, as the length followed by the bytes. @type {(text: string) => Uint8Array} */
function written(text) {
  const bytes = new TextEncoder().encode(text);
  return joined(integers([8, bytes.length]), bytes);
}

/** Rename a key in the header to hide it. @type {(front: Uint8Array<ArrayBuffer>, key: string) => Uint8Array<ArrayBuffer>} */
function renamed(front, key) {
  const sought = written(key);
  const at = front.findIndex((_, i) => sought.every((byte, j) => front[i + j] === byte));
  if (at < 0) throw new Error(`The file has no key ${key}.`);
  const last = at + sought.length - 1;
  return joined(front.slice(0, last), Uint8Array.of("_".charCodeAt(0)), front.slice(last + 1));
}

/** Add the factor list to the header as the last tensor. @type {(front: Uint8Array<ArrayBuffer>, length: number, start: number) => Uint8Array<ArrayBuffer>} */
function listed(front, length, start) {
  const count = new DataView(front.buffer, front.byteOffset).getUint32(8, true);
  const entry = [written(FACTORS), integers([4, 1], [8, length], [4, FLOAT32], [8, start])];
  return joined(front.slice(0, 8), integers([8, count + 1]), front.slice(16), ...entry);
}

/** A file's data, with the rows of each W_q and W_k reordered for the other layout. @type {(file: Blob, head: GgufHead) => Promise<(Blob | Uint8Array<ArrayBuffer>)[]>} */
async function reordered(file, head) {
  const width = head.values["llama.rope.dimension_count"];
  const parts = [];
  let done = head.data;
  for (const tensor of head.tensors.filter(({ name }) => /\.attn_[qk]\.weight$/.test(name))) {
    const block = BLOCKS[tensor.kind];
    if (!block) throw new Error(`The rows of ${tensor.name} are of a type that this page cannot move.`);
    const bytes = (tensor.shape[0] / block[0]) * block[1];
    const stop = tensor.start + bytes * tensor.shape[1];
    const rows = new Uint8Array(await file.slice(tensor.start, stop).arrayBuffer());
    parts.push(file.slice(done, tensor.start), inOtherLayout(rows, bytes, width));
    done = stop;
  }
  return [...parts, file.slice(done)];
}

/** Reorder the rows of each head, so that rows 2i and 2i + 1 are the former rows i and i + width / 2. @type {(rows: Uint8Array, bytes: number, width: number) => Uint8Array<ArrayBuffer>} */
function inOtherLayout(rows, bytes, width) {
  const moved = new Uint8Array(rows.length);
  for (let row = 0; row < rows.length / bytes; row++) {
    const [head, i] = [row - (row % width), row % width];
    const from = head + (i >> 1) + (i % 2) * (width / 2);
    moved.set(rows.subarray(from * bytes, (from + 1) * bytes), row * bytes);
  }
  return moved;
}
