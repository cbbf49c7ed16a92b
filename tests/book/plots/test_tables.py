"""A table has the same content as text and as HTML, and headings for every number."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from rope_book.plots import Table

COLUMNS = {"way": ["copy", "a & b <fast>"], "time (ms)": np.array([1.25, 12000.0]), "calls": [1000, None]}


def table() -> Table:
    return Table(COLUMNS, caption="Time & calls", formats={"time (ms)": ".1f"})


def parsed() -> ElementTree.Element:
    return ElementTree.fromstring(table()._repr_html_())


def test_text_has_aligned_columns_words_left_and_numbers_right():
    assert repr(table()).split("\n") == [
        "Time & calls",
        "way           time (ms)  calls",
        "copy                1.2  1,000",
        "a & b <fast>    12000.0      –",
    ]


def test_html_has_the_content_of_the_text():
    cells = [[cell.text for cell in row] for row in parsed().iter("tr")]
    lines = [re.split(r"\s{2,}", line) for line in repr(table()).split("\n")]
    assert [[parsed().find(".//caption").text], *cells] == lines


def test_every_number_has_a_column_heading_and_a_row_heading():
    root = parsed()
    assert [cell.get("scope") for cell in root.findall(".//thead//th")] == ["col"] * 3
    for row in root.findall(".//tbody/tr"):
        assert [(cell.tag, cell.get("scope")) for cell in row] == [("th", "row"), ("td", None), ("td", None)]


def test_words_are_left_aligned_and_numbers_right_aligned():
    for row in parsed().iter("tr"):
        assert [cell.get("style").rpartition(" ")[2] for cell in row] == ["left", "right", "right"]


def test_numbers_without_a_format_are_short():
    shown = Table({"n": [1234567], "x": [np.pi], "ok": [True]}, caption="c")
    assert shown.rows == [("1,234,567", "3.14", "True")]


@pytest.mark.parametrize(
    ("columns", "formats", "message"),
    [
        ({}, {}, r"columns must be non-empty .* got \{\}"),
        ({"a": [1], "b": [1, 2]}, {}, r"same number of values, got \{'a': 1, 'b': 2\}"),
        ({"a": [1]}, {"b": ".2f"}, r"formats must name columns \(a\), got \['b'\]"),
    ],
)
def test_errors_name_the_value_and_the_allowed_ones(columns, formats, message):
    with pytest.raises(ValueError, match=message):
        Table(columns, caption="c", formats=formats)
