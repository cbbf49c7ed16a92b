"""Run phases of the tests, then print one summary: `python tests/run.py [push|nightly|PHASE …]`.

``push``, the default, is what `make test` runs. ``nightly`` is everything that takes too long for every push. A
phase also runs by its name; `--list` prints the names. Each phase writes to ``_build/runs/PHASE.log``, which is
shown only if the phase fails, so that nothing red remains above a green summary. On Linux, CPU seconds include all
processes that a phase started, browsers too.
"""

import ctypes
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "_build" / "runs"
CORES = os.cpu_count() or 1
LINES = 150  # of a failed phase's log that are shown

BESIDE = Path(sys.executable).parent  # the other programs of the environment
PYTHON = (sys.executable,)
PYTEST = (sys.executable, "-m", "pytest", "-q")
PARALLEL = (*PYTEST, "-n", "auto", "--dist", "worksteal")
# A test in a browser waits a sixth of its time: three for two cores keep both busy
BROWSERS = (*PYTEST, "-n", str(max(2, 3 * CORES // 2)), "--dist", "loadgroup")
FAILED = (*PYTEST, "--last-failed", "--last-failed-no-failures", "none")
QUICK = ("-m", "not nightly and not makers")
NIGHTLY = ("-m", "nightly and not makers")

# The tests of library and doctor, whose reach is measured, and all others that need no built book
LIBRARY = ("rope_edu", "doctor/rope_doctor", "tests/library", "tests/doctor")
REST = (
    "book/rope_book",
    "tests/book",
    *sorted(f"tests/{path.name}" for path in ROOT.glob("tests/test_*.py")),
)


def program(name: str, *arguments: str) -> tuple[str, ...]:
    """Return the command of a program of this environment."""
    return (str(BESIDE / name), *arguments)


@dataclass(frozen=True)
class Phase:
    """Commands that run side by side, and the command that tries failed tests once more, alone."""

    what: str
    commands: tuple[tuple[str, ...], ...]
    again: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


BUILD = program("jupyter-book", "build", ".", "--all", "-n", "-W", "--keep-going", "-q")
CELLS = (*PYTEST, "-n", "auto", "--dist", "loadfile", "--nbval", "notebooks")
PHASES = {
    "lint": Phase(
        "format, style, types of Python and scripts, order of rooms",
        (
            program("mypy"),
            program("ruff", "check", "."),
            program("ruff", "format", "--check", "."),
            program("lint-imports"),
            (*PYTHON, "book/tools/lint_scripts.py"),
        ),
    ),
    "library": Phase(
        "library, doctor, and every other test that needs no built book",
        ((*PARALLEL, *QUICK, *LIBRARY, *REST),),
    ),
    "book": Phase("the book built afresh; beside it, the notebooks run and compared", (BUILD, CELLS)),
    # A page that a loaded machine draws late fails its test
    "pages": Phase(
        "the built book in Chromium",
        ((*BROWSERS, *QUICK, "tests/pages"),),
        again=(*FAILED, *QUICK, "tests/pages"),
    ),
    "build": Phase("the book built afresh", (BUILD,)),
    "engines": Phase(
        "Firefox and WebKit, PDF and EPUB, and the pages and figures that `pages` leaves out",
        ((*BROWSERS, *NIGHTLY, "tests/pages"),),
        again=(*FAILED, *NIGHTLY, "tests/pages"),
    ),
    "walk": Phase(
        "every page, Chinese ones too, and each from a folder in every engine",
        ((*BROWSERS, "tests/pages/test_offline.py", "tests/pages/test_pages.py", "-k", "offline or zh"),),
        environment={"EVERY_PAGE": "1"},
    ),
    "makers": Phase("makers and benchmarks", ((*PARALLEL, "-m", "makers", "tests/book", *LIBRARY[2:]),)),
    "coverage": Phase(
        "library and doctor with every draw; 95 % of their lines and branches are reached",
        ((*PARALLEL, "-m", "not makers", "--cov", "--cov-report=term", *LIBRARY),),
    ),
    "draws": Phase("other tests with every draw", ((*PARALLEL, *NIGHTLY, *REST),)),
    "arithmetic": Phase(
        "numbers and notebooks with the arithmetic of other processors",
        ((*PYTHON, "tests/arithmetic.py"),),
    ),
    "colab": Phase(
        "the notebooks with Colab's packages, and figures in the classic Notebook",
        ((*PYTEST, "-s", "tests/colab"),),
    ),
}
GROUPS = {
    "push": ("lint", "library", "book", "pages"),
    "nightly": ("build", "engines", "walk", "makers", "coverage", "draws", "arithmetic", "colab"),
}
BUDGET = {"push": 1300}  # CPU seconds


@dataclass
class Outcome:
    """How a phase ended."""

    name: str
    failed: list[str] = field(default_factory=list)  # commands and tests
    again: list[str] = field(default_factory=list)  # tests that failed once, then passed
    passed: int | None = None  # None where no command counts tests
    skipped: Counter[str] = field(default_factory=Counter)  # how many tests for each reason
    cpu: float = 0.0
    wall: float = 0.0


def cpu_seconds() -> float:
    """Return the CPU seconds of every process that has ended below this one; 0 where no system counts them."""
    if sys.platform == "win32":
        return 0.0
    while True:  # those whose parents ended before them
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                break
        except ChildProcessError:
            break
    spent = os.times()
    return spent.children_user + spent.children_system


def adopt() -> None:
    """Make a process whose parent ends a child of this one, so that its CPU seconds are counted (Linux)."""
    if sys.platform == "linux":
        PR_SET_CHILD_SUBREAPER = 36  # noqa: N806 (the name in prctl.h)
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def start(name: str, number: int, command: tuple[str, ...], phase: Phase) -> subprocess.Popen:
    """Start one command of a phase; its output goes to a file, and its tests to a report beside it."""
    report = (f"--junit-xml={RUNS / f'{name}-{number}.xml'}",) if "pytest" in command else ()
    # There are as many workers as cores: more threads in each would wait for one another
    environment = {"OMP_NUM_THREADS": "1", **os.environ, **phase.environment}
    with (RUNS / f"{name}-{number}.log").open("wb") as log:
        return subprocess.Popen(
            [*command, *report], cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT
        )


def read(outcome: Outcome) -> list[str]:
    """Count the tests in a phase's reports; return the names of those that failed."""
    failed = []
    for report in sorted(RUNS.glob(f"{outcome.name}-*.xml")):
        for case in ElementTree.parse(report).iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                failed.append(f"{case.get('classname', '')}::{case.get('name')}")
            elif (skipped := case.find("skipped")) is not None:
                said = skipped.get("message", "")
                if said == "collection skipped":  # the reason that a module gives stands in the text
                    said = (skipped.text or "").rpartition("Skipped: ")[2].strip("')\n")
                outcome.skipped[said] += 1
            else:
                outcome.passed = (outcome.passed or 0) + 1
    return failed


def run(name: str) -> Outcome:
    """Run one phase and return how it ended."""
    phase, outcome = PHASES[name], Outcome(name)
    for old in RUNS.glob(f"{name}-*"):
        old.unlink()
    print(f"{name}: {phase.what} …", flush=True)
    cpu, begun = cpu_seconds(), time.monotonic()
    running = [start(name, number, command, phase) for number, command in enumerate(phase.commands)]
    ended = [process.wait() for process in running]
    broken = [
        f"`{shown(command)}` ended with status {status}"
        for command, status in zip(phase.commands, ended, strict=True)
        if status
    ]
    tests = read(outcome)
    if broken and phase.again and ended == [1]:  # status 1: the run reached its end, and tests failed
        print(f"{name}: {len(tests)} failed and are tried once more, alone …", flush=True)
        status = start(f"{name}-again", 0, phase.again, phase).wait()
        if status == 0:
            outcome.again, tests, broken = tests, [], []
            outcome.passed = (outcome.passed or 0) + len(outcome.again)
    outcome.failed = [*broken, *tests]
    outcome.cpu, outcome.wall = cpu_seconds() - cpu, time.monotonic() - begun
    if outcome.failed:
        show([f"{name}-{number}" for number, status in enumerate(ended) if status] + [f"{name}-again-0"])
    return outcome


def shown(command: tuple[str, ...]) -> str:
    """Return a command as a reader would type it."""
    return " ".join([Path(command[0]).name, *command[1:]])


def show(names: list[str]) -> None:
    """Print the ends of the logs that are there."""
    for log in (path for name in names if (path := RUNS / f"{name}.log").exists()):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        print(f"---- {log.relative_to(ROOT)}, the last {min(LINES, len(lines))} of {len(lines)} lines")
        print("\n".join(lines[-LINES:]), flush=True)


def summary(outcomes: list[Outcome], budget: int | None) -> str:
    """Return the table of phases, then what failed, what was tried again, and what was skipped and why."""
    rows = [("phase", "result", "passed", "skipped", "again", "CPU s", "wall s")]
    rows += [
        (
            each.name,
            "FAILED" if each.failed else "passed",
            "" if each.passed is None else str(each.passed),
            str(each.skipped.total() or ""),
            str(len(each.again) or ""),
            f"{each.cpu:.0f}",
            f"{each.wall:.0f}",
        )
        for each in outcomes
    ]
    cpu, wall = (sum(getattr(each, kind) for each in outcomes) for kind in ("cpu", "wall"))
    rows.append(("total", "", "", "", "", f"{cpu:.0f}", f"{wall:.0f}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    if budget:
        lines.append(f"The budget of this run is {budget} CPU seconds, without the environment.")
    for each in outcomes:
        lines += [f"{each.name} skipped {count}: {reason}" for reason, count in each.skipped.most_common()]
        lines += [f"{each.name} tried again, and it passed: {test}" for test in each.again]
    for each in outcomes:
        lines += [f"{each.name} FAILED: {what}" for what in each.failed]
    red = [each.name for each in outcomes if each.failed]
    lines.append(f"FAILED: {', '.join(red)}" if red else f"All {len(outcomes)} phases passed.")
    return "\n".join(lines)


def main(names: list[str]) -> int:
    """Run the groups and phases that are named; return 0 if all of them pass."""
    if names == ["--list"]:
        print("\n".join(f"{name:12}{phase.what}" for name, phase in PHASES.items()))
        return 0
    names = names or ["push"]
    wanted = [phase for name in names for phase in GROUPS.get(name, (name,))]
    if unknown := [name for name in wanted if name not in PHASES]:
        sys.exit(f"a phase is one of {', '.join([*GROUPS, *PHASES])}; got {', '.join(unknown)}")
    RUNS.mkdir(parents=True, exist_ok=True)
    adopt()
    said = summary([run(name) for name in wanted], BUDGET.get(names[0]) if len(names) == 1 else None)
    print(f"\n{said}", flush=True)
    if page := os.environ.get("GITHUB_STEP_SUMMARY"):
        Path(page).write_text(f"```\n{said}\n```\n", encoding="utf-8")
    return int("\nFAILED: " in said)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
