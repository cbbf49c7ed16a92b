"""The slides are the chapters' own words and figures, in one file that asks for nothing."""

import json
import re

import dist
import pytest
import slides
import yaml

PLAN = yaml.safe_load(slides.DATA.read_text(encoding="utf-8"))["slides"]


@pytest.fixture(scope="module")
def deck() -> str:
    """Make the deck once."""
    return slides.deck()


def test_every_slide_is_there_with_its_figure_and_no_link_leads_out(deck):
    main = deck.partition("<main>")[2].partition("</main>")[0]
    assert main.count("<section") == len(PLAN)
    living = [entry for entry in PLAN if "figure" in entry or "question" in entry]
    assert main.count("<rope-figure") == len(living) == main.count("data:image/svg+xml")
    defined = set(re.findall(r'RopeFigures\.define\("(\w+)"', deck))
    assert set(re.findall(r'<rope-figure name="(\w+)"', main)) == defined
    assert not re.search(r"<a |\]\(|ipynb|\$", main)
    assert not re.search(r"""(?:src|href)=["'](?!data:)""", main)
    assert "<math" in main


def test_the_deck_asks_for_nothing_and_is_light(deck, tmp_path):
    assert "default-src 'none'" in deck
    assert not re.search(r"\b(import|fetch|XMLHttpRequest)\b *\(", deck)
    assert slides.write(tmp_path / "slides.html") <= slides.HEAVIEST


def test_words_of_a_slide_are_those_of_its_cell(deck):
    plain = " ".join(re.sub(r"<[^>]*>", "", deck.partition("<main>")[2].partition("</main>")[0]).split())
    assert "The comparison never asks where a word is, so when you shuffle the words, nothing moves." in plain
    assert (
        "&quot;The dog chases the pig&quot; and &quot;the pig chases the dog&quot; are the same to it."
        in plain
    )
    assert "return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)" in plain
    assert "Time:" not in plain


def test_a_figure_has_the_attributes_of_the_call_in_its_cell():
    figure = slides.made("00:c00-6e0572")
    wanted = {"position": "8", "key_position": "2", "lock": "true", "only": "position,arrows,key,rail"}
    assert (figure.name, dict(figure.attributes)) == ("RotatePair", wanted)


def test_a_cell_that_is_gone_is_named():
    with pytest.raises(ValueError, match="chapter 00 has no cell c00-nothing"):
        slides.cell("00:c00-nothing")


def test_every_answer_ends_the_section_of_its_slide():
    for entry in PLAN:
        if "answer" in entry:
            ids = list(slides.cells(entry["cell"].partition(":")[0]))
            places = [ids.index(entry[key].partition(":")[2]) for key in ("cell", "figure", "answer")]
            assert places == [places[0] + step for step in range(3)]


def test_it_is_handed_on():
    code = (dist.ROOT / "book" / "tools" / "dist.py").read_text(encoding="utf-8")
    assert "slides.write(" in code
    assert json.loads(json.dumps(PLAN))[0]["title"] in slides.slide(PLAN[0])[0]
