"""Run lint and the tests that a change needs: `python tests/of_change.py [ROOM …]`.

Without a name, the rooms are those in which `git diff main` and new files lie. A room brings its tests and its
doctests; a notebook is executed and compared; pages, assets and scripts of the site are tested by `make test` only.
What will run is printed first, with its time. Any Python starts this file: it installs into ``.venv`` the part of
the environment that these tests need, and goes on there.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ALWAYS = ["tests/test_import.py"]
BROWSER = ("book/assets", "book/extensions", "tests/pages")
HOUSES = {"library": "rope_edu", "doctor": "doctor/rope_doctor", "book": "book/rope_book"}

# The parts of the environment, each in the next: how they are described, and which imports of a test ask for more
PARTS = {
    "small": "NumPy, numba and the test tools: half a minute, 500 MB",
    "rooms": "torch, transformers and the test tools: two minutes, 2 GB",
    "test": "everything that the tests need: three minutes, 3 GB",
}
WHOLE = re.compile(r"^(?:from|import) (?:rope_book|nbformat|playwright|py_mini_racer)", re.M)
TORCH = re.compile(r"^(?:from|import) (?:torch|transformers)", re.M)
MAKER = re.compile(r"^from makers(?: import |\.)(\w+)", re.M)
LINT_SECONDS = {"small": 5, "rooms": 40, "test": 60}
# CPU seconds of the tests of a room, where these are more than 15
SECONDS = {
    "tests/doctor/probes": 70,
    "tests/doctor/clinic": 40,
    "tests/library/fast": 60,
    "tests/doctor/command": 35,
    "tests/doctor/config": 25,
    "tests/book/widgets": 60,
    "tests/book/training": 60,
}


def changed() -> list[str]:
    """Return the paths that differ from main, and those that git does not know yet."""
    base = "main" if not git("rev-parse", "--verify", "--quiet", "main").returncode else "HEAD"
    found = git("diff", "--name-only", base).stdout + git("ls-files", "--others", "--exclude-standard").stdout
    return [path for path in found.splitlines() if (ROOT / path).exists()]


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Return the result of one git command."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)


def suites_of(path: str) -> list[str]:
    """Return the tests of one changed path: those of its room, or those that stand beside nothing else.

    >>> suites_of("doctor/rope_doctor/config/reader.py")
    ['tests/doctor/config', 'doctor/rope_doctor/config']
    >>> suites_of("notebooks/04_rotate_one_pair.ipynb")
    ['tests/test_notebooks.py', 'notebooks/04_rotate_one_pair.ipynb']
    """
    for house, package in HOUSES.items():
        for above in (f"{package}/", f"tests/{house}/"):
            if path.startswith(above):
                room = path.removeprefix(above).partition("/")[0].removesuffix(".py")
                return of_room(house, room.removeprefix("test_"))
    if path.startswith("tests/test_"):
        return [path]
    if path.endswith(".ipynb"):
        return ["tests/test_notebooks.py", path]
    if path.startswith("book/makers"):
        return ["tests/book/makers"]
    if path in ("README.md", "Makefile", "CONTRIBUTING.md", "CHANGELOG.md") or path.endswith(
        "pyproject.toml"
    ):
        return ["tests/test_readme.py"]
    return []


def of_room(house: str, room: str) -> list[str]:
    """Return the tests and the code of one room that are there."""
    known = [f"tests/{house}/{room}", f"tests/{house}/test_{room}.py"]
    known += [f"{HOUSES[house]}/{room}", f"{HOUSES[house]}/{room}.py"]
    return [name for name in known if (ROOT / name).exists()]


def chosen(rooms: list[str], paths: list[str]) -> list[str]:
    """Return the tests of these rooms and paths; SystemExit if a room is in no package."""
    named = {room: [test for house in HOUSES for test in of_room(house, room)] for room in rooms}
    if missing := [room for room, tests in named.items() if not tests]:
        sys.exit(f"ROOM must be a folder of one of {', '.join(HOUSES.values())}, got {', '.join(missing)}")
    wanted = [test for path in paths for test in suites_of(path)]
    wanted += [test for tests in named.values() for test in tests]
    return list(dict.fromkeys(wanted))


def read(files: Iterable[Path]) -> list[str]:
    """Return the text of files, and of the makers that they import."""
    texts = [file.read_text(encoding="utf-8") for file in files]
    makers = {name for text in texts for name in MAKER.findall(text)}
    return texts + (read(ROOT / "book" / "makers" / f"{name}.py" for name in makers) if makers else [])


def part(tests: list[str]) -> str:
    """Return the smallest part of the environment in which these tests can run.

    >>> part(["tests/doctor/config", "doctor/rope_doctor/config"]), part(["tests/library/fast"])
    ('small', 'test')
    >>> part(["tests/doctor/clinic", "tests/doctor/vectors"]), part(["tests/test_readme.py"])
    ('small', 'test')
    """
    files = [
        file
        for test in tests
        for file in ([ROOT / test] if Path(test).suffix else (ROOT / test).rglob("*.py"))
    ]
    sources = read(files)
    in_rooms = all(test.startswith(("tests/library", "tests/doctor", "rope_edu", "doctor")) for test in tests)
    if not tests or not in_rooms or any(map(WHOLE.search, sources)):
        return "test"
    return "rooms" if any(map(TORCH.search, sources)) else "small"


def plan(tests: list[str], needed: str) -> str:
    """Return what will run, and about how long it takes."""
    seconds = sum(SECONDS.get(test, 10) for test in tests if test.startswith(("tests/", "notebooks/")))
    seconds = LINT_SECONDS[needed] + max(10, seconds) // min(2, os.cpu_count() or 1)
    types = {"small": "", "rooms": ", types", "test": ", types, scripts"}[needed]
    lines = [f"This runs lint (format, style, order of rooms{types}) and", *(f"    {test}" for test in tests)]
    lines.append(f"which takes about {seconds} seconds on two free cores.")
    if not (ROOT / ".venv" / needed).exists():
        lines.append(f"Before that it installs into .venv {PARTS[needed]}.")
        if needed == "small":
            lines.append(
                "Comparisons with torch or transformers are skipped until `make test` installs these."
            )
    return "\n".join(lines)


def go(tests: list[str], needed: str) -> int:
    """Run lint and tests in this environment and print their summary; return 0 if all pass."""
    import run  # its commands take the Python that imports it

    commands = [
        command for command in run.PHASES["lint"].commands if needed == "test" or "ruff" in command[0]
    ]
    if needed != "test":
        commands.append(run.program("lint-imports"))
    if needed == "rooms":
        commands.append(run.program("mypy"))
    here = os.pathsep.join(str(ROOT / folder) for folder in ("", "doctor", "book"))
    run.PHASES["lint"] = run.Phase("what tools hold", tuple(commands), environment={"PYTHONPATH": here})
    cells = tuple(test for test in tests if test.endswith(".ipynb"))
    others = tuple(test for test in tests if not test.endswith(".ipynb"))
    run.PHASES["tests"] = run.Phase(" ".join(others), ((*run.PARALLEL, *run.QUICK, *others),))
    run.PHASES["notebooks"] = run.Phase(" ".join(cells), ((*run.PARALLEL, "--nbval", *cells),))
    return run.main(["lint", *(["tests"] if others else []), *(["notebooks"] if cells else [])])


def main(arguments: list[str]) -> int:
    """Say what will run, install what it needs, and run it; return 0 if all pass."""
    rooms = [argument for argument in arguments if argument != "--go"]
    paths = [] if rooms else changed()
    tests = chosen(rooms, paths)
    needed = part(tests)
    if needed == "test":
        tests = list(dict.fromkeys([*ALWAYS, *tests]))
    if "--go" in arguments:
        return go(tests, needed)
    print(plan(tests, needed), flush=True)
    if subprocess.run(
        [os.environ.get("MAKE", "make"), "--no-print-directory", f".venv/{needed}"], cwd=ROOT
    ).returncode:
        return 1
    python = ROOT / ".venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    status = subprocess.run([str(python), __file__, *arguments, "--go"], cwd=ROOT).returncode
    if any(path.startswith(BROWSER) or path.endswith(".md") for path in paths):
        print("Pages changed: `make book`, then `python -m pytest tests/pages` are theirs.")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
