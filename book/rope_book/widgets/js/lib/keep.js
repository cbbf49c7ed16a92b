// Stores a figure's current picture in the notebook, so that it appears when the notebook is reopened without Python,
// viewed on GitHub, printed or handed in. Colab stores widget state itself.
import { html } from "./dom.js";
import { notebookOf } from "./notebook.js";
import { phrase } from "./phrase.js";

const VIEW = "application/vnd.jupyter.widget-view+json";
const STATE = "application/vnd.jupyter.widget-state+json";
const [SVG, PNG, HTML] = ["image/svg+xml", "image/png", "text/html"];
const REST = 700; // ms to wait after the last change
const OURS = '<div class="rope-still">';
export const ASLEEP = phrase`Run all cells from the top to bring the figure to life.`;

/** Convert a picture to PNG, the only image format that untrusted notebooks display. @type {(picture: string) => Promise<string>} */
async function asPng(picture) {
  const image = new Image();
  image.src = `data:${SVG};charset=utf-8,${encodeURIComponent(picture)}`;
  await image.decode();
  const canvas = html("canvas", { width: image.width, height: image.height });
  canvas.getContext("2d")?.drawImage(image, 0, 0);
  return canvas.toDataURL(PNG).split(",")[1];
}

/** The notebook's outputs that show a widget, each with the widget's id. @type {(notebook: Notebook) => Shown[]} */
function shownIn(notebook) {
  const outputs = notebook.outputs().map((each) => ({ ...each, id: each.output.data?.[VIEW]?.model_id }));
  return outputs.filter(({ id }) => id);
}

/** The outputs that show the given model, identified by a trait whose value is the same object. */
/** @type {(notebook: Notebook, model: Model, trait: string) => Promise<Shown[]>} */
async function showing(notebook, model, trait) {
  const manager = model.widget_manager;
  const shown = shownIn(notebook).filter(({ id }) => manager.has_model(id));
  const models = await Promise.all(shown.map(({ id }) => manager.get_model(id)));
  return shown.filter((_, i) => models[i].get(trait) === model.get(trait));
}

/** The widgets stored in a notebook, by id. @type {(notebook: Notebook) => Record<string, any>} */
const storedIn = (notebook) => notebook.widgets()?.[STATE]?.state ?? {};

/** The notebook's stored widgets after adding a still picture for widget `id` and dropping the stills of widgets
 * that no longer exist. */
/** @type {(notebook: Notebook, id: string, still: string) => any} */
function withStill(notebook, id, still) {
  const alive = new Set(shownIn(notebook).map((each) => each.id));
  const kept = Object.entries(storedIn(notebook)).filter(
    ([other, { state }]) => alive.has(other) || !String(state?.value).startsWith(OURS),
  );
  const value = `${OURS}${still}<p>${ASLEEP}</p></div>`;
  const kind = { model_name: "HTMLModel", model_module: "@jupyter-widgets/controls", model_module_version: "2.0.0" };
  const state = { [id]: { ...kind, state: { value } }, ...Object.fromEntries(kept.filter(([other]) => other !== id)) };
  return { [STATE]: { version_major: 2, version_minor: 0, state } };
}

/** Write a figure's pictures and its still into the notebook, unless they are up to date. A picture that is
 * undefined is removed. */
/** @type {(notebook: Notebook, shown: Shown, bundle: Record<string, string | undefined>) => void} */
function write(notebook, { output, replace, id }, bundle) {
  const isThere = id in storedIn(notebook);
  if (isThere && Object.entries(bundle).every(([kind, text]) => output.data[kind] === text)) return;
  const data = JSON.parse(JSON.stringify({ ...output.data, ...bundle }));
  replace({ ...output, data });
  notebook.store(withStill(notebook, id, data[SVG] ?? data[HTML]));
}

// Keep the picture in the notebook up to date by writing the result of `draw` whenever the figure has been idle for
// a moment. If the notebook is saved earlier, the SVG is written first. A widget without `draw` keeps the HTML in
// its output. `trait` names a trait whose value is unique to the model.
/** @param {HTMLElement} root @param {Model} model @param {string} trait @param {() => string} [draw] */
export function keepPicture(root, model, trait, draw) {
  if (model.host === "page") return { stop() {} };
  const notebook = notebookOf(model.widget_manager);
  let waiting = setTimeout(keep, REST);
  let [isOld, known] = [true, new Set()]; // whether the stored picture is out of date; the ids of the outputs
  async function find(/** @type {Notebook} */ notebook) {
    const shown = await showing(notebook, model, trait);
    known = new Set(shown.map(({ id }) => id));
    return shown;
  }
  function rest() {
    clearTimeout(waiting);
    waiting = setTimeout(keep, REST);
    isOld = true;
  }
  async function keep() {
    if (root.ariaBusy === "true") return rest();
    const picture = draw?.();
    if (picture && !root.querySelector(".rl-gone")) model.send?.({ still: picture }); // the kernel may be gone
    if (!notebook) return;
    const mine = waiting;
    const bundle = picture ? { [SVG]: picture, [PNG]: await asPng(picture) } : {};
    for (const shown of await find(notebook)) write(notebook, shown, bundle);
    isOld = waiting !== mine; // the figure may have changed in the meantime
  }
  /** Write the current SVG before a save reads the notebook. Converting it to PNG would take too long. */
  function flush(/** @type {Notebook} */ notebook) {
    if (!isOld || !draw) return;
    const bundle = { [SVG]: draw(), [PNG]: undefined };
    if (root.ariaBusy === "true") return; // the results of this state are still to come
    for (const shown of shownIn(notebook).filter(({ id }) => known.has(id))) write(notebook, shown, bundle);
  }
  const watch = new MutationObserver(rest);
  if (draw) watch.observe(root, { subtree: true, childList: true, attributes: true });
  model.on("change", rest);
  if (notebook) find(notebook);
  const unheard = notebook?.beforeSave(() => flush(notebook));
  function stop() {
    clearTimeout(waiting);
    watch.disconnect();
    model.off("change", rest);
    unheard?.();
  }
  return { stop };
}
