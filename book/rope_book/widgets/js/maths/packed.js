// Unpacks 8-bit weights; mirrors `unpacked` in book/rope_book/results/page_models.py.
import { fromBase64 } from "../lib/base64.js";

// Dequantise a weight matrix: each row's integers times its scale.
export function unpacked(/** @type {{scales: string, codes: string}} */ stored) {
  const scales = new Float32Array(fromBase64(stored.scales).buffer);
  const codes = new Int8Array(fromBase64(stored.codes).buffer);
  const columns = codes.length / scales.length;
  return Float64Array.from(codes, (code, i) => code * scales[Math.floor(i / columns)]);
}
