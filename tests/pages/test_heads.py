"""Every page says what it is, once: its title and its description."""

import html
import io
import re

import cards
import contact_sheet
import pytest
from PIL import Image

from .conftest import SITE

PAGES = sorted(
    path
    for folder in ("book", "notebooks")
    for path in (SITE / folder).glob("*.html")
    if "data-moved" not in path.read_text("utf-8")
)


def heads() -> dict[str, str]:
    """Return {page: what is above its body}."""
    return {path.stem: path.read_text(encoding="utf-8").partition("</head>")[0] for path in PAGES}


@pytest.mark.parametrize("page", [path.stem for path in PAGES])
def test_a_page_has_one_title_and_one_description_without_tex(page):
    head = heads()[page]
    (title,) = re.findall(r"<title>([^<]*)</title>", head)
    names = html.unescape(title).split(" — ")
    assert len(names) == len(set(names))
    (said,) = re.findall(r'<meta name="description" content="([^"]*)"', head)
    assert 40 <= len(html.unescape(said)) <= 300
    assert not re.search(r"[\\\\$]|theta|cdot", said)
    assert head.count('property="og:title"') == head.count('property="og:description"') == 1


def test_without_an_address_no_page_names_a_card():
    assert "og:image" not in "".join(heads().values())


@pytest.mark.browser
def test_a_card_is_a_picture_of_the_size_that_networks_show(browser):
    ((card, png),) = cards.draw(browser, cards.of_notebooks(["00"]))
    assert card.line == "Rope in ten minutes"
    assert Image.open(io.BytesIO(png)).size == (1200, 630)
    assert len(Image.open(io.BytesIO(png)).convert("L").getcolors(256)) > 20, "an empty card"


@pytest.mark.browser
def test_a_contact_sheet_shows_what_it_is_asked_for(browser, tmp_path):
    names = ["RotatePair", "WordsOnARail"]
    contact_sheet.draw_look(browser, "phone", names, tmp_path)
    tall = [Image.open(tmp_path / "phone" / f"{name}.png").size for name in names]
    assert [width for width, _ in tall] == [358, 358]
    assert min(height for _, height in tall) > 400, "picture, words and controls"
    sheet = Image.open(tmp_path / "phone.png")
    assert sheet.width == contact_sheet.SHEET
    assert len(sheet.convert("L").getcolors(256)) > 20


def test_no_two_pages_have_one_title_or_one_description():
    for pattern in (r"<title>([^<]*)", r'<meta name="description" content="([^"]*)'):
        found = [re.search(pattern, head)[1] for head in heads().values()]
        assert len(found) == len(set(found)) > 30
