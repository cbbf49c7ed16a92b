r"""Read an installed transformers package and list every architecture that rotates.

    python -m rope_edu.config.census                 # writes census.json beside this file
    python -m rope_edu.config.census --show llama    # one architecture, where each fact was read

Nothing is imported or run: each `modeling_*.py` is parsed, its functions are read as text and its calls counted.
What is read so can be missed; `found_at` gives file and line, so that a reader can look.
"""

from __future__ import annotations

import argparse
import ast
import importlib.metadata
import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path

CENSUS = Path(__file__).with_name("census.json")
BY_HAND = Path(__file__).with_name("census_by_hand.json")
FORMAT = "rope_edu census 1"
ROTATES = re.compile(r"rotat|rotary|_rope", re.IGNORECASE)
VISION = re.compile(r"vision|_2d|multidimensional|image|patch", re.IGNORECASE)
PAIRS = re.compile(r"\b(?:0)?::2\]|-1, 2\)|-1, 1, 2\)|view_as_complex")  # neighbours form a pair
HALVES = re.compile(r"shape\[-1\] // 2|chunk\(|head_size // 2")  # a feature and the one half a head further
BACKWARDS = re.compile(r"\(\s*\w+, -\w+\s*\)")  # (x2, −x1): the other sense
MASKED_BY = re.compile(r"None|position_embeddings|is_cross|past_key|cache|training|isinstance")


def package() -> Path:
    """Return the folder of the installed transformers, or raise ValueError."""
    found = importlib.util.find_spec("transformers")
    if found is None:
        raise ValueError("the census reads the package transformers, which is not installed here")
    return Path(found.origin).parent


def census(root: Path | None = None) -> list[dict]:
    r"""List the architectures of transformers that rotate, in alphabetical order.

    Args:
        root: folder of the package; the installed one if None.

    Returns:
        One dict an architecture: name, layout, sense, form, width, sections, without_position, rules, found_at.

    Raises:
        ValueError: transformers is not installed.

    Chapter 21.
    """
    root = package() if root is None else Path(root)
    folders = sorted(path for path in (root / "models").iterdir() if path.is_dir())
    entries = (describe(folder, root) for folder in folders)
    return [entry for entry in entries if entry is not None]


def describe(folder: Path, root: Path) -> dict | None:
    """Return what one architecture's files say of its rotation, or None if it does not rotate."""
    file = folder / f"modeling_{folder.name}.py"
    if not file.exists():
        return None
    source = file.read_text(encoding="utf-8")
    tree = ast.parse(source)
    turning = {name: found for name, found in _rotations(tree).items() if found["layout"]}
    if not turning:
        return None
    configuration = folder / f"configuration_{folder.name}.py"
    settings = configuration.read_text(encoding="utf-8") if configuration.exists() else ""
    text = {name: found for name, found in turning.items() if not VISION.search(name)} or turning
    first = min(text.values(), key=lambda found: found["line"])
    return {
        "name": folder.name,
        "layout": " and ".join(sorted({found["layout"] for found in text.values()})),
        "sense": first["sense"],
        "width": _width(source, settings),
        "sections": _sections(source),
        "without_position": _conditional(tree),
        "rules": _own_rules(tree),
        "vision": sorted({found["layout"] for name, found in turning.items() if VISION.search(name)}),
        "found_at": f"{file.relative_to(root)}:{first['line']}",
    }


def _rotations(tree: ast.Module) -> dict[str, dict]:
    """Return {function: layout, sense, line} of every function that turns features itself."""
    found = {}
    named = [node for node in _functions(tree) if ROTATES.search(node.name)]
    for node in named:
        body = ast.unparse(node)
        leaves_it_to = [other.name for other in named if other is not node and f"{other.name}(" in body]
        layout = None if leaves_it_to else _layout(node.name, body)
        if layout:
            sense = -1 if BACKWARDS.search(body) and not re.search(r"\(\s*-\w+, \w+\s*\)", body) else 1
            found[node.name] = {"layout": layout, "sense": sense, "line": node.lineno}
    return found


def _layout(name: str, body: str) -> str | None:
    """Return which features a function pairs, or None if it turns nothing itself."""
    turns = re.search(r"-\w+|view_as_complex|\* sin", body) and re.search(r"cat\(|stack\(|view_as_real", body)
    if not turns:
        return None
    if "interleave" in name and "torch.cat" in body:
        return "interleaved in, half_split out"
    if PAIRS.search(body):
        return "interleaved"
    return "half_split" if HALVES.search(body) else None


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _width(source: str, settings: str) -> str:
    """Return "whole head", "a part of the head", "proportional" or "features of its own" (MLA)."""
    if "qk_rope_head_dim" in settings:
        return "features of its own"
    if "proportional" in settings:
        return "proportional"
    if re.search(r"partial_rotary_factor|rotary_pct|rotary_ndims|rotary_dim\b", source + settings):
        return "a part of the head"
    return "whole head"


def _sections(source: str) -> str | None:
    """Return how the axes of a position share the pairs: "interleaved", "contiguous" or None."""
    if "mrope" not in source:
        return None
    return "interleaved" if re.search(r"interleaved_mrope|mrope_interleaved", source) else "contiguous"


def _conditional(tree: ast.Module) -> bool:
    """Tell whether attention rotates only under a condition, as layers without position do."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and not MASKED_BY.search(ast.unparse(node.test)):
            calls = [call for part in node.body for call in ast.walk(part) if isinstance(call, ast.Call)]
            if any(re.match(r"apply_rotary|apply_rope", ast.unparse(call.func)) for call in calls):
                return True
    return False


def _own_rules(tree: ast.Module) -> list[str]:
    """Return the rules for frequencies that an architecture brings itself."""
    names = (re.fullmatch(r"compute_(\w+)_rope_parameters", node.name) for node in _functions(tree))
    return sorted({match[1] for match in names if match})


def read_by_hand() -> dict:
    """Return what two draws of thirty architectures are by hand, and what the census had missed of each."""
    return json.loads(BY_HAND.read_text(encoding="utf-8"))


def agreement() -> tuple[int, int, list[tuple[str, str, object, object]]]:
    r"""Compare the committed census with the reading by hand.

    Returns:
        How many facts agree, how many were compared, and (name, property, census, by hand) where they differ. That
        an architecture rotates is one fact, each property of one that does another.

    >>> agreed, compared, misses = agreement()
    >>> agreed + len(misses) == compared
    True

    Chapter 21.
    """
    entries = {entry["name"]: entry for entry in committed()["architectures"]}
    pairs = []
    for reading in (reading for draw in read_by_hand()["draws"].values() for reading in draw):
        name = reading["name"]
        pairs.append((name, "rotates", name in entries, reading["rotates"]))
        if name in entries and reading["rotates"]:
            pairs += [(name, key, entries[name][key], reading[key]) for key in COMPARED]
    misses = [pair for pair in pairs if pair[2] != pair[3]]
    return len(pairs) - len(misses), len(pairs), misses


def main(arguments: list[str] | None = None) -> None:
    """Write the census, or show one entry."""
    parser = argparse.ArgumentParser("python -m rope_edu.config.census", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--show", metavar="NAME", help="print the entry of one architecture and write nothing"
    )
    chosen = parser.parse_args(arguments)
    entries = census()
    if chosen.show:
        print(json.dumps([entry for entry in entries if entry["name"] == chosen.show], indent=1))
        return
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    version = importlib.metadata.version("transformers")
    head = f'"format": "{FORMAT}",\n"transformers": "{version}"'
    CENSUS.write_text(f'{{{head},\n"architectures": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{len(entries)} architectures of transformers {version} rotate")


if __name__ == "__main__":
    main()
