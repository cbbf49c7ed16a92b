"""The back matter's tables, and the numbers that its pages mention in sentences."""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from sys import path

import yaml

path.append(str(Path(__file__).resolve().parents[1]))  # book/, which contains the package makers
from makers import census
from rope_doctor.vectors import FILES, load

ROOT = Path(__file__).resolve().parents[2]
METHODS = ROOT / "book" / "data" / "methods.yml"
NOTEBOOKS = ROOT / "notebooks"
RELEASED = ROOT / "tests" / "doctor" / "config" / "released.json"


@dataclass(frozen=True)
class Column:
    """A column: its heading, whether it has a filter, whether its cells are Markdown, its width in rem."""

    heading: str
    filter: bool = False
    markdown: bool = False
    width: float = 0


@dataclass(frozen=True)
class Contents:
    """A table: caption, noun for its rows, columns, rows. A cell is its text, or text and key, which filters list
    and searches also find."""

    caption: str
    noun: str
    columns: tuple[Column, ...]
    rows: list[list[str | tuple[str, str]]]


def architectures() -> Contents:
    """Return the census."""
    columns = (
        Column("Architecture", width=8),
        Column("Layout", filter=True, width=8),
        Column("Width", filter=True),
        Column("Axes of a position", filter=True),
        Column("Without position", filter=True),
        Column("Rules"),
        Column("Other parts"),
        Column("Where"),
    )
    rows = [_architecture(entry) for entry in census.committed()["architectures"]]
    return Contents("Every architecture that rotates", "architectures", columns, rows)


def _architecture(entry: dict) -> list[str | tuple[str, str]]:
    """Return one row of the census."""
    layout = entry["layout"] + (f"; {entry['or_by_config']} by config" if entry["or_by_config"] else "")
    shares = ", ".join(f"{share:g}" for share in entry["shares"])
    rules = ", ".join(entry["rules"]).replace(census.EVERY, "every rule") or "its own"
    named = ", ".join(census.EVERY_RULE if census.EVERY in entry["rules"] else ()) + ", " + rules
    others = "; ".join(f"{part}: {how}" for part, how in entry["other_parts"].items())
    return [
        entry["name"],
        (layout + ("" if entry["sense"] == 1 else ", turning backwards"), entry["layout"]),
        (entry["width"] + (f" ({shares})" if shares else ""), entry["width"]),
        entry["axes"] or "one",
        entry["without_position"] or "none",
        (rules + (", by layer" if entry["frequencies_by_layer"] else ""), named),
        others or "–",
        f"{Path(entry['file']).name}:{entry['lines']['layout']}",
    ]


def methods() -> Contents:
    """Return the map of the field."""
    columns = (
        Column("Method", width=8),
        Column("Year"),
        Column("Kind", filter=True),
        Column("Idea", width=17),
        Column("Formula", markdown=True, width=9),
        Column("Who ships it", width=12),
        Column("Where", markdown=True, width=7),
    )
    rows = [
        [
            entry["name"],
            str(entry["year"]),
            entry["kind"],
            entry["idea"],
            f"${entry['formula']}$" if "formula" in entry else "–",
            entry["ships"],
            _where(entry),
        ]
        for entry in read_methods()
    ]
    return Contents("Every method, in one line", "methods", columns, rows)


def read_methods() -> list[dict]:
    """Return the entries of the map."""
    return yaml.safe_load(METHODS.read_text(encoding="utf-8"))


def _where(entry: dict) -> str:
    """Return links to an entry's chapters and to its source."""
    source = entry["source"]
    name = f"arXiv {source.rpartition('/')[2]}" if "arxiv.org" in source else "source"
    links = [_chapter(number) for number in entry["chapters"]]
    chapters = ("chapter " if len(links) == 1 else "chapters ") + ", ".join(links) + "; " if links else ""
    return f"{chapters}[{name}]({source})"


def _chapter(number: int | str) -> str:
    """Return a link to a chapter, or its number if the book does not have it yet."""
    notebook = next(NOTEBOOKS.glob(f"{number:0>2}_*.ipynb"), None)
    return f"[{number}](../notebooks/{notebook.name})" if notebook else str(number)


def vectors() -> Contents:
    """Return the test vectors."""
    columns = (
        Column("Case", width=12),
        Column("File", filter=True),
        Column("Comes out", filter=True),
        Column("Source", width=12),
        Column("Catches", width=18),
    )
    rows = [_case(name, case) for name in FILES for case in load(name)]
    return Contents("Every test vector", "cases", columns, rows)


def _case(file: str, case: dict) -> list[str]:
    """Return one row of the test vectors."""
    caught = case.get("catches", "a rule computed otherwise")
    words = caught if isinstance(caught, str) else ", ".join(name.replace("_", " ") for name in caught)
    out = next(name for name in ("refused", "expected", "inv_freq", "on_cos_and_sin") if name in case)
    return [case["name"], f"{file}.json", out, case["source"], words or "–"]


TABLES: dict[str, Callable[[], Contents]] = {
    "census": architectures,
    "methods": methods,
    "vectors": vectors,
}


@cache
def numbers() -> dict[str, str]:
    """Return the numbers by name, as text for the pages."""
    file = census.committed()
    entries = file["architectures"]
    layouts = Counter(entry["layout"] for entry in entries)
    widths = Counter(entry["width"] for entry in entries)
    without = Counter(entry["without_position"] for entry in entries)
    rotating = len(entries)
    counts = {
        "transformers": file["transformers"],
        "rotating": rotating,
        "half": layouts["half_split"],
        "half_share": f"{100 * layouts['half_split'] / rotating:.0f} %",
        "interleaved": layouts["interleaved"],
        "changing": layouts["interleaved in, half_split out"],
        "whole": widths["whole head"],
        "part": widths["part of the head"] + widths["proportional"],
        "own": widths["features of its own"],
        "axes": sum(entry["axes"] is not None for entry in entries),
        "some": without["some layers"],
        "by_config": without["whole model, by config"],
        "by_layer": sum(entry["frequencies_by_layer"] for entry in entries),
        "every_rule": ", ".join(census.EVERY_RULE),
        "methods": len(read_methods()),
        "cases": sum(len(load(name)) for name in FILES),
        "claims": _claims(),
        "configs": len(json.loads(RELEASED.read_text(encoding="utf-8"))["files"]),
    }
    return {name: str(value) for name, value in (counts | _read_by_hand()).items()}


def _claims() -> int:
    """Return the number of claims in chapter 23, each a separate section."""
    text = (NOTEBOOKS / "23_test_the_claims.ipynb").read_text(encoding="utf-8")
    return len(set(re.findall(r'"### (\d+)\. ', text)))


def _read_by_hand() -> dict[str, object]:
    """Return the numbers from reading the census by hand."""
    readings = census.read_by_hand()
    result: dict[str, object] = {}
    for draw, entries in readings["draws"].items():
        result[f"{draw}_drawn"] = len(entries)
        result[f"{draw}_rotating"] = sum(entry["rotates"] for entry in entries)
        result[f"{draw}_missed"] = len(readings["missed"][draw])
    agreed, compared, _ = census.agreement()
    return result | {"agreed": agreed, "compared": compared}
