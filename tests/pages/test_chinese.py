"""The Chinese pages: a Chinese frame, the addresses of the English, links that stay in Chinese."""

import io
import json
import posixpath
import re
import tomllib
from functools import cache
from urllib.parse import unquote

import pytest
from babel.messages.pofile import read_po
from bs4 import BeautifulSoup
from playwright.sync_api import expect

from .conftest import PAGES, ROOT, SITE, english, settle
from .test_pages import UNFOLDED

FOLDER = "book/zh/"
OURS = [page for page in PAGES if page.startswith(FOLDER) and page != f"{FOLDER}search.html"]
FOURTH = f"{FOLDER}04_rotate_one_pair.html"
BY_PAGE = pytest.mark.parametrize("name", OURS)
SECTION = re.compile(r'<section [^>]*?id="([^"]+)"')
ID = re.compile(r'\sid="([^"]+)"')
WORDS = tomllib.loads((ROOT / "book" / "zh" / "page.toml").read_text(encoding="utf-8"))
MESSAGES = ROOT / "book" / "zh" / "locale" / "zh_CN" / "LC_MESSAGES"
CATALOGS = {file.stem: read_po(io.BytesIO(file.read_bytes())) for file in MESSAGES.glob("*.po")}
DRAWN = re.compile(r"<(mjx-container|svg|pre|script)\b.*?</\1>", re.DOTALL)
# names, and what is the same in both languages; minutes and paths are numbers
SAME = re.compile(
    r"(?<![A-Za-z])(?:The RoPE, Turn by Turn authors|RoPE, Turn by Turn|RoPE|English|Ctrl|PI|ABF|NTK-aware|YaRN"
    r"|Llama|LongRoPE|CC BY|MIT|JavaScript|Python|Jupyter|Colab|PDF|pdf|ipynb|md|bfloat|[A-Za-z])(?![A-Za-z])"
)


@cache
def text_of(page: str) -> str:
    """Return a page as it was written."""
    return (SITE / page).read_text(encoding="utf-8")


@cache
def links(page: str) -> list[dict[str, str]]:
    """Return the links of a page, by their attributes and their words."""
    soup = BeautifulSoup(DRAWN.sub("", text_of(page)), "html.parser")
    return [link.attrs | {"words": link.get_text()} for link in soup.select("a[href], head link[hreflang]")]


def target(page: str, href: str) -> tuple[str, str]:
    """Return the page and the id to which a link leads."""
    path, _, place = href.partition("#")
    path = path.partition("?")[0]
    return (posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page), unquote(
        place
    )


def test_the_pages_are_there():
    assert {page.removeprefix(FOLDER).removesuffix(".html") for page in OURS} == CATALOGS.keys()


@BY_PAGE
def test_the_english_on_a_page_is_what_its_messages_have_yet_to_say(name):
    catalog = CATALOGS[name.removeprefix(FOLDER).removesuffix(".html")]
    unfinished = [each for each in catalog if each.id and (each.fuzzy or not each.string)]
    english = re.search(r"本页还有 (\d+) 处尚未译成中文", text_of(name))
    assert (int(english[1]) if english else 0) == len(unfinished), "`make translate` has more messages"
    assert 10 * len(unfinished) <= len(catalog), "a tenth of the page is in English"


@BY_PAGE
def test_a_page_says_its_language_and_has_the_places_of_its_english(name):
    text, other = text_of(name), text_of(english(name))
    assert '<html lang="zh-CN"' in text
    assert '<html lang="en"' in other
    assert SECTION.findall(text) == SECTION.findall(other)
    numbers = [re.findall(r'<span class="section-number">([^<]*)</span>', each) for each in (text, other)]
    assert re.findall(r"<h1>(?:<span.*?</span>)?", text) != []
    assert [each for each in numbers[0] if not each.startswith(("4", "5", "15", "16"))] == []
    headings = [len(re.findall(r"<h[2-6]><span class=.section-number", each)) for each in (text, other)]
    assert headings[0] == headings[1] == 0


@BY_PAGE
def test_each_page_leads_to_the_other_language(name):
    for page, other, language in ((name, english(name), "en"), (english(name), name, "zh-CN")):
        (switch,) = [link for link in links(page) if "language-switch" in link.get("class", [])]
        assert (switch["hreflang"], switch["lang"]) == (language, language)
        assert target(page, switch["href"])[0] == other
        ways = {
            link["hreflang"]: link["href"] for link in links(page) if "hreflang" in link and not link["words"]
        }
        assert ways.keys() == {"en", "zh-CN"}
        assert target(page, ways[language])[0] == other


@BY_PAGE
def test_links_stay_in_chinese_and_lead_somewhere(name):
    found = 0
    for link in links(name):
        href = link["href"]
        if re.match(r"https?:|#live=|mailto:", href) or not href or "hreflang" in link:
            continue
        page, place = target(name, href)
        twin = FOLDER + posixpath.basename(page)
        whole_book = link["words"] == WORDS["built"]["The whole book"]
        assert (
            page.startswith((FOLDER, "_sources")) or whole_book or twin not in OURS or english(twin) != page
        ), href
        assert (SITE / page).is_file(), href
        if place and not place.startswith("live="):
            assert place in ID.findall(text_of(page)), href
        found += 1
    assert found > 10


@BY_PAGE
def test_a_page_says_in_chinese_what_it_is(name):
    head = text_of(name).partition("</head>")[0]
    (title,) = re.findall(r"<title>([^<]*)</title>", head)
    (said,) = re.findall(r'<meta name="description" content="([^"]*)"', head)
    assert re.search("[一-鿿]{2}", title)
    assert re.search("[一-鿿]{2}", said)
    assert 20 <= len(said) <= 300
    assert not re.search(r"[\\$]|theta|cdot", said)


def test_english_pages_lead_to_chinese_by_their_switch_and_one_line_of_the_sidebar():
    for page in ("book/index.html", "notebooks/07_turn_matrix_into_code.html", "book/bibliography.html"):
        ways = [link for link in links(page) if target(page, link["href"])[0].startswith(FOLDER)]
        kept = [link for link in ways if "hreflang" not in link]
        assert [link.get("lang") for link in kept] == ["zh-CN"]
        assert target(page, kept[0]["href"])[0] == f"{FOLDER}index.html"
    assert "page-words" not in text_of("book/index.html"), "an English page loads nothing new"


@BY_PAGE
def test_english_is_named_once_on_a_page_and_shown_by_the_line_of_its_links(name):
    article = re.search(r"<article.*?</article>", text_of(name), re.DOTALL)[0]
    kept = re.findall(r'<a class="reference internal" href="([^"#]+)', article)
    english = {way for way in kept if not target(name, way)[0].startswith(FOLDER)}
    marked = re.findall(
        r'<(?:span|strong) class="in-english"><a class="reference internal" href="([^"#]+)', article
    )
    assert english == set(marked)
    assert article.count(WORDS["built"][" (in English, as all links with a dashed line)"]) == bool(marked)


def test_chapters_without_a_chinese_page_are_one_line_of_the_sidebar():
    soup = BeautifulSoup(text_of(FOURTH), "html.parser")
    lines = [item.get_text().strip() for item in soup.select(".bd-sidebar-primary nav li")]
    leap = lines.index("第 6–14 章（英文）")
    assert lines[leap - 1].startswith("5. ")
    assert lines[leap + 1].startswith("15. ")
    way = soup.find("a", string="第 6–14 章（英文）")["href"]
    assert target(FOURTH, way)[0] == "notebooks/06_read_many_clocks.html"


def test_the_index_of_the_english_book_has_no_chinese():
    index = (SITE / "searchindex.js").read_text(encoding="utf-8")
    assert not re.search(r"[一-鿿]{2}", index)
    own = (SITE / "_static" / "search.zh-CN.js").read_text(encoding="utf-8")
    assert len(own) < 150_000
    pages = json.loads(own.removeprefix("Search.chinese(").removesuffix(");\n"))
    assert {f"{page}.html" for page in pages} == set(OURS)
    for page, parts in pages.items():
        found = [place for place, _, _ in parts if not place.startswith("term-")]
        assert found == SECTION.findall(text_of(f"{page}.html"))
    assert ["term-rope", "旋转位置编码（RoPE）"] in [part[:2] for part in pages[f"{FOLDER}glossary"]]


def test_a_chinese_notebook_can_be_taken_away():
    notebook = json.loads((SITE / "_sources" / FOURTH).with_suffix(".ipynb").read_text(encoding="utf-8"))
    first = notebook["cells"][0]["source"]
    assert first.startswith("# 旋转一个分量对\n\n")
    assert any("".join(cell["source"]).startswith("> **要点。**") for cell in notebook["cells"])
    assert not re.search(r"(?m)^[A-Z]", first), "a message or the words of a fold are in English"
    assert f'href="../../_sources/{FOURTH.removesuffix(".html")}.ipynb"' in text_of(FOURTH)


@BY_PAGE
def test_folds_of_detours_lists_and_answers_are_those_of_the_english(name):
    for kind in ("detour", "reading", "answers"):
        counts = [text_of(page).count(f'<details class="{kind}"') for page in (name, english(name))]
        assert counts[0] == counts[1], kind


# what a reader sees or hears around the text, and on the buttons in it; figures have words of their own
SAID = """() => {
    const drawn = "article .rope-live, article .live-slot, .math, #search-results li";
    const inside = `${drawn}, pre, code, script, style, noscript, [hidden]`;
    const buttons = "summary, button, .page-steps, .path-next, .progress-foot";
    const own = "article.bd-article > *, #jb-print-docs-body";
    const said = [];
    const both = NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT;
    const walk = document.createTreeWalker(document.documentElement, both);
    while (walk.nextNode()) {
        const node = walk.currentNode;
        const element = node.nodeType === 3 ? node.parentElement : node;
        if (element.closest(inside)) continue;
        const frame = !element.closest(own) || element.closest(buttons);
        if (node.nodeType === 3) {
            if (frame && !element.closest("title")) said.push(node.data);
        } else {
            for (const name of ["title", "aria-label", "placeholder", "data-bs-title", "data-bs-original-title"]) {
                if (!element.closest(".rope-plot")) said.push(element.getAttribute(name) ?? "");
            }
        }
    }
    for (const cell of document.querySelectorAll(".tag_parameters")) {
        said.push(getComputedStyle(cell, "::before").content);
    }
    return said.map((each) => each.trim()).filter((each) => /[A-Za-z]{2}/.test(each));
}"""


def unknown(said: list[str]) -> list[str]:
    """Return what of a page's words is neither Chinese nor a name."""
    marked = WORDS["built"][" (in English)"]
    return [each for each in said if re.search(r"[A-Za-z]", SAME.sub("", each)) and not each.endswith(marked)]


def test_words_that_are_left_in_english_are_found():
    assert unknown(["Contents", "作者：The RoPE, Turn by Turn authors", "打印为 PDF", "previous"]) == [
        "Contents",
        "previous",
    ]


@pytest.mark.browser
@pytest.mark.parametrize("name", [f"{FOLDER}index.html", FOURTH])
def test_nothing_around_the_text_is_english(visit, name):
    seen = visit(f"{name}?path=hour", fresh=True, permissions=["clipboard-read", "clipboard-write"])
    page = seen.page
    page.evaluate(UNFOLDED)
    if name == FOURTH:
        expect(page.get_by_role("button", name=WORDS["script"]["Forget what I have read"])).to_be_visible()
        expect(page.locator(".path-next:visible")).to_contain_text("一小时路线的下一页")
    else:
        expect(page.locator(".live-try").first).to_have_text(WORDS["script"]["Try it here"])
    assert unknown(page.evaluate(SAID)) == []
    seen.assert_clean()


@pytest.mark.browser
def test_the_switch_is_reached_by_keyboard_and_keeps_the_place(visit):
    seen = visit(f"{FOURTH}#exercises", maths=False)
    switch = seen.page.locator("a.language-switch")
    switch.focus()
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_url("**/notebooks/04_rotate_one_pair.html#exercises")
    settle(seen.page, maths=False)
    switch.focus()
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_url(f"**/{FOURTH}#exercises")


@pytest.mark.browser
def test_a_question_in_chinese_finds_its_section(visit):
    seen = visit("search.html?q=位置内插", wait=False)
    page = seen.page
    page.wait_for_url("**/book/zh/search.html?q=*")
    found = page.locator("#search-results li a")
    expect(found.first).to_be_visible()
    expect(page.locator(".search-summary")).to_contain_text("搜索完毕")
    assert "book/zh/" in found.first.get_attribute("href")
    assert unknown(page.evaluate(SAID)) == []
    expect(page.locator("#search-results li p").first).to_contain_text("位置内插")
    found.first.click()
    page.wait_for_url("**/book/zh/*.html*")
    expect(page.locator("h1").first).to_be_attached()
    english_too = visit("book/zh/search.html?q=YaRN", wait=False).page
    links = english_too.locator("#search-results li a")
    expect(english_too.locator(".search-summary")).to_contain_text("搜索完毕")
    hrefs = links.evaluate_all("(all) => all.map((each) => each.href)")
    ours = ["/book/zh/" in href for href in hrefs]
    assert ours == sorted(ours, reverse=True)
    assert 1 < sum(ours) < len(ours)
    assert all((SITE / target("x", href.partition("//")[2].partition("/")[2])[0]).is_file() for href in hrefs)


@pytest.mark.browser
def test_lines_have_some_forty_characters_and_no_emphasis_is_slanted(visit):
    page = visit(FOURTH, maths=False).page
    wide = page.locator("article section > p").evaluate_all(
        "(all) => all.map((p) => p.clientWidth / parseFloat(getComputedStyle(p).fontSize))"
    )
    assert 34 <= max(wide) <= 40
    slanted = page.locator("article em").evaluate_all(
        "(all) => all.filter((em) => /[一-鿿]/.test(em.textContent) && getComputedStyle(em).fontStyle === 'italic')"
        ".length"
    )
    assert slanted == 0
