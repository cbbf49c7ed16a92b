"""The run of all tests: a failure is in its summary and exit status, and nothing red stays above a green end."""

import doctest
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import of_change  # noqa: E402
import run  # noqa: E402

PASSES = "def test_it_holds():\n    assert True\n"
FAILS = "def test_it_does_not_hold():\n    assert 1 == 2\n"
SKIPS = "import pytest\n\n\n@pytest.mark.skip(reason='no WebKit here')\ndef test_elsewhere():\n    pass\n"
ONCE = "from pathlib import Path\n\n\ndef test_late():\n    seen = Path(__file__).with_name('seen')\n"
ONCE += "    assert seen.exists() or seen.touch()\n"


@pytest.fixture
def phases(tmp_path, monkeypatch):
    """Return a function that runs a phase of the tests in a source and of other commands; it returns the status."""
    monkeypatch.setattr(run, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "adopt", lambda: None)  # the worker that runs this keeps its own children
    monkeypatch.setattr(run, "cpu_seconds", lambda: 0.0)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # none is needed, and they take seconds
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.setattr(run, "GROUPS", {"push": ("one",)})
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def made(source, *more, again=True):
        (tmp_path / "test_one.py").write_text(source)
        retry = (*run.FAILED, "test_one.py") if again else ()
        phase = run.Phase("tests", ((*run.PYTEST, "test_one.py"), *more), again=retry)
        monkeypatch.setattr(run, "PHASES", {"one": phase})
        return run.main([])

    return made


def test_a_pass_is_counted_and_the_last_line_is_green(phases, capsys):
    assert phases(PASSES) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[-1] == "All 1 phases passed."
    assert "FAILED" not in said


def test_a_failure_is_named_in_the_last_lines_and_shown(phases, capsys):
    assert phases(PASSES + FAILS) == 1
    said = capsys.readouterr().out
    assert said.splitlines()[-1] == "FAILED: one"
    assert "one FAILED: test_one::test_it_does_not_hold" in said
    assert "assert 1 == 2" in said.partition("\nphase")[0]


def test_a_command_that_counts_no_tests_fails_the_phase_too(phases, capsys):
    assert phases(PASSES, (sys.executable, "-c", "import sys; sys.exit('wrong style')")) == 1
    said = capsys.readouterr().out
    assert "wrong style" in said
    assert "ended with status 1" in said


@pytest.mark.parametrize("source", ["import nowhere\n", "x = 1\n", "import os\nos._exit(9)\n"])
def test_a_run_that_collects_nothing_or_ends_early_fails(phases, capsys, source):
    assert phases(source) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "FAILED: one"


def test_a_skip_is_counted_with_its_reason(phases, capsys):
    assert phases(PASSES + SKIPS) == 0
    assert "one skipped 1: no WebKit here" in capsys.readouterr().out


def test_a_module_that_skips_itself_is_counted_with_its_reason(phases, capsys):
    phases("import pytest\n\npytest.importorskip('nowhere')\n")
    assert "one skipped 1: could not import 'nowhere'" in capsys.readouterr().out


def test_a_test_that_passes_the_second_time_is_named_and_nothing_red_is_printed(phases, capsys):
    assert phases(ONCE) == 0
    said = capsys.readouterr().out
    assert "one tried again, and it passed: test_one::test_late" in said
    assert "FAILED" not in said
    assert "assert" not in said


def test_what_fails_twice_fails(phases):
    assert phases(FAILS) == 1


def test_an_unknown_phase_is_answered_with_those_there_are():
    with pytest.raises(SystemExit, match=r"a phase is one of push, nightly, lint, .*; got nonsense"):
        run.main(["nonsense"])


def test_every_phase_is_in_a_group_and_the_two_groups_share_none():
    push, nightly = run.GROUPS["push"], run.GROUPS["nightly"]
    assert {*push, *nightly} == set(run.PHASES)
    assert not set(push) & set(nightly)


@pytest.mark.skipif(sys.platform != "linux", reason="CPU seconds of orphans are counted on Linux only")
def test_cpu_seconds_include_a_process_whose_parent_ended_first():
    busy = "import time\nwhile time.process_time() < 1: pass"
    parent = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {busy!r}])"
    code = f"""import run, subprocess, sys, time
run.adopt()
subprocess.run([sys.executable, "-c", {parent!r}])
end = time.monotonic() + 60
while run.cpu_seconds() < 1 and time.monotonic() < end: time.sleep(0.1)
print(run.cpu_seconds())"""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tests")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert float(done.stdout) >= 1


def test_a_change_finds_its_tests_and_the_part_of_the_environment_that_they_need():
    assert doctest.testmod(of_change).failed == 0


def test_the_plan_of_a_check_names_tests_time_and_what_is_installed(monkeypatch, tmp_path):
    tests = of_change.chosen(["plain"], [])
    monkeypatch.setattr(of_change, "ROOT", tmp_path)
    said = of_change.plan(tests, "small")
    assert "    tests/library/plain\n" in said
    assert "seconds on two free cores" in said
    assert "it installs into .venv NumPy, numba and the test tools: half a minute, 500 MB" in said
