"""`pytest --rotation` runs the vectors, and does nothing without the option."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from numpy import fft

from rope_doctor.command import importing
from rope_doctor.vectors import runner

pytest_plugins = ("pytester",)
ROOT = Path(__file__).resolve().parents[3]
PLUGIN = "rope_doctor_pytest"
# pytester forgets what is first imported inside it, and NumPy cannot be loaded twice
LOADED = (importing, runner, fft)
RIGHT = """
from rope_edu import apply_rope, inv_freq, rope_angles

def rotate(x, positions, *, layout, rotary_dim, base, attention_factor):
    angles = rope_angles(positions, inv_freq(rotary_dim, base))
    return apply_rope(x, angles, layout=layout, attention_factor=attention_factor)

def forgets(x, positions, *, layout, rotary_dim, base, attention_factor):
    return rotate(x, positions, layout=layout, rotary_dim=rotary_dim, base=base, attention_factor=1.0)
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest in a foreign folder that holds a module, with the plugin as an installed one is loaded."""
    monkeypatch.syspath_prepend(str(ROOT))
    pytester.makepyfile(mine=RIGHT, test_theirs="def test_one():\n    assert True\n")
    return lambda *options: pytester.runpytest_inprocess("-p", PLUGIN, "-p", "no:cacheprovider", *options)


def test_the_cases_are_tests_beside_those_that_are_there(run):
    result = run("--rotation", "mine:rotate", "-v")
    result.assert_outcomes(passed=1 + 32)
    result.stdout.fnmatch_lines(["test_theirs.py::test_one PASSED*", "*one pair, interleaved PASSED*"])


def test_a_failure_says_what_was_seen_and_which_mistakes_look_so(run):
    result = run("--rotation", "mine:forgets")
    result.assert_outcomes(passed=1 + 30, failed=2)
    result.stdout.fnmatch_lines(["*rotation: an attention factor, interleaved*", "off by *, allowed *"])
    result.stdout.fnmatch_lines(["possible mistakes: *attention_factor_missing*"])
    assert result.ret == 1


def test_other_files_of_cases_and_widths_are_chosen_by_options(run):
    run("--rotation", "mine:rotate", "--rotation-cases", "batch").assert_outcomes(passed=1 + 12)
    run("--rotation", "mine:rotate", "--rotation-width", "float32").assert_outcomes(passed=1 + 32)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--rotation", "mine:nothing"], "--rotation: mine:nothing is not found"),
        (["--rotation", "mine:rotate", "--rotation-cases", "axes"], "attention_factor, axes), but rotate("),
        (["--rotation", "mine:rotate", "--rotation-width", "float8"], "width must be one of"),
    ],
)
def test_a_function_that_cannot_be_called_gets_a_sentence(run, options, said):
    result = run(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert said in result.stderr.str()
    assert "Traceback" not in result.stderr.str()


def test_without_the_option_the_plugin_is_idle_and_imports_nothing(run):
    run().assert_outcomes(passed=1)
    idle = "[name for name in ('rope_doctor', 'rope_edu', 'numpy') if name in sys.modules]"
    code = f"import sys, pytest, {PLUGIN}; print({idle})"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout == "[]\n"


def test_the_wheel_registers_the_plugin():
    project = tomllib.loads((ROOT / "doctor" / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["entry-points"]["pytest11"] == {PLUGIN: PLUGIN}
    assert project["tool"]["setuptools"]["py-modules"] == [PLUGIN]
