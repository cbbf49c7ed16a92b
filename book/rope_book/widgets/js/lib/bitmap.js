// Converts a field of numbers to an image.
import { toBase64 } from "./base64.js";
import { viridis } from "./colour.js";
import { clamp } from "./numbers.js";

// The data: URL of a BMP with 256 colours for numbers in 0 … 1, rows from the top; the file's rows run upwards, padded to 4 bytes.
/** @type {(rows: number, columns: number, shadeAt: (row: number, column: number) => number, colours?: Matrix) => string} */
export function bitmap(rows, columns, shadeAt, colours = viridis) {
  const stride = (columns + 3) & ~3;
  const start = 54 + 1024;
  const bytes = new Uint8Array(start + stride * rows);
  const view = new DataView(bytes.buffer);
  bytes[0] = 66;
  bytes[1] = 77;
  view.setUint32(2, bytes.length, true);
  view.setUint32(10, start, true);
  view.setUint32(14, 40, true);
  view.setInt32(18, columns, true);
  view.setInt32(22, rows, true);
  view.setUint16(26, 1, true);
  view.setUint16(28, 8, true);
  view.setUint32(34, stride * rows, true);
  for (const [i, [r, g, b]] of colours.entries()) bytes.set([b, g, r, 0], 54 + 4 * i);
  for (let r = 0; r < rows; r++) {
    const base = start + stride * (rows - 1 - r);
    for (let c = 0; c < columns; c++) bytes[base + c] = Math.round(clamp(shadeAt(r, c), 0, 1) * 255);
  }
  return `data:image/bmp;base64,${toBase64(bytes)}`;
}
