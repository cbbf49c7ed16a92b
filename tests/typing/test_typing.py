"""The types that the package promises: mypy accepts what works and rejects what cannot."""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def errors(name):
    """Return the kind of error that mypy reports on each line of a file beside this one."""
    root = HERE.parents[1]
    command = [sys.executable, "-m", "mypy", str(HERE / name)]
    output = subprocess.run(command, capture_output=True, text=True, cwd=root).stdout
    found = re.findall(rf"{name}:(\d+): error: .*\[([a-z-]+)\]", output)
    assert found or "no issues found" in output, output
    return {int(line): kind for line, kind in found}


def test_what_works_is_accepted():
    assert errors("accepted.py") == {}


def test_what_cannot_work_is_rejected():
    lines = (HERE / "rejected.py").read_text().splitlines()
    expected = {n: line.split("  # ")[1] for n, line in enumerate(lines, start=1) if "  # " in line}
    assert errors("rejected.py") == expected
