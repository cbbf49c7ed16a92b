"""Every page says what it is, once: its title and its description."""

import html
import re

import address
import pytest

from .conftest import ROOT, SITE

PAGES = sorted(path for folder in ("book", "notebooks") for path in (SITE / folder).glob("*.html"))


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


def test_without_an_address_no_page_has_tags_for_networks():
    if not address.read(ROOT).site:
        assert "og:" not in "".join(heads().values())


def test_no_two_pages_have_one_title_or_one_description():
    for pattern in (r"<title>([^<]*)", r'<meta name="description" content="([^"]*)'):
        found = [re.search(pattern, head)[1] for head in heads().values()]
        assert len(found) == len(set(found)) > 30
