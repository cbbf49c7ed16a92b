"""The Markdown of the built pages leaves nothing out."""

import re

import dist
import pytest
from bs4 import BeautifulSoup

from .conftest import ROOT, SITE

PAGES = [name for _, part in dist.pages(ROOT) for name in part if not (ROOT / f"{name}.ipynb").exists()]
WORD = re.compile(r"[^\W_]{2,}")


@pytest.mark.parametrize("name", PAGES)
def test_every_word_of_a_page_is_in_its_markdown(name):
    article = BeautifulSoup((SITE / f"{name}.html").read_text(encoding="utf-8"), "html.parser").select_one(
        "article.bd-article"
    )
    for unwanted in article.select(", ".join([*dist.DROPPED, "span.math", "div.math"])):
        unwanted.decompose()
    text = dist.markdown(ROOT, SITE.parent, name)
    assert re.match(r"# \S", text)
    words = WORD.findall(article.get_text(" "))
    assert len(words) > 20
    missing = set(words) - set(WORD.findall(text)) - set(WORD.findall(article.get_text("")))
    assert not missing


@pytest.mark.parametrize("name", PAGES)
def test_a_link_within_the_markdown_leads_to_a_file(name):
    known = {f"{page}.md" for _, part in dist.pages(ROOT) for page in part}
    for target in re.findall(r"\]\(([^)#]+\.md)(?:#[^)]*)?\)", dist.markdown(ROOT, SITE.parent, name)):
        where = (SITE / name).parent / target
        if "://" not in target:
            assert where.resolve().relative_to(SITE.resolve()).as_posix() in known, target
