"""The committed benchmark of rotations covers every case, and its queries refuse unknown ones."""

import pytest

from rope_book.results import load_rotation

MEASURED = load_rotation()


def test_every_method_was_measured_at_every_size_in_one_run():
    by_case = {}
    for row in MEASURED.rows("speed"):
        by_case.setdefault((row["length"], row["dtype"], row["allocator"]), set()).add(row["name"])
    lengths = {length for length, _, _ in by_case}
    assert {512, 4096} <= lengths
    assert len(by_case) == 4 * len(lengths)  # two dtypes, two allocators
    all_names = by_case[512, "float32", "as it is"]
    assert {"copy_", "clone()", "transformers", "transformers, compiled", "onnxruntime"} <= all_names
    for (_, dtype, _), names in by_case.items():
        assert names == all_names - ({"onnxruntime"} if dtype == "bfloat16" else set())  # unsupported there


def test_the_front_door_was_measured_at_one_token_and_many_in_every_dtype():
    cases = {(row["length"], row["dtype"]) for row in MEASURED.rows("door")}
    assert cases == {(n, dtype) for n in (1, 512, 4096) for dtype in ("float32", "bfloat16", "float16")}


def test_ratios_are_those_of_the_times():
    for row in MEASURED.rows("speed"):
        case = {key: row[key] for key in ("length", "dtype", "allocator")}
        unit = MEASURED.value("speed", "milliseconds", name="copy_", **case)
        assert row["ratio"] == pytest.approx(row["milliseconds"] / unit, rel=0.5)  # the median of ratios


def test_libraries_and_versions_are_named():
    assert not MEASURED.left_out
    assert {"torch", "numba", "transformers", "x-transformers", "torchtune", "onnxruntime"} <= set(
        MEASURED.machine["versions"]
    )


def test_unknown_rows_and_values_are_refused():
    with pytest.raises(ValueError, match=r"section must be one of decode, door, speed, .*, got 'sped'"):
        MEASURED.rows("sped")
    with pytest.raises(ValueError, match=r"no row of 'speed' has \{'name': 'theirs'\}"):
        MEASURED.rows("speed", name="theirs")
    with pytest.raises(ValueError, match=r"\d+ rows of 'speed' have"):
        MEASURED.value("speed", "ratio", name="copy_")
