"""Every page says what it is, once: its title and its description."""

import html
import re

import pytest

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


def test_no_two_pages_have_one_title_or_one_description():
    for pattern in (r"<title>([^<]*)", r'<meta name="description" content="([^"]*)'):
        found = [re.search(pattern, head)[1] for head in heads().values()]
        assert len(found) == len(set(found)) > 30
