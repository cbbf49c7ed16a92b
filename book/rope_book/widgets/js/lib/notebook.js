// The notebook around a figure, which the widget manager can reach in JupyterLab and Notebook 7, and in the classic
// Notebook (6, with ipywidgets 7). Colab and VS Code keep theirs to themselves.

const QUIET = "silent-change"; // in JupyterLab, a change that does not cause a redraw

const isCode = (/** @type {any} */ { cell_type }) => cell_type === "code";

/** The notebook of a widget manager. @type {(manager: any) => Notebook | undefined} */
export function notebookOf(manager) {
  if (manager?.context?.model?.sharedModel) return inLab(manager.context);
  return manager?.notebook && inClassic(manager.notebook);
}

/** @type {(context: any) => Notebook} */
function inLab({ model, saveState }) {
  const { sharedModel: notebook } = model;
  function outputs() {
    return [...notebook.cells].filter(isCode).flatMap((cell) =>
      cell.getOutputs().map((/** @type {any} */ output, /** @type {number} */ place) => ({
        output,
        replace: (/** @type {any} */ other) => cell.updateOutputs(place, place + 1, [other], QUIET),
      })),
    );
  }
  function store(/** @type {any} */ widgets) {
    notebook.setMetadata("widgets", widgets);
    model.dirty = true; // the notebook has unsaved changes
  }
  function beforeSave(/** @type {() => void} */ call) {
    const heard = (/** @type {any} */ _, /** @type {string} */ state) => state === "started" && call();
    saveState.connect(heard);
    return () => saveState.disconnect(heard);
  }
  return { outputs, widgets: () => notebook.getMetadata("widgets"), store, beforeSave };
}

/** @type {(notebook: any) => Notebook} */
function inClassic(notebook) {
  function outputs() {
    const areas = notebook
      .get_cells()
      .filter(isCode)
      .map((/** @type {any} */ cell) => cell.output_area);
    return areas.flatMap((/** @type {any} */ { outputs }) =>
      outputs.map((/** @type {any} */ output, /** @type {number} */ place) => ({
        output,
        replace(/** @type {any} */ other) {
          outputs[place] = other;
        },
      })),
    );
  }
  function store(/** @type {any} */ widgets) {
    notebook.metadata.widgets = widgets;
    notebook.set_dirty(true);
  }
  function beforeSave(/** @type {() => void} */ call) {
    notebook.events.on("before_save.Notebook", call);
    return () => notebook.events.off("before_save.Notebook", call);
  }
  return { outputs, widgets: () => notebook.metadata.widgets, store, beforeSave };
}
