"""Execute the notebooks and write them back with reproducible outputs.

    python book/tools/notebooks.py                 all notebooks
    python book/tools/notebooks.py 04 05           those whose names start with these
    python book/tools/notebooks.py --tidy          only tidy ids, metadata and lines
    python book/tools/notebooks.py --stills 04     only draw the stills anew
    python book/tools/notebooks.py --cells         count the cells in sight and the student's among them

Every notebook runs in a fresh kernel. Cell ids, widget ids and metadata are made stable. A live figure's stored
state loses its script (the page and the kernel have their own), and its output gains a still picture that the
figure draws in a headless Chromium, as SVG and, for a notebook that Jupyter does not trust, as PNG; a matplotlib
figure gains its panels for the page. Needs the ``test`` extra and a Chromium.
"""

import base64
import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from browser import chromium
from nbclient import NotebookClient
from nbformat import NotebookNode
from panels import PANELS, with_palette
from playwright.sync_api import Page
from words import FOLDING, Chapter, is_exercise

ROOT = Path(__file__).resolve().parents[2]
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
PNG = "image/png"
TOOLS = str(Path(__file__).parent)
WATCH = f"import sys; sys.path.append({TOOLS!r}); import panels; panels.watch(); del sys, panels"
Model = dict[str, Any]  # JSON
ASLEEP = "Run all cells from the top to bring the figure to life."
STUB = f"export default {{ render({{ el }}) {{ el.textContent = '{ASLEEP}'; }} }};"
KEPT = {"tags", "mystnb", "cellView", "jupyter"}  # cell metadata to keep; the rest comes from editors
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE = {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"}


def execute(path: Path) -> NotebookNode:
    """Return the notebook at ``path`` with fresh outputs and the state of its widgets."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            cell.metadata.pop("execution", None)
    client = NotebookClient(
        notebook,
        timeout=300,
        resources={"metadata": {"path": path.parent}},
        store_widget_state=True,
        extra_arguments=[f"--IPKernelApp.exec_lines={WATCH}"],
    )
    client.execute()
    return notebook


def tidy(notebook: NotebookNode, prefix: str) -> None:
    """Give cells stable ids and only our metadata; fold in Colab and JupyterLab what the page folds."""
    name_new_cells(notebook.cells, prefix)
    chapter = Chapter()
    for cell in notebook.cells:
        for stray in {*set(cell.metadata) - KEPT, "cellView", "jupyter"} & set(cell.metadata):
            del cell.metadata[stray]
        if cell.cell_type == "markdown":
            chapter.add_markdown(cell.source)
        elif is_folded(cell, in_detour=bool(chapter.rank)):
            cell.metadata["cellView"] = "form"
            cell.metadata["jupyter"] = {"source_hidden": True}


def is_folded(cell: NotebookNode, in_detour: bool) -> bool:
    """Return whether the code of a cell is folded: by a tag or, unless a student is to change it, in a detour."""
    tags = set(cell.metadata.get("tags", []))
    return bool(FOLDING & tags) or (in_detour and not is_students(cell))


def is_students(cell: NotebookNode) -> bool:
    """Return whether a student is to change the cell."""
    tags = set(cell.metadata.get("tags", []))
    asked = is_exercise(cell.source) or "✎" in cell.source
    return bool(tags & {"set-figure", "parameters"}) or (asked and "solution" not in tags)


def in_sight(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the code cells that Jupyter shows unfolded."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [cell for cell in code if not cell.metadata.get("jupyter", {}).get("source_hidden")]


def counted(path: Path) -> str:
    """Return how many code cells of a notebook are in sight, and how many of these are the student's."""
    seen = in_sight(nbformat.read(path, as_version=4))
    own = sum(map(is_students, seen))
    return f"{path.stem:40}{len(seen):4} in sight{own:4} the student's{len(seen) - own:4} not"


def settle(notebook: NotebookNode, prefix: str) -> None:
    """Make ids, metadata, outputs and widget ids reproducible."""
    tidy(notebook, prefix)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
            shrink_pictures(cell.outputs)
    widgets = notebook.metadata.get("widgets", {})
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": LANGUAGE})
    models = widgets.get(STATE, {}).get("state", {})
    if not models:
        return
    names = stable_names(notebook, models)
    text = json.dumps({"version_major": 2, "version_minor": 0, "state": {m: models[m] for m in names}})
    outputs = json.dumps([cell.get("outputs", []) for cell in notebook.cells])
    for old, new in names.items():
        text, outputs = text.replace(old, new), outputs.replace(old, new)
    state = json.loads(text)
    for model in state["state"].values():
        slim(model["state"])
    for cell, fresh in zip(notebook.cells, json.loads(outputs), strict=True):
        if cell.cell_type == "code":
            cell.outputs = [nbformat.from_dict(output) for output in fresh]
    notebook.metadata["widgets"] = nbformat.from_dict({STATE: state})


def name_new_cells(cells: list[NotebookNode], prefix: str) -> None:
    """Keep existing ids, and name a new cell after its words, so that no other cell changes."""
    taken: set[str] = set()
    for cell in cells:
        if not cell.id.startswith(f"{prefix}-") or cell.id in taken:
            named = f"{prefix}-{hashlib.sha256(cell.source.encode()).hexdigest()[:6]}"
            cell.id = next(
                name for name in (named, *(f"{named}-{n}" for n in range(2, 99))) if name not in taken
            )
        taken.add(cell.id)


def joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Return the outputs with neighbouring pieces of a stream joined, since their boundaries are random."""
    whole: list[NotebookNode] = []
    for output in outputs:
        same = output.output_type == "stream" and whole and whole[-1].get("name") == output.name
        if same:
            whole[-1].text += output.text
        else:
            whole.append(output)
    return whole


def shrink_pictures(outputs: list[NotebookNode]) -> None:
    """Give every PNG 256 colours: a quarter of the size, without a visible difference."""
    for output in outputs:
        if PNG in output.get("data", {}):
            png = with_palette(base64.b64decode(output["data"][PNG]))
            output["data"][PNG] = base64.b64encode(png).decode() + "\n"


def family(models: Model, first: str) -> list[str]:
    """Return the ids of a widget and of all widgets inside it, its own first."""
    members: list[str] = []

    def visit(model: str) -> None:
        if model in models and model not in members:
            members.append(model)
            for held in re.findall(r"IPY_MODEL_([\w-]+)", json.dumps(models[model])):
                visit(held)

    visit(first)
    return members


def stable_names(notebook: NotebookNode, models: Model) -> dict[str, str]:
    """Return {model id: name numbered from the top of the notebook} for every visible model."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    in_view = [output["data"][VIEW]["model_id"] for output in outputs if VIEW in output.get("data", {})]
    order = dict.fromkeys(model for first in in_view for model in family(models, first))
    return {model: f"widget-{number:03d}" for number, model in enumerate(order, 1)}


def slim(state: Model) -> None:
    """Drop what front ends provide from a widget's state; reset a figure to its initial state.

    Later cells change figures for those who run the notebook; the page and the still begin where the reader does.
    """
    if "_esm" in state:
        state["_esm"], state["_css"] = STUB, ""
        state |= {control["name"]: control["initial"] for control in state.get("_controls", [])}
        for name in ("_named", "_now"):  # a question's figure in the kernel
            state.pop(name, None)
    for key in [key for key, value in state.items() if value is None]:
        del state[key]


def views(notebook: NotebookNode) -> list[tuple[Model, Model]]:
    """Return (output data, widget model) of every visible widget."""
    models = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    return [
        (output["data"], models[output["data"][VIEW]["model_id"]])
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if VIEW in output.get("data", {})
    ]


def draw_still(page: Page, model: Model) -> str:
    """Return the still picture (SVG) of a live figure's stored state, drawn by its own script."""
    from rope_book.widgets import LiveFigure
    from rope_book.widgets._bundle import page_script, style

    name = model["state"]["_anywidget_id"].rpartition(".")[2]
    page.set_content(f"<style>{style()} .rope-live {{ width: 754px }}</style><div id=place></div>")
    page.evaluate("window.RopeLive = { define: (name, figure) => (window.figure = figure) }")
    page.add_script_tag(content=page_script(LiveFigure.figures[name].module_name(), name))
    return page.evaluate(
        """(state) => {
            const calls = { set() {}, save_changes() {}, on() {}, off() {} };
            const model = { host: "still", get: (key) => state[key], ...calls };
            const place = document.querySelector("#place");
            figure.render({ model, el: place });
            return place.firstChild.still();
        }""",
        model["state"],
    )


def as_png(page: Page, picture: str) -> str:
    """Return a still (SVG) as PNG in base64, which Jupyter shows before a reader trusts the notebook."""
    page.set_content(f'<body style="margin: 0">{picture}</body>')
    png = page.locator("svg").screenshot(animations="disabled")
    return base64.b64encode(with_palette(png)).decode() + "\n"


def add_stills(notebook: NotebookNode, page: Page) -> None:
    """Add a still picture to every widget: a live figure draws its own, others show their output."""
    for data, model in views(notebook):
        if model["state"].get("_anywidget_id", "").endswith(".Question"):
            continue  # the list in the cell's output needs no script
        if "_anywidget_id" in model["state"]:
            data["image/svg+xml"] = draw_still(page, model)
            data[PNG] = as_png(page, data["image/svg+xml"])
        else:
            data.update(printed_picture(notebook, data[VIEW]["model_id"]))


def printed_picture(notebook: NotebookNode, model: str) -> Model:
    """Return the picture (PNG, and as panels) that a widget such as ``interact`` shows in its Output, if any."""
    models = notebook.metadata["widgets"][STATE]["state"]
    outputs = [
        output for held in family(models, model) for output in models[held]["state"].get("outputs", [])
    ]
    drawn = [output["data"] for output in outputs if PANELS in output.get("data", {})]
    return {PNG: drawn[0][PNG], PANELS: drawn[0].pop(PANELS)} if drawn else {}


def as_text(notebook: NotebookNode) -> str:
    """Return a notebook as committed: one line of JSON per line of a cell, keys sorted."""
    return nbformat.writes(notebook, indent=1, sort_keys=True).rstrip("\n") + "\n"


def prefix_of(path: Path) -> str:
    """Return the prefix of a notebook's cell ids.

    >>> prefix_of(Path("04_rotate_one_pair.ipynb"))
    'c04'
    """
    return f"c{path.name[:2]}"


def tidied(path: Path) -> str:
    """Return the text of a tidied notebook."""
    notebook = nbformat.read(path, as_version=4)
    tidy(notebook, prefix_of(path))
    return as_text(notebook)


def executed(path: Path, page: Page) -> str:
    """Return the text of a notebook with fresh outputs, and stills drawn on `page`."""
    notebook = execute(path)
    settle(notebook, prefix_of(path))
    add_stills(notebook, page)
    nbformat.validate(notebook)
    return as_text(notebook)


def redrawn(path: Path, page: Page) -> str:
    """Return the text of a notebook with its outputs as they are, and new stills."""
    notebook = nbformat.read(path, as_version=4)
    add_stills(notebook, page)
    return as_text(notebook)


def main(arguments: list[str]) -> None:
    """Rewrite the notebooks whose names start with one of the arguments, all if none is given."""
    starts = tuple(argument for argument in arguments if not argument.startswith("--"))
    written = redrawn if "--stills" in arguments else executed
    paths = [
        p for p in sorted((ROOT / "notebooks").glob("*.ipynb")) if not starts or p.name.startswith(starts)
    ]
    if "--cells" in arguments:
        print(*map(counted, paths), sep="\n")
        return
    if "--tidy" in arguments:
        for path in paths:
            path.write_text(tidied(path), encoding="utf-8")
        return
    with chromium() as page:
        for path in paths:
            print(f"{path.name} … ", end="", flush=True)
            path.write_text(written(path, page), encoding="utf-8")
            print("done")


if __name__ == "__main__":
    main(sys.argv[1:])
