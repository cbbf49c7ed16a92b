import { edited, headOf } from "./gguf_edit.js";
import { begun, makeTokenizer } from "./tokens.js";

// Runs SmolLM2 in llama.cpp, reloading the model when a different rotation is requested.

const CONTEXT = 1024; // most tokens in the prompt and the answer together
const SILENT = { debug() {}, log() {}, warn() {}, error() {} };
const GREEDY = { temperature: 0, top_k: 1 };

/** The reason why the browser cannot run the engine, or "" if it can. */
export function lacking() {
  try {
    new WebAssembly.Memory(/** @type {any} */ ({ address: "i64", initial: 1n }));
    return "";
  } catch {
    return "This browser cannot run the model: its WebAssembly lacks memory with 64-bit addresses, which current versions of Chrome and Firefox have.";
  }
}

/** The number of threads, which is 1 unless the page is cross-origin isolated. */
export const threads = () => (globalThis.crossOriginIsolated ? Math.max(1, navigator.hardwareConcurrency >> 1) : 1);

/** Read a file's header. Throws an Error with the reason if the file is not SmolLM2. @type {(file: Blob) => Promise<GgufHead>} */
export async function checked(file) {
  const head = await headOf(file).catch((error) => {
    throw new Error(`This is not a GGUF that the page can read: ${error.message || "it is cut"}.`);
  });
  const { values } = head;
  const found = [values["general.architecture"], values["tokenizer.ggml.pre"], values["llama.rope.dimension_count"]];
  if (found.join() !== "llama,smollm,64")
    throw new Error(`This file is not SmolLM2-135M, but ${values["general.name"] ?? "another model"}.`);
  return head;
}

/**
 * Create an engine that runs the file with one rotation at a time; `complete` loads the requested rotation.
 * @param {Blob} file @param {GgufHead} head @param {string} wasm @param {() => Promise<{Wllama: any}>} start
 */
function makeLoader(file, head, wasm, start) {
  /** @type {any} */
  let engine;
  let loaded = "";

  async function close() {
    const last = engine;
    [engine, loaded] = [undefined, ""];
    await last?.exit();
  }
  /** @param {RealChoice} choice */
  async function open({ settings = {}, edit = {} }) {
    const wanted = JSON.stringify([settings, edit]);
    if (loaded === wanted) return;
    await close();
    const { Wllama } = await start();
    engine = new Wllama({ default: wasm }, { suppressNativeLog: true, logger: SILENT });
    engine.setCompat(null); // prevents old browsers from fetching an engine from a third party
    const common = { n_ctx: CONTEXT, n_threads: threads(), n_gpu_layers: 0, n_parallel: 1 };
    await engine.loadModel([await edited(file, head, edit)], { ...common, ...settings });
    loaded = wanted;
  }
  /** @type {(choice: RealChoice, options: object, told: (part: any) => void, signal: AbortSignal) => Promise<void>} */
  async function complete(choice, options, told, abortSignal) {
    await open(choice);
    const onData = (/** @type {any} */ { choices }) => told(choices[0]);
    await engine.createCompletion({ ...GREEDY, ...options, abortSignal, stream: true, onData });
  }
  const threadsInUse = () => (engine?.isModelLoaded() ? engine.getNumThreads() : 0);
  return { complete, close, threadsInUse };
}

/** Create the model that a file contains. @type {(file: Blob, head: GgufHead, wasm: string, start: () => Promise<{Wllama: any}>) => RealModel} */
export function makeModel(file, head, wasm, start) {
  const tokenize = makeTokenizer(head.values["tokenizer.ggml.tokens"], head.values["tokenizer.ggml.merges"]);
  const { complete, close, threadsInUse } = makeLoader(file, head, wasm, start);

  /** @type {RealModel["write"]} */
  async function write(choice, prompt, tokens, told, signal) {
    let [words, count, begin] = ["", 0, 0];
    const each = (/** @type {any} */ { text }) => {
      if (!text) return;
      if (!count++) begin = performance.now();
      words += text;
      told(words, count > 1 ? (1000 * (count - 1)) / (performance.now() - begin) : 0);
    };
    await complete(choice, { prompt, max_tokens: tokens }, each, signal);
  }
  const known = /** @type {Map<string, number[]>} */ (new Map());
  /** @type {RealModel["losses"]} */
  async function losses(choice, text, told, signal) {
    const asked = JSON.stringify([choice, text]);
    const found = known.get(asked) ?? (await measured(choice, text, told, signal));
    known.set(asked, found);
    return found;
  }
  /** @type {RealModel["losses"]} */
  async function measured(choice, text, told, signal) {
    const { first, ids } = begun(text, tokenize);
    const found = /** @type {number[]} */ ([]);
    const each = (/** @type {any} */ { logprobs }) => {
      for (const { logprob } of logprobs?.content ?? []) found.push(-logprob);
      told(found.length, ids.length);
    };
    const grammar = `root ::= ${ids.map((id) => `<[${id}]>`).join(" ")}`; // forces the engine to write this text
    await complete(choice, { prompt: first, max_tokens: ids.length, grammar, logprobs: 1 }, each, signal);
    return found.slice(0, ids.length);
  }
  const edit = (/** @type {RealChoice} */ choice) => edited(file, head, choice.edit ?? {});
  const length = (/** @type {string} */ text) => begun(text, tokenize).ids.length + 1;
  return { write, losses, edit, length, close, threads: threadsInUse, most: CONTEXT };
}
