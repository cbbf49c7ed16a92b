"""Run the tests that a change needs: `python tests/of_change.py [ROOM …]`.

Without a name, the rooms are those in which `git diff main` and new files lie. A room brings its tests, its
doctests; a notebook is executed and compared; pages, assets and scripts of the site are tested by `make test` only.
`make test` runs everything.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ALWAYS = ["tests/test_import.py"]
BROWSER = ("book/assets", "book/extensions", "tests/pages")
HOUSES = {"library": "rope_edu", "doctor": "doctor/rope_doctor", "book": "book/rope_book"}


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


def run(title: str, *command: str) -> bool:
    """Run one command; return whether it succeeded."""
    print(f"== {title}", flush=True)
    return subprocess.run(command, cwd=ROOT).returncode == 0


def main(rooms: list[str]) -> int:
    """Run the tests of the rooms named, or of all that changed; return 0 if they pass."""
    paths = [] if rooms else changed()
    named = {room: [test for house in HOUSES for test in of_room(house, room)] for room in rooms}
    if missing := [room for room, tests in named.items() if not tests]:
        sys.exit(f"ROOM must be a folder of one of {', '.join(HOUSES.values())}, got {', '.join(missing)}")
    wanted = [test for path in paths for test in suites_of(path)]
    wanted += [test for tests in named.values() for test in tests]
    chosen = list(dict.fromkeys(ALWAYS + wanted))
    notebooks = [test for test in chosen if test.endswith(".ipynb")]
    tests = [test for test in chosen if not test.endswith(".ipynb")]
    pytest = (sys.executable, "-m", "pytest", "-q", "-n", "auto")
    passed = [run(" ".join(tests), *pytest, *tests)]
    if notebooks:
        passed.append(run("notebooks", *pytest, "--dist", "loadfile", "--nbval", *notebooks))
    if any(path.startswith(BROWSER) or path.endswith(".md") for path in paths):
        print("Pages changed: `make book`, then `python -m pytest tests/pages` are theirs.")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
