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
BROWSER = ("book/assets", "book/extensions", "tests/book")


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

    >>> suites_of("rope_edu/config/reader.py"), suites_of("notebooks/04_rotate_one_pair.ipynb")
    (['tests/config', 'rope_edu/config'], ['tests/test_notebooks.py', 'notebooks/04_rotate_one_pair.ipynb'])
    """
    parts = path.split("/")
    if parts[0] in ("rope_edu", "tests") and len(parts) > 2 and parts[1] not in ("book", "colab"):
        room = parts[1]
        known = [f"tests/{room}", f"tests/test_{room}.py", f"rope_edu/{room}"]
        return [name for name in known if (ROOT / name).exists()]
    if parts[0] == "tests" and parts[-1].startswith("test_") and len(parts) == 2:
        return [path]
    if path.endswith(".ipynb"):
        return ["tests/test_notebooks.py", path]
    if path.startswith("book/makers"):
        return ["tests/makers"]
    if path in ("README.md", "Makefile", "pyproject.toml", "CONTRIBUTING.md", "CHANGELOG.md"):
        return ["tests/test_readme.py"]
    return []


def run(title: str, *command: str) -> bool:
    """Run one command; return whether it succeeded."""
    print(f"== {title}", flush=True)
    return subprocess.run(command, cwd=ROOT).returncode == 0


def main(rooms: list[str]) -> int:
    """Run the tests of the rooms named, or of all that changed; return 0 if they pass."""
    paths = [f"rope_edu/{room}/__init__.py" for room in rooms] or changed()
    if missing := [room for room in rooms if not (ROOT / "rope_edu" / room).is_dir()]:
        sys.exit(f"ROOM must be a folder of rope_edu, got {', '.join(missing)}")
    chosen = list(dict.fromkeys(ALWAYS + [test for path in paths for test in suites_of(path)]))
    notebooks = [test for test in chosen if test.endswith(".ipynb")]
    tests = [test for test in chosen if not test.endswith(".ipynb")]
    pytest = (sys.executable, "-m", "pytest", "-q", "-n", "auto")
    passed = [run(" ".join(tests), *pytest, *tests)]
    if notebooks:
        passed.append(run("notebooks", *pytest, "--dist", "loadfile", "--nbval", *notebooks))
    if any(path.startswith(BROWSER) or path.endswith(".md") for path in paths):
        print("Pages changed: `make book`, then `python -m pytest tests/book` are theirs.")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
