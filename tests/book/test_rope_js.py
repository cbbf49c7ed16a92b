"""The figures' mathematics equals Python's, on one grid, to 1e-12 (relative where a value is above 1)."""

import itertools
import json
import math
import re
from typing import Any

import numpy as np
import pytest

import rope_edu
from rope_edu.widgets._bundle import JS, module, scopes, source
from rope_edu.widgets._modules import constant
from rope_edu.widgets.maths import error_curve

from . import golden, golden_model  # noqa: F401 (the second adds rooms to the first)

pytestmark = pytest.mark.browser
FILES = sorted(path.stem for path in (JS / "maths").glob("*.js"))
ANSWER = """
const odd = { NaN, Infinity, "-Infinity": -Infinity, "-0": -0 };
const special = (value) => (typeof value === "string" && Object.hasOwn(odd, value) ? odd[value] : value);
const read = (text) => JSON.parse(text, (_, value) => special(value));
const named = (part) => (Object.is(part, -0) ? "-0" : Number.isFinite(part) ? part : String(part));
const write = (value) => JSON.stringify(value, (_, part) => (typeof part === "number" ? named(part) : part));
window.answers = (text) => write(read(text).map(([call, values]) => functions[call](...values)));
"""


@pytest.fixture(scope="module")
def answer(browser):
    """Have a file of js/maths answer calls in one evaluation: answer("rotary", [("rotatePair", [[1, 0], 0.5])])."""
    page = browser.new_page()

    def ask(name: str, calls: list[tuple[str, list]]) -> list:
        modules = [f"maths/{name}", "maths/dot_product"]
        names = {outside: each for each in modules for outside in module(each).gives}
        taken = "".join(f"const {name} = {constant(each)}.{name};\n" for name, each in names.items())
        functions = ",\n".join(
            f"{json.dumps(call)}: {call}" for call in dict.fromkeys(call for call, _ in calls)
        )
        page.add_script_tag(
            content=f"{{\n{scopes(*modules)}\n{taken}const functions = {{\n{functions}\n}};\n{ANSWER}}}"
        )
        return json.loads(page.evaluate("(text) => answers(text)", json.dumps(calls)), parse_int=float)

    yield ask
    page.close()


def plain(value: Any) -> Any:
    """Turn NumPy's numbers and arrays into Python's; NaN and the like into words."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


def written(value: Any) -> Any:
    """Turn what JSON cannot hold into words."""
    value = plain(value)
    if isinstance(value, dict):
        return {key: written(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [written(part) for part in value]
    if isinstance(value, float) and (
        not math.isfinite(value) or (value == 0 and math.copysign(1, value) < 0)
    ):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity", "-0.0": "-0"}[repr(value)]
    return value


def assert_same(found: Any, expected: Any, exactly: bool, where: str) -> None:
    """Compare to 1e-12, absolutely below 1 and relatively above; words, and all of it `exactly`, to the letter."""
    if isinstance(expected, dict):
        assert sorted(found) == sorted(expected), where
        for key in expected:
            assert_same(found[key], expected[key], exactly, f"{where}.{key}")
    elif exactly or not is_numbers(expected):
        assert found == written(expected), where
    else:
        np.testing.assert_allclose(
            np.asarray(found, float), np.asarray(expected, float), rtol=1e-12, atol=1e-12, err_msg=where
        )


def is_numbers(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "fiu" and not isinstance(value, bool)


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_the_maths_answers_as_python(answer, tmp_path, name):
    calls = list(golden.ROOMS[name]())
    file = tmp_path / f"{name}.json"
    asked = [(call.function, written(call.arguments)) for call in calls]
    file.write_text(
        json.dumps([[*each, written(call.value)] for each, call in zip(asked, calls, strict=True)])
    )
    assert len(calls) > 3
    for found, call in zip(answer(name, asked), calls, strict=True):
        if isinstance(call.value, list) and call.value and isinstance(call.value[0], dict):
            call.value = {str(i): part for i, part in enumerate(call.value)}
            found = {str(i): part for i, part in enumerate(found)}
        assert_same(found, call.value, call.exactly, f"{call.function}({str(call.arguments)[:200]})")


@pytest.mark.parametrize("name", FILES)
def test_every_name_of_the_maths_is_compared(name):
    called = " ".join(call.function for call in golden.ROOMS[name]()) if name in golden.ROOMS else ""
    elsewhere = {
        "LAST",
        "HOLDS",
        "FARTHEST",
        "LOST",
        "errorCurve",
    }  # bounds of what is drawn; the curve has its own test
    missing = {
        each for each in module(f"maths/{name}").gives if not re.search(rf"\b{each}\b", called)
    } - elsewhere
    assert not missing


@pytest.mark.parametrize(("name", "step"), list(itertools.product(golden.PIPES, [0, 1])))
def test_the_quick_curve_is_at_most_a_tenth_below_the_whole_one(answer, name, step):
    rates = rope_edu.inv_freq(64)
    pipeline = golden.PIPES[name]
    [curve] = answer("error_curve", [("errorCurve", [rates.tolist(), golden.formats(pipeline), step])])
    positions, largest = error_curve.error_curve(rates, pipeline, step)
    assert [m for m, _ in curve] == positions
    found, expected = np.array([value for _, value in curve]), np.array(largest)
    assert (found <= expected + 1e-12).all()
    assert (np.minimum(expected, 3.1) <= 1.1 * found + 1e-12).all()


FORBIDDEN = {
    r"\bMath\.(?!(?:min|max|round|floor|ceil|abs|sign|PI)\b)": "a function of mathematics",
    r"[^*/]\*\*[^*/]": "a power",
    r"<<|>>|\s\^\s": "arithmetic of bits",
    r"\.reduce\(": "a sum or a product over numbers",
    r"%\s*\(?\s*(?:TURN|Math)": "a turn taken off",
    r"\bfor \(let \w+ = [^;]*;[^;]*; [^)]*\)[^\n]*\+=": "a sum over numbers",
}


@pytest.mark.parametrize("script", sorted((JS / "figures").glob("*.js")), ids=lambda path: path.stem)
def test_a_figure_does_no_mathematics_of_its_own(script):
    """Mathematics belongs in js/maths, held to Python; geometry and scales of drawing in js/lib."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", source(f"figures/{script.stem}"), flags=re.DOTALL)
    code = re.sub(r'"[^"\n]*"', '""', code)
    found = [
        (why, code[: hit.start()].count("\n"))
        for bad, why in FORBIDDEN.items()
        for hit in re.finditer(bad, code)
    ]
    assert not found
