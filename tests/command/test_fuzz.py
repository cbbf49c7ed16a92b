"""Broken files and odd functions get words, soon and in little memory: a sample of what `tests/fuzz.py` tries."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_five_hundred_broken_files_and_odd_functions_get_words():
    command = [sys.executable, "-W", "ignore", ROOT / "tests" / "fuzz.py", "500", "--seed", "22"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert done.stdout.startswith("500 cases, 0 failed")
    for command in ("read", "compare", "weights", "diagnose", "vectors"):
        assert f"'{command} " in done.stdout
