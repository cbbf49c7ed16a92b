"""The figures' mathematics agrees with Python's on one grid, to 1e-12 (relative where a value is above 1)."""

import itertools
import re
from typing import Any

import numpy as np
import pytest

import rope_edu
from rope_book.training.restore import restore
from rope_book.widgets._bundle import JS, module, source
from rope_book.widgets.maths import error_curve
from rope_book.widgets.maths.long_text import page_rope
from rope_doctor import vectors

from . import golden, golden_gguf, golden_model, golden_training  # noqa: F401
from .v8 import scripts, written

FILES = sorted(path.stem for path in (JS / "maths").glob("*.js"))


def assert_same(found: Any, expected: Any, exactly: bool, where: str) -> None:
    """Compare to 1e-12, absolutely below 1 and relatively above; words, and everything with `exactly`, exactly."""
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


# limits of the drawing; the curve has a test of its own; textOf is the reader of dropped files
ELSEWHERE = {"LAST", "HOLDS", "FARTHEST", "LOST", "errorCurve", "textOf"}

# modules that the calls use too
CONFIGS = ("config_values", "config_table", "config_layers")
BESIDE = ("dot_product", "page_prose", "transformer", "attend", "block", "back", "layers", "statement")


@pytest.mark.sampled
@pytest.mark.parametrize("name", FILES)
def test_a_file_of_the_maths_answers_as_python_by_every_name(name):
    calls = list(golden.ROOMS[name]())
    assert len(calls) > 3
    called = " ".join(call.function for call in calls)
    uncalled = {name for name in module(f"maths/{name}").exports if not re.search(rf"\b{name}\b", called)}
    assert uncalled <= ELSEWHERE
    beside = CONFIGS if name.startswith("config_") else BESIDE
    with scripts(*(f"maths/{each}" for each in (*beside, name))) as v8:
        answers = v8.answer([(call.function, call.arguments) for call in calls])
    for found, call in zip(answers, calls, strict=True):
        if isinstance(call.value, list) and call.value and isinstance(call.value[0], dict):
            call.value = {str(i): part for i, part in enumerate(call.value)}
            found = {str(i): part for i, part in enumerate(found)}
        assert_same(found, call.value, call.exactly, f"{call.function}({str(call.arguments)[:200]})")


TURNED = """({ x, positions, rotary_dim, base, layout, attention_factor }) =>
    x.map((row, m) => applyRope(row, ropeAngles(positions[m], invFreq(rotary_dim, base)), layout)
        .map((part, j) => (j < rotary_dim ? part * attention_factor : part)))"""


def test_rotations_pass_the_test_vectors():
    cases = vectors.load("rotate")
    with scripts("maths/rotary", "maths/frequencies") as v8:
        found = v8.answer([(TURNED, [case]) for case in cases])
    for rotated, case in zip(found, cases, strict=True):
        np.testing.assert_allclose(
            rotated, case["expected"], rtol=0, atol=case["tolerance"]["float64"], err_msg=case["name"]
        )


RULES = {  # each rule of the vectors as the scripts call it; p holds the parameters and the base
    "rope": "(d, p) => plainRope(d, p.base)",
    "linear": "(d, p) => positionInterpolation(d, p.factor, p.base)",
    "ntk-aware": "(d, p) => ntkAware(d, p.factor, p.base)",
    "dynamic": "(d, p) => dynamicNtk(d, p.trainedLength, p.length, p.factor, p.base)",
    "by parts": "(d, p) => ntkByParts(d, p.factor, p.trainedLength, p)",
    "yarn": "(d, p) => yarn(d, p.factor, p.trainedLength, p)",
    "llama3": "(d, p) => llama3(d, p.factor, p.trainedLength, p)",
    "longrope": "(d, p) => longrope(d, p.factor, p.trainedLength, p)",
    "p-rope": "(d, p) => ({ invFreq: pRope(d, p.p, p.base), attentionFactor: 1 })",
}


@pytest.fixture(scope="module")
def rules():
    """The scaling rules in V8."""
    with scripts("maths/scaling", "maths/partial") as v8:
        yield v8


@pytest.mark.parametrize("case", vectors.load("frequencies"), ids=lambda case: case["name"])
def test_rules_pass_the_test_vectors(rules, case):
    given = {re.sub(r"_(\w)", lambda hit: hit[1].upper(), name): v for name, v in case["parameters"].items()}
    (found,) = rules.answer([(RULES[case["rule"]], [case["rotary_dim"], given | {"base": case["base"]}])])
    np.testing.assert_allclose(found["invFreq"], case["inv_freq"], rtol=case["tolerance"], atol=0)
    assert found["attentionFactor"] == pytest.approx(case["attention_factor"], rel=case["tolerance"])


@pytest.fixture(scope="module")
def curves():
    """The curves of errors in V8."""
    with scripts("maths/error_curve") as v8:
        yield v8


@pytest.mark.parametrize(("name", "step"), list(itertools.product(golden.PIPES, [0, 1])))
def test_the_quick_curve_is_at_most_a_tenth_below_the_whole_one(curves, name, step):
    rates = rope_edu.inv_freq(64)
    pipeline = golden.PIPES[name]
    [curve] = curves.answer([("errorCurve", [rates, golden.formats(pipeline), step])])
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
    """Mathematics belongs in js/maths, tested against Python; geometry and scales of drawing in js/lib."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", source(f"figures/{script.stem}"), flags=re.DOTALL)
    code = re.sub(r'"[^"\n]*"', '""', code)
    found = [
        (why, code[: hit.start()].count("\n"))
        for bad, why in FORBIDDEN.items()
        for hit in re.finditer(bad, code)
    ]
    assert not found


LONGEST = 16  # times the trained length


@pytest.mark.parametrize("task", golden_model.MODELS)
@pytest.mark.parametrize("rule", ["none", "yarn"])
def test_logits_at_sixteen_times_the_trained_length_are_torchs(task, rule):
    model = golden_model.MODELS[task]
    spec = page_rope(rule, model.length, model.head_dim, model.base, times=LONGEST, factor=float(LONGEST))
    tokens = model.texts[1]
    with scripts("maths/page_models", "maths/transformer") as v8:
        (found,) = v8.answer([(golden_model.LOGITS, [task, tokens, golden_model.turning(spec)])])
    expected = golden_model.logits_of(restore(model, spec), tokens)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
