"""Change one operator, number or word of the code at a time, and see whether a test notices.

    python tests/mutants.py --count 40 --seed 1             40 changes, from all rooms in proportion to their sizes
    python tests/mutants.py --count 20 encodings lib        from two rooms
    python tests/mutants.py --count 300 python --resume LOG go on after what this printed into a file

A room is a folder of a package, or `lib`, `maths` or `figures` of the scripts; `lib` has the files that are
tested in V8. `python` and `scripts` stand for all rooms of the kind. Tests run in a copy of the repository until
the first fails: in forks (`mutant_forks.py`), which takes a second or so; and, for what forks cannot try or do
not notice, in a process of its own, with all tests of the room, those nearest to the changed file first. A browser
cannot be forked: a script's change that forks do not notice is tried with the figures' stills, which a browser
draws. A change that no test notices survives. The changes in `equivalent_mutants.toml`, which nobody could notice,
are not drawn, nor are the numbers on which a judge of an exercise tries an answer, since others would do as well.
The status is 1 if fewer than 95 % of a room are noticed.
"""

import argparse
import ast
import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from itertools import accumulate, pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")
ENOUGH = 0.95
FEW = 3  # the nearest files of tests, which run before the others are even loaded
NONE_RAN = 5  # pytest's status where a file has no test to run
HOUR = 3600  # seconds, after which an endless loop is noticed
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["numpy", "torch", "py_mini_racer"])  # plugins of pytest must load after it
HOUSES = {"library": "rope_edu", "doctor": "doctor/rope_doctor", "book": "book/rope_book"}
SCRIPTS = ("lib", "maths", "figures")
STILLS = "tests/pages/test_stills.py"
JUDGES = "book/rope_book/check/chapter_"

PAIRS = "< <= > >= == != === !== + - * / and or && || True False true false sin cos min max floor ceil"
SWAPS = dict(zip(PAIRS.split()[::2], PAIRS.split()[1::2], strict=True))
SWAPS |= {new: old for old, new in SWAPS.items()} | {"//": "/", "%": "*", "not ": "", "!": ""}
SKIPPED = {
    ".py": r"""[rbfu]{0,2}(?:\"{3}[\s\S]*?\"{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\#.*""",
    ".js": r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|//.*|/\*[\s\S]*?\*/"""
    r"""|(?:(?<=[(=,:!?&|])|(?<=[(=,:!?&|]\ ))/(?![/*\s])(?:\\.|\[(?:\\.|[^]\\\n])*\]|[^/\\\n[])+/""",
}
CHANGED = r"""(?P<spaced>(?<=\s)(?:[<>]=?|[!=]==?|[-+*/%]|//|&&|\|\|)(?=\s))  # a binary operator
    |(?P<word>\b(?:and|or|[Tt]rue|[Ff]alse|sin|cos|min|max|floor|ceil)\b(?!\.)|\bnot\ (?!in\b)|!(?=[\w(]))
    |(?P<number>(?<![\w.])\d[\d_]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]))
    |(?P<returned>\breturn\ (?=\S)(?!;))"""


class Mutant(NamedTuple):
    """A file, relative to the repository, and the part of it to replace."""

    path: str
    start: int
    old: str
    new: str

    def applied(self, text: str) -> str:
        """Return the file's text with the change."""
        return text[: self.start] + self.new + text[self.start + len(self.old) :]

    def told(self) -> str:
        """Return the change in words: its file, and the line as it will be."""
        number, line = self.line((ROOT / self.path).read_text(encoding="utf-8"))
        return f"{self.path}:{number}: {line}"

    def line(self, text: str) -> tuple[int, str]:
        """Return the number of the changed line, and the line as it will be."""
        number = text.count("\n", 0, self.start)
        return number + 1, self.applied(text).splitlines()[number].strip()


def mutants(path: str) -> Iterator[Mutant]:
    """Yield all changes of a file; of a judge, those that do not only change its examples."""
    text = (ROOT / path).read_text(encoding="utf-8")
    free = examples(text) if path.startswith(JUDGES) else set()
    yield from (mutant for mutant in of_text(path, text) if mutant.start not in free)


def examples(text: str) -> set[int]:
    """Return where the numbers of tuples, of lists and of constants of a module are."""
    starts = [0, *accumulate(map(len, text.splitlines(keepends=True)))]
    found = set()

    def note(node: ast.AST) -> None:
        for each in ast.iter_child_nodes(node):
            if isinstance(each, ast.Constant):
                line = text.splitlines()[each.lineno - 1].encode()
                found.add(starts[each.lineno - 1] + len(line[: each.col_offset].decode()))
            elif isinstance(each, ast.Tuple | ast.List | ast.UnaryOp | ast.BinOp):
                note(each)

    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign) and all(getattr(each, "id", "").isupper() for each in node.targets):
            note(node)
        for each in ast.iter_child_nodes(node):
            if isinstance(each, ast.Tuple | ast.List) and not isinstance(node, ast.Subscript):
                note(each)
    return found


def of_text(path: str, text: str) -> Iterator[Mutant]:
    """Yield all changes of a file's text."""
    suffix = Path(path).suffix
    for found in re.finditer(f"(?P<skipped>{SKIPPED[suffix]})|{CHANGED}", text, re.VERBOSE):
        old, kind = found[0], found.lastgroup
        new = SWAPS.get(old, f"({old} + 1)")
        if kind == "returned":
            new = "return not " if suffix == ".py" else "return !"
        if kind != "skipped":
            yield Mutant(path, found.start(), old, new)


def compiles(path: str, source: str) -> bool:
    """Return whether Python reads a source; scripts are taken as they are."""
    try:
        return not path.endswith(".py") or bool(compile(source, path, "exec"))
    except SyntaxError:
        return False


def equivalent() -> set[tuple[str, str]]:
    """Return the changes that nobody could notice, each a file and the line as it would be."""
    listed = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["mutant"]
    return {(each["file"], each["line"]) for each in listed}


def rooms() -> dict[str, tuple[list[str], list[str]]]:
    """Return the files and the tests of every room."""
    found = {}
    for house, package in HOUSES.items():
        for code in sorted((ROOT / package).iterdir()):
            tests = [ROOT / "tests" / house / code.stem, ROOT / "tests" / house / f"test_{code.stem}.py"]
            if suite := [relative(test) for test in tests if test.exists()]:
                files = sorted(code.rglob("*.py")) if code.is_dir() else [code]
                found[code.stem] = [relative(file) for file in files], [*suite, relative(code)]
    suites = {path: path.read_text("utf-8") for path in (ROOT / "tests/book/widgets").glob("test_*.py")}
    in_v8 = {
        relative(path): text
        for path, text in sorted(suites.items())
        if re.search(r"from \.(v8|drawn|looks) import", text)
    }
    named = set(re.findall(r'lib(?:/|\(")(\w+)', "".join(in_v8.values())))
    for room in SCRIPTS:
        files = sorted((ROOT / "book/rope_book/widgets/js" / room).glob("*.js"))
        found[room] = [relative(file) for file in files if room != "lib" or file.stem in named], list(in_v8)
    return found


def relative(path: Path) -> str:
    """Return a path below the repository."""
    return path.relative_to(ROOT).as_posix()


def drawn(files: list[str], count: int, seed: str) -> list[Mutant]:
    """Return `count` changes of some files, or all if there are fewer."""
    every, known, chosen = [mutant for file in files for mutant in mutants(file)], equivalent(), []
    random.Random(seed).shuffle(every)
    for mutant in every:
        text = (ROOT / mutant.path).read_text(encoding="utf-8")
        named = (mutant.path, mutant.line(text)[1])
        if len(chosen) < count and named not in known and compiles(mutant.path, mutant.applied(text)):
            chosen.append(mutant)
    return chosen


def draws_of(chosen: list[str], count: int, seed: int) -> dict[str, list[Mutant]]:
    """Return the changes that are drawn from some rooms, in proportion to how many each has."""
    files = {room: rooms()[room][0] for room in chosen}
    ends = list(accumulate(sum(1 for file in files[room] for _ in mutants(file)) for room in chosen))
    edges = [0, *(round(count * end / ends[-1]) for end in ends)]
    shares = [high - low for low, high in pairwise(edges)]
    return {room: drawn(files[room], n, f"{seed} {room}") for room, n in zip(chosen, shares, strict=True)}


def nearest_first(tests: list[str], path: str) -> list[str]:
    """Return the files of some tests and those that import the changed file, those named after it before others."""
    stem, places = Path(path).stem, [ROOT / test for test in tests]
    files = {file for place in places for file in ([place] if place.is_file() else place.rglob("*.py"))}
    module = ".".join(Path(path).with_suffix("").parts[-3:])
    files |= {file for file in ROOT.glob("tests/*/*/test_*.py") if module in file.read_text(encoding="utf-8")}

    def rank(file: Path) -> tuple[bool, bool, int, Path]:
        named = re.findall(rf"[/\"'.]{stem}\b", file.read_text(encoding="utf-8"))
        return stem not in file.stem, not file.stem.startswith("test_"), -len(named), file

    return [relative(file) for file in sorted(files, key=rank)]


def pytest_in(
    copy: Path, arguments: list[str], in_forks: tuple[list[Mutant], Connection] | None = None
) -> None:
    """Run pytest in the copy of the repository, and end this process."""
    paths = [str(copy / folder) for folder in ("", "doctor", "book")]
    os.environ |= {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.path[:0], sys.dont_write_bytecode = paths, True
    os.chdir(copy)
    silence = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(silence, stream)
    import pytest

    plugins = []
    if in_forks:
        from mutant_forks import Room

        plugins = [Room(copy, *in_forks)]
    sys.exit(pytest.main(["-q", "-pno:nbval", *arguments], plugins))  # nbval loads slowly


def tried_in_forks(copy: Path, tests: list[str], chosen: list[Mutant]) -> Iterator[Any]:
    """Yield the tests that fail without any change; then each change that forks try, and whether it is noticed."""
    answers, answer = multiprocessing.Pipe(duplex=False)
    process = PROCESSES.Process(target=pytest_in, args=(copy, tests, (chosen, answer)))
    process.start()
    answer.close()
    try:
        yield answers.recv()
        while True:
            n, seen = answers.recv()
            yield chosen[n], seen
    except EOFError:
        process.join()


def fails(copy: Path, tests: list[str], options: list[str]) -> bool:
    """Return whether a test fails in a process of its own, in the copy of the repository."""
    for part in filter(None, (tests[:FEW], tests[FEW:])):
        process = PROCESSES.Process(target=pytest_in, args=(copy, ["-x", *options, *part]))
        process.start()
        process.join(HOUR)
        process.kill()
        process.join()
        if process.exitcode not in (0, NONE_RAN):
            return True
    return False


def noticed(copy: Path, mutant: Mutant, tests: list[str], options: list[str]) -> bool:
    """Return whether a test fails in the copy of the repository with a change."""
    file = copy / mutant.path
    text = file.read_text(encoding="utf-8")
    file.write_text(mutant.applied(text), encoding="utf-8")
    seen = fails(copy, tests, options)
    file.write_text(text, encoding="utf-8")
    return seen


def survivors(copy: Path, chosen: list[Mutant], tests: list[str]) -> list[str]:
    """Return the changes that no test notices, neither in a fork nor in a process of its own; print each."""
    files = sorted({file for mutant in chosen for file in nearest_first(tests, mutant.path)})
    verdicts, untried, alive = tried_in_forks(copy, files, chosen), dict.fromkeys(chosen), []
    failed = next(verdicts, None)
    if failed is None:
        sys.exit(f"these tests cannot be collected: {' '.join(files)}")
    for test in failed:
        print("fails without any change:", test)

    def tell(mutant: Mutant, seen: bool) -> None:
        print("noticed " if seen else "survives", mutant.told(), flush=True)
        alive.extend([] if seen else [mutant.told()])

    for mutant, seen in verdicts:
        if seen:
            del untried[mutant]
            tell(mutant, seen)
        elif mutant.path.endswith(".js"):
            untried[mutant] = [STILLS], ["-m", ""]
    if any(untried.values()) and fails(copy, [STILLS], ["-m", ""]):
        sys.exit(f"{STILLS} fails without any change, or finds no browser")
    but = ["-m", "not makers and (not nightly or sampled)", *(f"--deselect={test}" for test in failed)]
    for mutant, left in untried.items():
        tell(mutant, noticed(copy, mutant, *(left or (nearest_first(tests, mutant.path), but))))
    return alive


def run(copy: Path, room: str, chosen: list[Mutant]) -> bool:
    """Try some changes of a room; print how many are noticed, and return whether they are enough."""
    before = time.monotonic()
    alive = survivors(copy, chosen, rooms()[room][1])
    minutes = (time.monotonic() - before) / 60
    print(f"{room}: {len(chosen) - len(alive)} of {len(chosen)} noticed, {minutes:.1f} minutes\n", flush=True)
    return len(alive) <= (1 - ENOUGH) * len(chosen)


def main(arguments: list[str]) -> int:
    """Draw and try; return 0 if enough changes are noticed in every room."""
    parser = argparse.ArgumentParser(description="change the code, and see whether a test notices")
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"default: all, of {', '.join(rooms())}")
    parser.add_argument("--count", type=int, default=40, help="changes in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--resume", type=Path, help="what an earlier run printed, and need not be tried again"
    )
    asked = parser.parse_args(arguments)
    os.environ["OMP_NUM_THREADS"] = "1"
    groups = {"python": [room for room in rooms() if room not in SCRIPTS], "scripts": list(SCRIPTS)}
    chosen = [room for name in asked.rooms or groups for room in groups.get(name, [name])]
    known = asked.resume.read_text(encoding="utf-8").splitlines() if asked.resume else []
    decided = {line.partition(" ")[2].strip() for line in known}
    draws = {
        room: [mutant for mutant in draw if mutant.told() not in decided]
        for room, draw in draws_of(chosen, asked.count, asked.seed).items()
    }
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    with tempfile.TemporaryDirectory() as folder:
        for path in filter(None, listed.stdout.split("\0")):
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, Path(folder) / path)
        (Path(folder) / "_build/html").mkdir(parents=True)  # the tests of pages ask for it
        enough = [run(Path(folder), room, draw) for room, draw in draws.items() if draw]
    return int(not all(enough))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
