"""The measurements of rotating that come with the library, and how they are read."""

import json

import pytest

from rope_edu.results import load_rotation
from rope_edu.results.rotation import FORMAT, SECTIONS

MEASURED = load_rotation()


def test_every_size_was_measured_with_every_way_in_one_run():
    by_case = {}
    for row in MEASURED.rows("speed"):
        by_case.setdefault((row["length"], row["dtype"], row["allocator"]), set()).add(row["name"])
    assert len(by_case) == 16
    assert all(names == by_case[512, "float32", "as it is"] for names in by_case.values())
    for name in ("copy_", "clone()", "transformers", "ours, half_split, compiled, out="):
        assert name in by_case[131_072, "bfloat16", "keeps its memory"]


def test_ratios_are_those_of_the_times():
    for row in MEASURED.rows("speed"):
        case = {key: row[key] for key in ("length", "dtype", "allocator")}
        unit = MEASURED.value("speed", "milliseconds", name="copy_", **case)
        assert row["ratio"] == pytest.approx(row["milliseconds"] / unit, rel=0.01)


def test_libraries_and_versions_are_named():
    assert not MEASURED.left_out
    assert {"torch", "transformers", "x-transformers", "torchtune"} <= set(MEASURED.machine["versions"])


def test_rows_and_values_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match=r"section must be one of decode, speed, .*, got 'sped'"):
        MEASURED.rows("sped")
    with pytest.raises(ValueError, match=r"no row of 'speed' has \{'name': 'theirs'\}"):
        MEASURED.rows("speed", name="theirs")
    with pytest.raises(ValueError, match="16 rows of 'speed' have"):
        MEASURED.value("speed", "ratio", name="copy_")


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "r.json"
    path.write_text("[]")
    with pytest.raises(ValueError, match="is not a file of 'rope_edu rotation 1'"):
        load_rotation(path)
    content = {"format": FORMAT, "machine": {}, "head_dim": 128, "left_out": []}
    path.write_text(json.dumps(content | {name: [] for name in SECTIONS if name != "numpy"}))
    with pytest.raises(ValueError, match="lacks numpy"):
        load_rotation(path)
