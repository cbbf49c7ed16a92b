"""A page's description is whole sentences without TeX, and nothing in it can break out of its attribute."""

import importlib.util
import sys
from pathlib import Path

import pytest
from docutils import nodes

PATH = Path(__file__).resolve().parents[1] / "book" / "extensions" / "description.py"
sys.path.append(str(PATH.parent))  # it imports its neighbours
SPEC = importlib.util.spec_from_file_location("description", PATH)
extension = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(extension)


@pytest.mark.parametrize(
    ("tex", "seen"),
    [
        (r"\theta_i = b^{-2i/d}", "θ_i = b^(−2i/d)"),
        (r"3 \cdot 2^{-p}\, m\theta", "3 · 2^(−p) mθ"),
        (r"\cos m\theta", "cos mθ"),
        (r"W_k^\top x_{ij}", "W_kᵀ x_ij"),
        (r"\varphi + (m - n)\theta", "φ + (m − n)θ"),
        (r"\sum_i |h_i| \cos(r\theta_i)", "Σ_i |h_i| cos (rθ_i)"),
    ],
)
def test_a_formula_is_written_in_letters(tex, seen):
    assert extension.letters(tex) == seen


def page(*blocks: nodes.Node) -> nodes.Element:
    """Return a page of these blocks."""
    return nodes.section("", *blocks)


def paragraph(*parts: nodes.Node | str) -> nodes.paragraph:
    """Return a paragraph of text and formulas."""
    return nodes.paragraph("", "", *(nodes.Text(part) if isinstance(part, str) else part for part in parts))


def test_the_description_is_what_a_chapter_is_in_short():
    first = paragraph("This long enough sentence is no description of the chapter.")
    short = paragraph(
        "In short. A pair turns by ", nodes.math("", r"m\theta"), ". Only the distance is left."
    )
    said = extension.description(page(first, nodes.block_quote("", short)))
    assert said == "A pair turns by mθ. Only the distance is left."


def test_a_page_without_it_is_described_by_its_first_sentence():
    said = extension.description(
        page(paragraph("By whom"), paragraph("One word means one thing throughout the book."))
    )
    assert said == "One word means one thing throughout the book."


def test_sentences_are_kept_whole_while_they_fit_and_a_long_one_is_cut_between_words():
    assert extension.shortened("One. Two is longer. Three.", 20) == "One. Two is longer."
    assert extension.shortened("One sentence that is too long.", 16) == "One sentence…"


def test_marks_of_html_stay_in_their_attribute():
    assert extension.meta('"><script>') == '<meta name="description" content="&quot;&gt;&lt;script&gt;" />\n'
