import { say } from "../lib/dom.js";
import { checked, lacking, makeModel } from "./engine.js";
import { fetched, forget, keep, kept } from "./keep.js";

// Handles the first step, in which the model is downloaded, chosen from disk, or found in the browser's storage.

/** The reason why the model cannot run here, or "" if it can. @type {(engine: string | undefined, protocol: string) => string} */
export function obstacle(engine, protocol) {
  if (protocol === "file:")
    return "A page opened from a folder cannot run the model. Run `python -m http.server` in the folder that holds index.html, and open http://localhost:8000/book/live.html.";
  if (!engine)
    return "This copy of the book was built without the engine that runs the model: npm's registry could not be reached. `make book` with a network adds it.";
  return lacking();
}

const megabytes = (/** @type {number} */ bytes) => (bytes / 1e6).toFixed(0);

/** Show the first step, which offers to get the model or shows the stored one.
 * @param {RealGet} get @param {DOMStringMap} data */
function makeView(get, { weights, bytes }) {
  const size = `${megabytes(Number(bytes))} MB`;
  /** @param {boolean} here @param {string} words */
  function show(here, words) {
    get.fetch.hidden = here || !weights;
    /** @type {HTMLElement} */ (get.file.parentElement).hidden = here;
    get.remove.hidden = !here;
    get.bar.hidden = true;
    say(get.status, words);
  }
  const offer = () =>
    show(
      false,
      weights
        ? `The model has to be fetched once: ${size}.`
        : `This copy of the book is without the model's file, ${size}. Choose it on this device.`,
    );
  /** @param {number} come bytes received so far */
  function progress(come) {
    get.bar.hidden = false;
    get.bar.value = come;
    say(get.status, `${megabytes(come)} of ${size} have come.`);
  }
  return { size, show, offer, progress };
}

/** Attach the handlers of the first step; `ready` is called with the model, or with undefined after removal.
 * @param {RealGet} get @param {DOMStringMap} data
 * @param {() => Promise<{Wllama: any}>} start @param {(model?: RealModel) => void} ready */
export function connectGet(get, data, start, ready) {
  const { size, show, offer, progress } = makeView(get, data);
  const wasm = new URL(data.wasm ?? "", document.baseURI).href;

  /** @param {Blob} file @param {boolean} isNew */
  async function take(file, isNew) {
    const head = await checked(file);
    const stays = isNew ? await keep(file) : true;
    ready(makeModel(file, head, wasm, start));
    show(true, stays ? `The model is kept in this browser: ${size}.` : "The model is here until this page is closed.");
  }
  async function attempt(/** @type {() => Promise<void>} */ act) {
    get.fetch.disabled = get.file.disabled = true;
    await act().catch((error) => show(false, error instanceof Error ? error.message : String(error)));
    get.fetch.disabled = get.file.disabled = false;
  }
  get.fetch.addEventListener("click", () =>
    attempt(async () => take(await fetched(data.weights ?? "", progress), true)),
  );
  get.file.addEventListener("change", () => {
    const file = get.file.files?.[0];
    if (file) attempt(() => take(file, true));
  });
  get.remove.addEventListener("click", async () => {
    ready();
    await forget();
    get.file.value = "";
    offer();
  });
  offer();
  attempt(async () => {
    const file = await kept();
    if (file) await take(file, false);
  });
}
