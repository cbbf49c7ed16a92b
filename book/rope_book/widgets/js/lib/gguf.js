// Reads a GGUF or a configuration file as text. A GGUF's header is read slice by slice, in the page; no data is sent
// over the network.
import { Cut, header, NUMBERS } from "./gguf_bytes.js";
import { phrase } from "./phrase.js";

const LONGEST = 16384; // maximum number of factors in a list
const FIRST = 2 ** 20; // bytes in the first slice
const MOST = 2 ** 27; // maximum number of bytes in a header
const FLOAT32 = 6;
const FACTORS = ["rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"];

/**
 * Extract the rotation from a GGUF, as JSON with the architecture's keys and the lists of factors.
 * @type {(file: Blob) => Promise<string>}
 */
async function digest(file) {
  for (let length = FIRST; ; length *= 4) {
    try {
      const bytes = await file.slice(0, length).arrayBuffer();
      return await stated(header(bytes, file.size), file);
    } catch (error) {
      if (!(error instanceof Cut) || length > MOST) throw error instanceof Cut ? new Error(phrase`it is cut`) : error;
    }
  }
}

/** @type {(parsed: ReturnType<typeof header>, file: Blob) => Promise<string>} */
async function stated({ values, tensors }, file) {
  const arch = String(values["general.architecture"] ?? "");
  /** @type {[string, any][]} */
  const entries = Object.entries(values).filter(
    ([name]) => name === "general.architecture" || name.startsWith(`${arch}.`),
  );
  for (const { name, shape, kind, start } of tensors.filter((tensor) => FACTORS.includes(tensor.name))) {
    const length = shape[0];
    if (kind !== 0 || shape.length !== 1 || length > LONGEST)
      throw new Error(phrase`${name} must be one list of float32`);
    const view = new DataView(await file.slice(start, start + 4 * length).arrayBuffer());
    if (view.byteLength < 4 * length) throw new Error(phrase`it is cut: it ends before its header does`);
    entries.push([name, Array.from({ length }, (_, i) => NUMBERS[FLOAT32][1](view, 4 * i))]);
  }
  return JSON.stringify(Object.fromEntries(entries));
}

/**
 * Read a file as text: a GGUF's rotation, or the content of any other file, up to `most` characters.
 * @type {(file: File, most: number) => Promise<string>}
 */
export async function textOf(file, most) {
  const magic = await file.slice(0, 4).text();
  const text = magic === "GGUF" ? await digest(file) : file.size > 4 * most ? null : await file.text();
  if (text === null || text.length > most) throw new Error(phrase`it is too large for a config.json and is not a GGUF`);
  return text;
}
