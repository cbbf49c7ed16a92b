"""Write the tables of book/found.md: `python book/tools/found.py`.

The findings are in book/data/found.toml, and the lines that they name are looked up in the installed libraries; the
runs are counted in book/data/round_trips.json and in the lists of the tests.
"""

import ast
import importlib.metadata
import importlib.util
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "book" / "found.md"
MARK = "<!-- {} -->"


def findings() -> list[dict[str, Any]]:
    """Return the findings with their line numbers."""
    entries = tomllib.loads((ROOT / "book" / "data" / "found.toml").read_text(encoding="utf-8"))["finding"]
    return [finding | {"line": line_of(finding)} for finding in entries]


def source(finding: dict[str, Any]) -> Path:
    """Return the file of the installed library that a finding names."""
    spec = importlib.util.find_spec(finding.get("library", "transformers"))
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / finding["file"]


def line_of(finding: dict[str, Any]) -> int:
    """Return the number of the first line with the finding's code."""
    lines = source(finding).read_text(encoding="utf-8").splitlines()
    places = [number for number, line in enumerate(lines, 1) if finding["code"] in line]
    if not places:
        raise ValueError(
            f"{finding['file']} has no line with {finding['code']!r}: look at the library's new version"
        )
    return places[0]


def listed(file: str, name: str) -> list[str]:
    """Return a list of strings that a test file assigns."""
    tree = ast.parse((ROOT / "tests" / "doctor" / "probes" / file).read_text(encoding="utf-8"))
    for node in tree.body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == name
        ):
            return list(ast.literal_eval(node.value))
    raise ValueError(f"{file} assigns no {name}")


def runs() -> Iterator[tuple[str, str, str]]:
    """Yield (question, number of cases, outcome)."""
    alone = listed("test_models_in_field.py", "ARCHITECTURES")
    wholes, pictured = listed("test_wholes.py", "WHOLES"), listed("test_wholes.py", "PICTURED")
    trips = json.loads((ROOT / "book" / "data" / "round_trips.json").read_text(encoding="utf-8"))
    configs = sum(map(len, trips["tried"].values()))
    lost = {way: set() for way in ("dict", "saved", "saved twice", "as version 4 wrote it")}
    for name, labels in trips["not the same"].items():
        for ways in labels.values():
            for way, outcome in ways.items():
                if outcome == "differs" and way in lost:
                    lost[way].add(name)
    changed = set().union(*(lost[way] for way in ("dict", "saved", "saved twice")))
    old = sorted(lost["as version 4 wrote it"])
    yield (
        "`model`",
        f"{len(alone)} architectures, in float32 and bfloat16",
        "all right but GPT-J and CodeGen in bfloat16",
    )
    yield (
        "`decode`",
        f"the same {len(alone)}",
        "all right but Bamba, Moshi, RecurrentGemma and Zamba 2",
    )
    yield (
        "`model` and `decode`",
        f"{len(wholes)} whole models of several parts, and {len(pictured)} of them behind a picture",
        "all right, one text at a time",
    )
    yield (
        "saved and loaded, once and twice",
        f"{len(trips['tried'])} architectures, {configs} configs",
        f"{'all rotate as before' if not changed else ', '.join(sorted(changed))}",
    )
    yield (
        "a file as version 4 wrote it",
        "those whose layers share one rule",
        f"{len(old)} do not rotate as it states; they are in the next table",
    )


def tables() -> dict[str, str]:
    """Return the page's tables by marker."""
    ran = ["| asked | of | outcome |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in runs())]
    rows = ["| finding | where | our verdict |", "|---|---|---|"]
    for entry in findings():
        where = f"`{entry['file']}:{entry['line']}`" + (f", {entry['where']}" if entry["where"] else "")
        rows.append(f"| {entry['says']} | {where}. Seen by {entry['by']} | {entry['verdict']} |")
    return {"runs": "\n".join(ran), "findings": "\n".join(rows)}


def versions() -> dict[str, str]:
    """Return the versions of the libraries that the page names."""
    return {
        name: importlib.metadata.version(name)
        for name in ("transformers", "x-transformers", "rotary-embedding-torch")
    }


def page() -> str:
    """Return the page with its tables regenerated."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in tables().items():
        mark = MARK.format(name)
        before, _, rest = text.partition(mark)
        _, closing, after = rest.partition(mark)
        if not closing:
            raise ValueError(f"found.md has no two marks {mark}")
        text = f"{before}{mark}\n\n{table}\n\n{mark}{after}"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
