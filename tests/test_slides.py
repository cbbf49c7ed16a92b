"""The slides name figures, controls and files that exist, and lead nowhere else."""

import re
from html.parser import HTMLParser
from json import loads
from pathlib import Path

import dist
import pytest

from rope_book.widgets import LiveFigure

FOLDER = dist.ROOT / "book" / "slides"
PAGE = (FOLDER / "slides.html").read_text(encoding="utf-8")


class Figures(HTMLParser):
    """Collect the attributes of every figure, and count the slides."""

    def __init__(self) -> None:
        super().__init__()
        self.figures: list[dict[str, str]] = []
        self.slides = 0

    def handle_starttag(self, tag, attrs):
        self.slides += tag == "section"
        if tag == "rope-figure":
            self.figures.append(dict(attrs))


READ = Figures()
READ.feed(PAGE)


def settings(attributes: dict[str, str]) -> dict[str, str]:
    """Return what a figure is set to at first and with the answer, but for its name and its parts."""
    later = loads(attributes.get("data-show", "{}"))
    return {
        key: value for key, value in (attributes | later).items() if key not in ("name", "only", "data-show")
    }


def value(text: str) -> object:
    """Return an attribute as Python: a truth, a number, numbers or a word."""
    if text in ("true", "false"):
        return text == "true"
    numbers = [float(part) for part in text.split(",")] if re.fullmatch(r"[-\d.,]+", text) else [text]
    return numbers if len(numbers) > 1 else int(numbers[0]) if text.isdigit() else numbers[0]


def test_there_are_eighteen_slides_and_twelve_have_a_figure():
    assert (READ.slides, len(READ.figures)) == (18, 12)


@pytest.mark.parametrize("attributes", READ.figures, ids=lambda attributes: attributes["name"])
def test_a_figure_takes_what_its_element_says(attributes):
    figure = LiveFigure.figures[attributes["name"]]
    only = {"only": tuple(attributes["only"].split(","))} if "only" in attributes else {}
    made = figure(**{key: value(text) for key, text in settings(attributes).items()}, **only)
    assert made.only is None or list(made.only) == list(only["only"])


def test_every_figure_has_its_script_and_no_script_is_left_over():
    wanted = {LiveFigure.figures[figure["name"]].module_name() for figure in READ.figures}
    assert set(re.findall(r'src="\.\./embed/(\w+)\.js"', PAGE)) == wanted


def test_it_asks_for_nothing_but_its_own_files():
    assert "default-src 'none'" in PAGE
    named = [name for name in re.findall(r'(?:src|href)="([^"]*)"', PAGE) if not name.startswith("../embed/")]
    assert named == ["slides.css", "slides.js"]
    assert all((FOLDER / name).is_file() for name in named)


def test_its_code_is_that_of_the_ten_minute_page_and_runs():
    code = re.search(r"<pre><code>(.*?)</code></pre>", PAGE, re.DOTALL)[1]
    notebook = Path(dist.ROOT, "notebooks", "00_rope_in_ten_minutes.ipynb").read_text(encoding="utf-8")
    cells = ["".join(cell["source"]) for cell in loads(notebook)["cells"]]
    assert code.strip() in cells
    names: dict = {}
    exec(code, names)
    assert names["np"].allclose(names["here"], names["later"])
