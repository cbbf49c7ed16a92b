"""The Markdown of the built pages leaves nothing out."""

import re

import as_markdown
import outline
import pytest
from bs4 import BeautifulSoup

from .conftest import ROOT, SITE

PAGES = [name for _, part in outline.pages(ROOT) for name in part if not (ROOT / f"{name}.ipynb").exists()]
WORD = re.compile(r"[^\W_]{2,}")


@pytest.fixture(scope="module", params=PAGES, ids="{}.html".format)
def name(request) -> str:
    """Each page that is not a notebook."""
    return request.param


@pytest.fixture(scope="module")
def markdown(name) -> str:
    """Return the page as Markdown."""
    return as_markdown.markdown(ROOT, SITE.parent, name)


def test_every_word_of_a_page_is_in_its_markdown(name, markdown):
    page = (SITE / f"{name}.html").read_text(encoding="utf-8")
    article = BeautifulSoup(page[page.index("<article") : page.rindex("</article>")], "html.parser").article
    for unwanted in article.select(", ".join([*as_markdown.DROPPED, "span.math", "div.math"])):
        unwanted.decompose()
    assert re.match(r"# \S", markdown)
    words = WORD.findall(article.get_text(" "))
    assert len(words) > 20
    missing = set(words) - set(WORD.findall(markdown)) - set(WORD.findall(article.get_text("")))
    assert not missing


def test_a_link_within_the_markdown_leads_to_a_file(name, markdown):
    known = {f"{page}.md" for _, part in outline.pages(ROOT) for page in part}
    for target in re.findall(r"\]\(([^)#]+\.md)(?:#[^)]*)?\)", markdown):
        where = (SITE / name).parent / target
        if "://" not in target:
            assert where.resolve().relative_to(SITE.resolve()).as_posix() in known, target
