"""Every notebook has the shape of a chapter, and nothing in it depends on where it was made."""

import ast
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
import words as words_of
import yaml

from notebooks import KEPT, in_sight, is_students, tidied
from rope_book import widgets
from rope_book.check import allow
from rope_book.results import load_grid
from rope_book.training import TASKS
from rope_book.widgets._questions import questions
from rope_doctor.config import PRESETS
from rope_edu import apply_rope, inv_freq, plain, rope_angles

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAGES = {"00_rope_in_ten_minutes", "P1_playground"}  # no chapters: they have no exercises
MOST_WORDS = 1200  # of the page of ten minutes
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
LONGEST = 60  # lines of a code cell
STATE, VIEW = (f"application/vnd.jupyter.widget-{kind}+json" for kind in ("state", "view"))
RANGE = r'allow\.(?:number|whole)\("(\w+)", \w+, ([\d._]+), ([\d._]+)'
EDIT = "# ✎ Change a value, then run this cell and those below.\n"
MARK = "  # ✎ remove the # in front"
SETS = (
    r"""# figure\.\w+ = (-?[\d_.]+|"[^"\\]*"|True|False)""" + MARK
)  # what the page reads too (book/assets/live.js)
MOVED_BY_PARAMETERS = {"03", "04", "05", "09", "10", "13", "16", "18", "20", "21", "A1"}
BIBLIOGRAPHY = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request) -> Path:
    """Each notebook's path."""
    return request.param


@pytest.fixture
def notebook(path):
    """Each notebook."""
    return nbformat.read(path, as_version=4)


of_chapters = pytest.mark.parametrize(
    "path", [path for path in NOTEBOOKS if path.stem not in PAGES], ids=lambda path: path.stem, indirect=True
)


def words(notebook) -> str:
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def tagged(notebook, tag: str) -> list:
    return [cell for cell in notebook.cells if tag in cell.metadata.get("tags", [])]


def test_table_of_contents_lists_every_notebook_in_order():
    chapters = [
        c["file"] for part in TOC["parts"] for c in part["chapters"] if c["file"].startswith("notebooks/")
    ]
    assert chapters == [f"notebooks/{path.stem}" for path in NOTEBOOKS]


def test_a_setup_cell_installs_only_what_is_missing_and_only_where_the_book_has_an_address(path, notebook):
    (setup,) = tagged(notebook, "setup")
    assert setup == next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert re.match(r"# Setup\..*\ntry:\n(    import \w+\n|\n)+except ModuleNotFoundError", setup.source)
    repository = CONFIG["repository"]["url"]
    if repository:
        assert "except ModuleNotFoundError:\n    %pip install" in setup.source
        released = CONFIG["repository"].get("released", False)
        assert (f"git+{repository}" in setup.source) is not released
    else:
        assert "is not installed" in setup.source
        assert "://" not in setup.source


@of_chapters
def test_chapter_has_its_parts(path, notebook):
    text = words(notebook)
    assert re.match(r"# \S", text)
    for part in (
        "you will be able to",
        "Time: ",
        "## Exercises",
        "## In practice",
        "## Further reading",
    ):
        assert part in text, f"{path.name} lacks {part!r}"
    assert tagged(notebook, "parameters")
    assert any(
        output.get("data", {}).get("image/svg+xml")
        for cell in notebook.cells
        for output in cell.get("outputs", [])
    )
    assert sum(cell.source.count("assert") for cell in notebook.cells if cell.cell_type == "code") >= 3
    assert len(re.findall(r"^- \*\*", text.partition("## In practice")[2], flags=re.MULTILINE)) >= 2


@of_chapters
def test_chapter_states_the_times_that_are_counted(path, notebook):
    found = re.search(
        r"^Time: (\d+) minutes for the spine, (\d+) for its exercises, (\d+) with everything\.",
        words(notebook),
        re.MULTILINE,
    )
    spine, practice, everything = words_of.stated(words_of.read(path))
    counted = (
        f"Time: {spine} minutes for the spine, {practice} for its exercises, {everything} with everything."
    )
    assert found, counted
    assert abs(int(found[1]) - spine) <= 1, counted  # a sentence more or less is no reason to state it anew
    assert int(found[2]) == practice, counted
    assert abs(int(found[3]) - everything) <= 5, counted


@of_chapters
def test_chapter_has_three_exercises_whose_solutions_pass(path, notebook):
    (solution,) = tagged(notebook, "solution")
    assert solution.source.startswith("# @title Solutions")
    assert "hide-cell" in solution.metadata.tags
    assert solution.metadata.jupyter.source_hidden
    number = path.name.partition("_")[0].lstrip("0")
    checks = re.findall(rf'check\("({number}\.\d+)"', solution.source)
    printed = "".join(output.get("text", "") for output in solution.outputs)
    assert len(set(checks)) >= 3
    assert "not yet" not in printed
    for exercise in set(checks):
        assert f"Exercise {exercise}: correct" in printed
        stubs = [
            c
            for c in notebook.cells
            if c.cell_type == "code" and f'check("{exercise}"' in c.source and c is not solution
        ]
        assert stubs, f"{path.name} does not ask exercise {exercise}"
        asked = "".join(output.get("text", "") for cell in stubs for output in cell.outputs)
        assert f"Exercise {exercise}: replace the ..." in asked


def test_the_page_of_ten_minutes_is_short_and_its_scenes_have_an_idea_a_figure_and_one_control():
    (path,) = (path for path in NOTEBOOKS if path.stem == "00_rope_in_ten_minutes")
    page = nbformat.read(path, as_version=4)
    assert len(words(page).split()) <= MOST_WORDS
    cells = "\n".join(f"%%{cell.cell_type}\n{cell.source}" for cell in page.cells)
    scenes = [scene for scene in re.split(r"^## ", cells, flags=re.MULTILINE) if re.match(r"\d", scene)]
    assert 6 <= len(scenes) <= 9
    for number, scene in enumerate(scenes, 1):
        assert scene.startswith(f"{number}. ")
        assert scene.count("**") >= 2 or "def rope(" in scene
        for figure in re.findall(r"^%%code\n(\w+\(.*\))$", scene, flags=re.MULTILINE):
            made = eval(figure, vars(widgets))
            assert len(set(made.only) & set(made.controls())) == 1, figure
        assert "def rope(" in scene or re.search(r"only=\(", scene)


@pytest.mark.parametrize("layout", ["half_split", "interleaved"])
def test_the_code_on_the_page_of_ten_minutes_turns_as_the_library_does(layout):
    (path,) = (path for path in NOTEBOOKS if path.stem == "00_rope_in_ten_minutes")
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if "def rope(" in cell.source]
    named = {}
    exec(cells[layout == "interleaved"].source, named)
    x, positions = np.random.default_rng(0).normal(size=(3, 16, 64)), np.arange(16)  # (heads, seq, head_dim)
    angles = rope_angles(positions, inv_freq(64))
    turned = named["rope"](x, positions)
    np.testing.assert_allclose(turned, apply_rope(x, angles, layout=layout), rtol=0, atol=1e-12)


def test_the_playground_is_short_and_asks_before_it_shows():
    (path,) = (path for path in NOTEBOOKS if path.stem == "P1_playground")
    notebook = nbformat.read(path, as_version=4)
    text = words(notebook)
    assert len(text.split()) <= 300
    whole = "\n".join(cell.source for cell in notebook.cells)
    assert (
        whole.index("Question(") < whole.index("TrainInThePage()") < whole.index("What you should have seen")
    )


def test_every_question_is_asked_once_in_its_chapter_below_its_figure():
    asked = {}
    for path in NOTEBOOKS:
        made = set()
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", []):
                made.add(str(output.get("data", {}).get("text/plain", "")).partition("(")[0])
            for name in re.findall(r'"([^"\s]+)"', cell.source) if "import Question" in cell.source else ():
                asked[name] = [*asked.get(name, []), path.stem]
                assert questions()[name]["figure"] in {"", *made}, f"{name} comes before its figure"
    assert asked == {name: [each["page"]] for name, each in questions().items()}
    for page in {each["page"] for each in questions().values()}:  # in the order of the file
        own = [name for name, each in questions().items() if each["page"] == page]
        assert [name for name in asked if name in own] == own


def test_markdown_is_portable(path, notebook):
    text = words(notebook)
    for role in re.findall(r"\{[a-z:-]+\}`|^:::|^```\{", text, flags=re.MULTILINE):
        pytest.fail(f"{path.name} has MyST markup {role!r}, which Colab and GitHub show as it is")
    assert not re.search(r"<(?!/?details>|/?summary>)/?[a-z]+[ >]", re.sub(r"`[^`]*`|\$[^$]*\$", "", text))
    assert not re.search(r"!\[[^\]]*\]\(http", text), "a picture from a third party"


def test_links_among_chapters_and_to_papers_lead_somewhere(path, notebook):
    text = words(notebook)
    for target in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"
    for paper in set(re.findall(r"arxiv\.org/(?:abs|pdf)/(\d{4}\.\d{4,5})", text)):
        assert f"arxiv.org/abs/{paper}" in BIBLIOGRAPHY, f"{paper} is not in the bibliography"


def test_every_cell_that_draws_says_what_it_shows(path, notebook):
    for cell in notebook.cells:
        shown = [output.get("data", {}) for output in cell.get("outputs", [])]
        drawn = [data for data in shown if "image/png" in data and "image/svg+xml" not in data]
        if drawn:
            alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
            assert len(alt.split()) > 5, f"{path.name}: a drawing without words: {cell.source[:60]!r}"


def test_outputs_are_there_and_say_nothing_of_the_machine(path, notebook):
    ran = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert ran == list(range(1, len(ran) + 1))
    assert set(notebook.metadata) <= {"kernelspec", "language_info", "widgets"}
    for cell in notebook.cells:
        printed = [output.get("text", "") for output in cell.get("outputs", [])]
        shown = [str(output.get("data", {}).get("text/plain", "")) for output in cell.get("outputs", [])]
        for trace in ("/tmp/", "/home/", "/root/", "site-packages", " at 0x", "C:\\\\"):
            assert trace not in "".join([cell.source, *printed, *shown]), f"{path.name} contains {trace!r}"
        assert "iopub" not in str(cell.metadata)
    errors = [o for cell in notebook.cells for o in cell.get("outputs", []) if o.output_type == "error"]
    assert errors == []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            assert output.get("name") != "stderr", f"{path.name} warns: {output.get('text')}"


def test_a_widget_has_a_line_that_ipywidgets_7_shows_whole(path, notebook):
    for cell in notebook.cells:
        if "nbval-ignore-output" in cell.metadata.get("tags", []):
            continue
        for output in cell.get("outputs", []):
            if "application/vnd.jupyter.widget-view+json" in output.get("data", {}):
                assert len(output["data"]["text/plain"]) <= 110, cell.source


def test_only_cells_that_print_inside_a_control_are_left_out_of_the_comparison(path, notebook):
    skipped = [
        cell for cell in notebook.cells if any("nbval" in tag for tag in cell.metadata.get("tags", []))
    ]
    assert all(
        re.search(r"@interact|@figure.follow|Output\(\)|interactive_output", cell.source) for cell in skipped
    )
    assert "NBVAL" not in path.read_text(encoding="utf-8")


def test_notebook_is_committed_in_readable_lines_with_stable_ids_and_no_stray_metadata(path, notebook):
    assert path.read_text(encoding="utf-8") == tidied(path), "run `python book/tools/notebooks.py --tidy`"
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    assert set().union(*(cell.metadata for cell in notebook.cells)) <= KEPT


def test_a_code_cell_can_be_read_without_scrolling(path, notebook):
    long = {c.id for c in notebook.cells if c.cell_type == "code" and len(c.source.splitlines()) > LONGEST}
    assert not long


@of_chapters
def test_a_cell_sets_the_figure_above_it_and_the_page_keeps_the_figure_as_it_was_made(path, notebook):
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    (setting,) = tagged(notebook, "set-figure")
    making = code[code.index(setting) - 1]
    assert re.fullmatch(r"figure = \w+\(.*\)\nfigure", making.source)
    asked, *lines = setting.source.partition("\n# ")[2].split("\n")
    assert setting.source.startswith("# Set the figure. Predict first: ")
    assert asked.endswith("?")
    assert 1 <= len(lines) <= 3
    assert all(re.fullmatch(SETS, line) for line in lines), lines
    named = dict(vars(widgets))
    exec(making.source, named)
    made = named["figure"].get_state()
    exec("\n".join(line.removeprefix("# ") for line in lines), named)
    moved = {name for name in named["figure"].controls() if named["figure"].get_state()[name] != made[name]}
    assert moved >= {line.partition(" = ")[0].removeprefix("# figure.") for line in lines}
    view = next(o.data[VIEW]["model_id"] for o in making.outputs if VIEW in o.get("data", {}))
    kept = notebook.metadata.widgets[STATE].state[view].state
    assert {name: kept[name] for name in moved} == {name: made[name] for name in moved}


@of_chapters
def test_running_every_cell_leaves_the_figure_of_the_first_question_as_it_was_made(path, notebook):
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    (setting,) = tagged(notebook, "set-figure")
    named = dict(vars(widgets)) | {"allow": allow, "load_grid": load_grid, "TASKS": TASKS, "PRESETS": PRESETS}
    exec(code[code.index(setting) - 1].source, named)
    figure = named["figure"]
    made = repr(figure)
    sets = re.compile(r"^\s*figure\.(?!observe)[\w., ]+ = ", re.MULTILINE)
    for cell in code:
        if "parameters" in cell.metadata.get("tags", []) and sets.search(cell.source):
            exec(cell.source, named)
        elif cell is not setting:
            assert not sets.search(cell.source), cell.source
    assert repr(figure) == made


@of_chapters
def test_two_cells_in_three_that_jupyter_shows_unfolded_are_the_students(path, notebook):
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    seen = in_sight(notebook)
    others = [cell for cell in seen if not is_students(cell)]
    most = 1 / 2 if path.name.startswith("07") else 1 / 3  # the subject of chapter 7 is its code
    assert len(others) <= most * len(seen), [cell.id for cell in others]
    assert all(is_students(cell) <= (cell in seen) for cell in code)


@of_chapters
def test_a_cell_for_the_student_says_where_to_write_and_what_is_allowed(path, notebook):
    for cell in filter(is_students, notebook.cells):
        assert "✎" in cell.source, cell.id
        assert cell.source.startswith(EDIT) == ("parameters" in cell.metadata.get("tags", [])), cell.id
    for cell in tagged(notebook, "parameters"):
        for name, low, high in re.findall(RANGE, cell.source):
            said = next(line for line in cell.source.split("\n") if line.startswith(f"{name} = "))
            for end in map(float, (low, high)):
                assert re.search(rf"\b({end:g}|{end:,.0f}|1 million|10 million)\b", said), (said, end)


def test_by_chapter_8_a_reader_has_heard_linked_and_drawn_with_a_figure():
    text = "\n".join(
        cell.source for path in NOTEBOOKS[:9] for cell in nbformat.read(path, as_version=4).cells
    )
    for way in (".observe(lambda", "jslink((figure, ", "figure.observe(draw", "= Output()"):
        assert way in text


@of_chapters
def test_parameters_that_a_figure_shares_move_it(path, notebook):
    moves = any("figure." in cell.source for cell in tagged(notebook, "parameters"))
    assert moves or path.name[:2] not in MOVED_BY_PARAMETERS


def test_what_a_tag_folds_shows_or_checks_something_and_teaches_nothing_that_the_spine_needs(path, notebook):
    spine, folded = words_of.Chapter(), {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            spine.add_markdown(cell.source)
            continue
        tags = cell.metadata.get("tags", [])
        tree = ast.parse(cell.source.replace("%pip", "# %pip")) if "setup" not in tags else ast.Module([])
        made = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        before = len(spine.code)
        spine.add_code(cell.source, tags)
        if "hide-input" in tags:
            checks = any(isinstance(node, ast.Assert) for node in ast.walk(tree))
            assert cell.outputs or checks, f"{cell.id} shows nothing and checks nothing"
            assert "parameters" not in tags, f"{cell.id} folds what a reader can change"
            assert not re.search(r"^check\(", cell.source, re.MULTILINE), f"{cell.id} folds an exercise"
            assert not made & set(dir(plain)), f"{cell.id} folds a function of the library"
            folded |= dict.fromkeys(made, cell.id)
        else:
            folded = {name: where for name, where in folded.items() if name not in made}
        if len(spine.code) > before:
            names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
            bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
            needed = {node.id for node in names} & set(folded) - bound
            assert not needed, f"{cell.id} needs {needed}, which a tag folds"


def test_the_code_that_makes_a_figure_is_folded(path, notebook):
    makes = re.compile(rf"^(?:figure = )?({'|'.join(widgets.LiveFigure.figures)})\(", re.MULTILINE)
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.outputs and makes.search(cell.source):
            assert {"hide-input", "remove-input"} & set(cell.metadata.get("tags", [])), cell.id


def test_tags_are_those_that_something_reads(path, notebook):
    known = {
        "setup",
        "hide-cell",
        "hide-input",
        "hide-output",
        "remove-input",
        "parameters",
        "solution",
        "draws-times",
        "set-figure",
        "variant",
    }
    known |= {"nbval-ignore-output", "remove-cell", "remove-output"}
    assert {tag for cell in notebook.cells for tag in cell.metadata.get("tags", [])} <= known
