"""The plain functions are small, and the cell of a chapter that builds one is that function."""

import ast
import inspect
import json
import re
from pathlib import Path

import numpy as np
import pytest

from rope_edu import plain

ROOT = Path(__file__).resolve().parents[3]
SOURCES = sorted((ROOT / "rope_edu" / "plain").glob("*.py"))
CHAPTERS = {
    "01": ["softmax", "attention"],
    "02": ["sinusoidal"],
    "03": [
        "shaw_scores",
        "t5_bucket",
        "t5_bias",
        "alibi_slopes",
        "alibi_bias",
        "kerple_log_bias",
        "fire_bias",
        "transformer_xl_scores",
    ],
    "04": ["rotate_pair"],
    "06": ["inv_freq", "wavelength", "rope_angles"],
    "07": ["rotate_as_complex", "rotation_matrix", "quarter_turn", "apply_rope"],
    "08": ["rotate_half_split", "layout_permutation", "convert_projection"],
    "09": ["score_curve", "mean_cosine"],
    "15": ["position_interpolation", "abf", "ntk_aware"],
    "16": ["blend", "kept_by_turns", "ntk_by_parts", "ramp_ends", "kept_by_index"],
    "17": ["first_negative_distance", "smallest_base"],
    "19": ["xpos_scale", "apply_xpos", "decoupled_scores"],
    "20": [
        "axial_frequencies",
        "mixed_frequencies",
        "section_axes",
        "section_frequencies",
        "spatial_angles",
        "lie_rotation",
    ],
    "A2": ["linear_weights", "linear_attention_step"],
}
PAGES = {"README.md": ["inv_freq", "rope_angles", "quarter_turn", "apply_rope"]}
PAGES["book/index.md"] = PAGES["README.md"]


def functions_of(source):
    """The functions at the top level of a piece of source, by name; none that a reader is to fill in."""
    nodes = (node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    return {node.name: node for node in nodes if ast.unparse(node.body[-1]) != "return ..."}


def as_read(function):
    """The tree of a function, without type hints; a docstring may be broken into lines anywhere."""
    function = ast.parse(ast.unparse(function)).body[0]
    function.returns = None
    for argument in function.args.args:
        argument.annotation = None
    docstring = function.body[0].value
    docstring.value = " ".join(docstring.value.split())
    return ast.dump(function)


def cells_of(chapter):
    """The source of each cell of code that is not a reader's or a solution, without IPython's own commands."""
    (path,) = (ROOT / "notebooks").glob(f"{chapter}_*.ipynb")
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and not {"setup", "solution"} & set(cell["metadata"].get("tags", [])):
            yield source


def code_of(page):
    """The first block of Python on a page in Markdown."""
    return re.search(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)[1]


PLAIN = {name: node for path in SOURCES for name, node in functions_of(path.read_text("utf-8")).items()}
ALL_CHAPTERS = sorted(path.name[:2] for path in (ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("chapter", ALL_CHAPTERS)
def test_a_cell_that_builds_a_plain_function_is_its_source(chapter):
    built = [found for cell in cells_of(chapter) for found in functions_of(cell).items() if found[0] in PLAIN]
    assert [name for name, _ in built] == CHAPTERS.get(chapter, [])
    for name, function in built:
        assert as_read(function) == as_read(PLAIN[name]), name


@pytest.mark.parametrize("page", PAGES)
def test_a_page_that_shows_a_plain_function_shows_its_source_and_runs(page):
    shown = functions_of(code_of(page))
    assert list(shown) == PAGES[page]
    for name, function in shown.items():
        assert as_read(function) == as_read(PLAIN[name]), name
    names = {}
    exec(code_of(page), names)
    moved = names["rope_angles"](np.arange(100, 116), names["inv_freq"](64))
    q, k = (names["apply_rope"](names[x], moved) for x in "qk")
    assert np.allclose(q @ k.T, names["scores"])  # as its comment says
    assert not np.allclose(names["q"] @ names["k"].T, names["scores"])


def test_a_difference_between_a_cell_and_the_source_is_noticed():
    source = 'def f(x: int) -> int:\n    """One\n    line."""\n    return x + 1\n'
    same, other, said = (
        source.replace(": int) -> int", ")"),
        source.replace("1", "2"),
        source.replace("One", "1"),
    )
    wanted, *found = (as_read(functions_of(text)["f"]) for text in (source, same, other, said))
    assert [one == wanted for one in found] == [True, False, False]


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_function_has_at_most_ten_lines_and_a_line_of_docstring(name):
    docstring, *body = PLAIN[name].body
    assert docstring.lineno == docstring.end_lineno
    assert ast.get_docstring(PLAIN[name])
    assert body[-1].end_lineno - docstring.end_lineno <= 10


def test_all_of_it_has_at_most_720_lines():
    assert sum(len(path.read_text("utf-8").splitlines()) for path in SOURCES) <= 720


def test_it_needs_nothing_but_numpy_and_itself():
    modules = {
        name.split(".")[0] if not name.startswith("rope_edu") else name
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        )
    }
    assert {name for name in modules if not name.startswith("rope_edu.plain.")} <= {
        "collections",
        "math",
        "numpy",
    }


def test_the_reading_order_names_every_file_and_no_file_needs_a_later_one():
    order = re.findall(r"^(\w+)\.py ", inspect.getdoc(plain), re.MULTILINE)
    assert sorted(order) == [path.stem for path in SOURCES if path.stem != "__init__"]
    for path in SOURCES:
        if path.stem != "__init__":
            needed = re.findall(r"from rope_edu\.plain\.(\w+)", path.read_text("utf-8"))
            assert all(order.index(name) < order.index(path.stem) for name in needed), path.stem
