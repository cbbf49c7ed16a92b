"""Broken files and odd functions get words, soon and in little memory: a sample of `tests/doctor/fuzz.py`."""

import importlib.util
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("count", "seed"), [(500, 22), pytest.param(5000, 7, marks=pytest.mark.nightly)], ids=["500", "5000"]
)
def test_broken_files_and_odd_functions_get_words(count, seed):
    fuzz = ROOT / "tests" / "doctor" / "fuzz.py"
    command = [sys.executable, "-W", "ignore", fuzz, str(count), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250 + count / 5)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert done.stdout.startswith(f"{count} cases, 0 failed")
    for command in ("read", "compare", "weights", "diagnose", "vectors"):
        assert f"'{command} " in done.stdout


def test_a_case_is_the_same_whatever_was_drawn_before_it():
    """A thing put into one file and changed there would be changed in every later file, or come to hold itself."""
    spec = importlib.util.spec_from_file_location("fuzz", ROOT / "tests" / "doctor" / "fuzz.py")
    fuzz = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fuzz)
    before = json.dumps(fuzz.ODD)
    for number in range(500):
        fuzz.broken_json({"a": {}, "text_config": {"b": 1}}, random.Random(number))
    assert json.dumps(fuzz.ODD) == before
