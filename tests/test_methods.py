"""The map of the field has every method of the library and every chapter, and each entry has a source."""

import inspect
import re
from pathlib import Path

import pytest
import yaml

import rope_edu.attention
import rope_edu.encodings

ROOT = Path(__file__).resolve().parents[1]
METHODS = yaml.safe_load((ROOT / "book" / "data" / "methods.yml").read_text(encoding="utf-8"))
CHAPTERS = {int(path.name[:2]) for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")} - {0}  # a page
ROOMS = ("absolute", "relative", "partial", "xpos", "spatial", "scaling")
LATER = ("latent", "linear", "rerope")
HELPERS = {  # parts of a method that another name stands for
    *("shift_matrix", "relative_positions", "shaw_index", "t5_bucket", "alibi_slopes"),
    *("elu_plus_one", "grid_coordinates", "pair_generators", "spatial_angles"),
}
KEYS = {"name", "year", "kind", "idea", "formula", "ships", "chapters", "source", "library", "checked"}


def public(package, rooms: tuple[str, ...]) -> set[str]:
    """Return the functions and classes of a package that are public and come from these rooms."""
    found = ((name, getattr(package, name)) for name in package.__all__)
    pattern = re.compile(rf"{package.__name__}\.({'|'.join(rooms)})\b")
    return {name for name, it in found if pattern.match(getattr(inspect.unwrap(it), "__module__", "") or "")}


def test_every_method_of_the_library_appears():
    named = {name for entry in METHODS for name in entry.get("library", [])}
    methods = public(rope_edu.encodings, ROOMS) | public(rope_edu.attention, LATER)
    assert len(methods) > 25
    assert methods - HELPERS <= named, methods - HELPERS - named
    for name in named:
        assert any(
            hasattr(room, name) for room in (rope_edu.encodings, rope_edu.attention, rope_edu.plain)
        ), name


def test_every_chapter_appears():
    named = {number for entry in METHODS for number in entry["chapters"]}
    appendices = {name for name in named if isinstance(name, str)}
    assert named >= CHAPTERS, CHAPTERS - named
    assert max(named - appendices) <= 24
    assert all(next((ROOT / "notebooks").glob(f"{name}_*.ipynb"), None) for name in appendices)


@pytest.mark.parametrize("entry", METHODS, ids=lambda entry: entry["name"])
def test_an_entry_says_what_it_is_and_where_that_stands(entry):
    assert set(entry) <= KEYS
    assert KEYS - {"formula", "library"} <= set(entry)
    assert entry["source"].startswith("https://")
    assert entry["checked"] in ("paper", "abstract", "code")
    assert 2017 <= entry["year"] <= 2026
    assert len(entry["idea"].split()) >= 5
    arxiv = re.fullmatch(r"https://arxiv\.org/abs/(\d\d)\d\d\.\d{4,5}", entry["source"])
    assert arxiv or "arxiv" not in entry["source"]
    assert entry["year"] >= 2000 + int(arxiv[1]) if arxiv else True


def test_no_method_stands_twice():
    names = [entry["name"] for entry in METHODS]
    assert len(set(names)) == len(names) >= 50
