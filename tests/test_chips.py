"""Links in the text to a state of a figure: each names a figure of its page and a state that the figure accepts."""

import json
import re
from pathlib import Path
from urllib.parse import parse_qsl

import nbformat
import pytest

from rope_book.widgets import LiveFigure

from .book.widgets.v8 import Scripts

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[▶ ([^\]]+)\]\(#(live=[^)\s]+)\)")
ANY = re.compile(r"\(#live=[^)]*\)")
MADE = re.compile(r"^(?:figure = )?(\w+)\(", re.MULTILINE)


def found() -> list[tuple[str, str, str, set[str]]]:
    """Return each link: its notebook, its words, its address, and the figures that stand above it."""
    links = []
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        above: set[str] = set()
        for cell in nbformat.read(path, 4).cells:
            if cell.cell_type == "code":
                above |= set(MADE.findall(cell.source)) & set(LiveFigure.figures)
                continue
            here = LINK.findall(cell.source)
            assert len(here) == len(ANY.findall(cell.source)), f"{path.name}: a link without ▶ in {cell.id}"
            links += [(path.stem, words, address, set(above)) for words, address in here]
    return links


LINKS = found()
IDS = [f"{stem}-{number}" for number, (stem, *_) in enumerate(LINKS)]


def test_at_least_ten_chapters_have_two_of_them():
    chapters = [stem for stem, *_ in LINKS]
    assert sum(chapters.count(stem) >= 2 for stem in set(chapters)) >= 10


@pytest.fixture(scope="module")
def page():
    """The scripts that read an address."""
    started = Scripts("lib/address", "lib/state")
    yield started
    started.engine.close()


@pytest.mark.parametrize(("stem", "words", "address", "above"), LINKS, ids=IDS)
def test_its_figure_is_above_and_takes_the_state_as_it_is(page, stem, words, address, above):
    (_, name), *texts = parse_qsl(address, strict_parsing=len(address) > 0)
    assert name in above, f"{stem}: no {name} above “{words}”"
    controls = LiveFigure.figures[name].controls()
    assert set(dict(texts)) <= set(controls)
    described = json.dumps(
        {each["name"]: each for each in LiveFigure.figures[name]().get_state()["_controls"]}
    )
    state = page.evaluate(f"stateOf({described}, {json.dumps(dict(texts))})")
    for trait, text in texts:
        assert page.evaluate(f"String({json.dumps(state[trait])})") == text, f"{stem}: {name}.{trait}"
    values = {trait: as_python(controls[trait], state[trait]) for trait in controls if trait in dict(texts)}
    made = LiveFigure.figures[name](**values)
    assert {trait: getattr(made, trait) for trait in values} == values


def as_python(control, value):
    """Return a value of the page as Python's: whole numbers are ints."""
    if control.kind == "slider" and control.whole:
        return int(value)
    return control.clean(int(value) if isinstance(value, float) and value == int(value) else value)
