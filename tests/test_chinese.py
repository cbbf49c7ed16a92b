"""The Chinese edition says all that the English says, and shows in English what has changed since."""

import re
import shutil
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest
import yaml
from babel.messages.catalog import Message
from babel.messages.pofile import write_po
from sphinx.application import Sphinx
from sphinx_intl.basic import update

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "book" / "extensions"))
import twins  # noqa: E402

PAGES = twins.pages(ROOT)
FORMULA = re.compile(r"\$\$.+?\$\$|(?<![\\$])\$[^$]+\$", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`[^`]*`")
NUMBER = re.compile(r"(\d+(?:,\d{3})*(?:\.\d+)?)(?: ?(million|billion|万|亿))?")
UNITS = {"": 1, "万": 10**4, "million": 10**6, "亿": 10**8, "billion": 10**9}
FIXED = {"**In short.**": "**要点。**", "Further reading": "延伸阅读", "Exercises": "练习"}
FIXED |= {"Predict, then try": "先猜，再试", "Detour: ": "岔路："}
WORDS = tomllib.loads((ROOT / "book" / "zh" / "page.toml").read_text(encoding="utf-8"))
BY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.rpartition("/")[2])


def source(page: str) -> str:
    """Return the text of a page's English file."""
    path = ROOT / twins.original(page)
    if path.with_suffix(".md").is_file():
        return path.with_suffix(".md").read_text(encoding="utf-8")
    cells = yaml.safe_load(path.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def said(page: str) -> list[tuple[str, str]]:
    """Return (English, Chinese) of every finished message."""
    return [
        (each.id, each.string) for each in twins.catalog(page) if each.id and each.string and not each.fuzzy
    ]


def counted(pattern: re.Pattern[str], text: str) -> Counter[str]:
    """Count what a pattern finds, without regard to white space."""
    return Counter("".join(found.split()) for found in pattern.findall(text))


def numbers(text: str) -> Counter[float]:
    """Count the numbers of a text outside its formulas, links and code.

    >>> numbers("6,800 万, 0.5 and $7$") == Counter({68_000_000: 1, 0.5: 1})
    True
    """
    for pattern in (FORMULA, CODE, LINK):
        text = pattern.sub(" ", text)
    return Counter(float(digits.replace(",", "")) * UNITS[unit] for digits, unit in NUMBER.findall(text))


def test_every_page_of_the_last_part_of_the_contents_has_its_messages_and_no_other_has():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    assert toc["parts"][-1]["caption"] == twins.NAMES[twins.LANGUAGE]
    assert [entry["file"] for entry in toc["parts"][-1]["chapters"]] == PAGES
    assert PAGES[0] == "book/zh/index"
    assert sorted(twins.MESSAGES.rglob("*.po")) == sorted(map(twins.messages, PAGES))


@BY_PAGE
def test_every_message_is_in_the_english_page(page):
    text = " ".join(re.sub(r"(?m)^ *>", "", source(page)).split())
    older = [each.id for each in twins.catalog(page) if each.id and " ".join(each.id.split()) not in text]
    assert not older, "`make translate` brings the messages up to date"


@BY_PAGE
def test_a_translation_has_the_formulas_links_code_and_numbers_of_its_english(page):
    assert len(said(page)) > 40
    for english, chinese in said(page):
        for pattern in (FORMULA, LINK):
            assert counted(pattern, chinese) == counted(pattern, english), english
        assert not counted(CODE, english) - counted(CODE, chinese), english
        assert not numbers(english) - numbers(chinese), english


@BY_PAGE
def test_what_the_site_looks_for_has_its_chinese_word(page):
    for english, chinese in said(page):
        for mark, ours in FIXED.items():
            assert english.startswith(mark) == chinese.startswith(ours), english


@BY_PAGE
def test_chinese_is_set_as_chinese(page):
    for _, text in said(page):
        prose = LINK.sub("]", CODE.sub("X", FORMULA.sub("X", text)))
        wrong = re.findall(r".{0,8}[一-鿿](?:[,;?!]|\.(?!\w)|:(?!:)).{0,8}", prose)
        assert not wrong, f"half-width punctuation after Chinese: {wrong}"
        assert not re.findall(r".{0,8} [，。；：？！、）】]", prose)


def test_a_term_of_the_glossary_keeps_its_english_name():
    terms = re.findall(r"^(.+)\n: ", source("book/zh/glossary"), re.MULTILINE)
    assert len(terms) > 100
    rows = dict(said("book/zh/glossary"))
    for term in terms:
        assert re.sub(r" \(.*\)$", "", term).lower() in rows[term].lower()


def test_the_frame_has_a_chinese_word_for_all_that_pages_scripts_and_extensions_say():
    folds = {fold for page in PAGES for fold in re.findall(r"<summary>(.*)</summary>", source(page))}
    assert folds <= set(WORDS["frame"])
    extensions = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "book/extensions").glob("*.py"))
    found = set(re.findall(r'\bsay\(\s*[\w.]+, "([^"]+)"', extensions))
    assert found == set(WORDS["built"])
    scripts = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "book/assets").glob("*.js"))
    found = set(re.findall(r'\bsay\("([^"]+)"', scripts))
    found |= set(re.findall(r'": "(Formula|Code or what it prints|Table)"', scripts))
    assert found <= set(WORDS["script"])
    style = (ROOT / "book/assets/site.css").read_text(encoding="utf-8")
    assert set(re.findall(r"var\(--words-([\w-]+)", style)) == set(WORDS["style"])
    paths = yaml.safe_load((ROOT / "book/data/paths.yml").read_text(encoding="utf-8"))
    assert [path["key"] for path in paths] == list(WORDS["paths"])


class Book:
    """A book of two pages in a folder, one of them also in Chinese."""

    TOC = "format: jb-book\nroot: book/index\nparts:\n- caption: 中文\n  chapters:\n  - file: book/glossary\n"

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "book").mkdir()
        (root / "_toc.yml").write_text(f"{self.TOC}  - file: book/zh/glossary\n", encoding="utf-8")
        (root / "book" / "index.md").write_text("# A book\n", encoding="utf-8")

    def write(self, *paragraphs: str) -> None:
        """Write the English page, and bring the messages up to date as ``make translate`` does."""
        (self.root / "book" / "glossary.md").write_text("\n\n".join(paragraphs), encoding="utf-8")
        shutil.rmtree(self.root / "gettext", ignore_errors=True)
        self.build("gettext")
        update(str(self.root / "locale"), str(self.root / "gettext" / "book" / "zh"), ("zh_CN",), jobs=1)

    def build(self, builder: str) -> None:
        """Build the book with one of Sphinx's builders."""
        names = ["myst_nb", "sphinx_external_toc", "twins"]
        settings = {"extensions": names, "gettext_compact": False, "gettext_location": False}
        settings |= {
            "myst_enable_extensions": ["dollarmath"],
            "root_doc": "book/index",
            "external_toc_path": "_toc.yml",
            "html_theme": "basic",
        }
        folders = (self.root, None, self.root / builder, self.root / f"{builder}.doctrees")
        Sphinx(*folders, builder, settings, status=None, freshenv=True).build()

    def translate(self, **said: str) -> None:
        """Put Chinese into the messages, by their first English word."""
        messages = twins.catalog("book/zh/glossary")
        for message in messages:
            message.string = said.get(message.id.partition(" ")[0] if message.id else "", message.string)
        with twins.messages("book/zh/glossary").open("wb") as file:
            write_po(file, messages)

    def message(self, word: str) -> Message:
        """Return the message whose English begins with a word."""
        return next(
            each for each in twins.catalog("book/zh/glossary") if each.id and each.id.startswith(word)
        )

    def page(self) -> str:
        """Build the site, and return the body of the Chinese page."""
        self.build("html")
        text = (self.root / "html" / "book" / "zh" / "glossary.html").read_text(encoding="utf-8")
        return text[text.index('<div class="body"') : text.index("sphinxsidebar")]


@pytest.fixture
def book(tmp_path, monkeypatch) -> Book:
    """Return an empty book whose messages are in its folder."""
    monkeypatch.setattr(twins, "MESSAGES", tmp_path / "locale" / "zh_CN" / "LC_MESSAGES")
    return Book(tmp_path)


ONE = "Turn each pair of numbers by an angle."


def test_a_message_whose_english_changes_is_marked_fuzzy_and_the_page_shows_the_english(book):
    colab = "[Open in Colab](https://colab.research.google.com/github/a/b/c.ipynb)"
    book.write("# Terms", ONE, "Keep $n$ fixed, see [the book](index.md).", "$$ n + 1 $$", colab)
    assert len(twins.catalog("book/zh/glossary")) == 3
    assert "还有 3 处尚未译成中文" in book.page()
    book.translate(Terms="术语", Turn="把每对数旋转一个角度。", Keep="$n$ 不变，见[全书](index.md)。")
    whole = book.page()
    assert re.search(r'<section[^>]* id="terms">\s*<h1>术语', whole)
    assert "<p>把每对数旋转一个角度。</p>" in whole
    assert "全书</span></a></span>（英文；下文虚线链接同）。</p>" in whole
    assert 'lang="en"' not in whole
    assert ">在 Colab 中打开</a>" in whole

    book.write(
        "# Terms", ONE.replace("angle", "angle of its own"), "Keep $n$ fixed, see [the book](index.md)."
    )
    changed = book.message("Turn")
    assert changed.fuzzy
    assert changed.string == "把每对数旋转一个角度。"
    assert not book.message("Keep").fuzzy
    page = book.page()
    assert re.search(r'<p[^>]* lang="en">Turn each pair of numbers by an angle of its own.</p>', page)
    assert "把每对数" not in page
    assert "本页还有 1 处尚未译成中文，暂为英文。" in page
    assert re.search(r'<section[^>]* id="terms">\s*<h1>术语', page)
    source = (book.root / "html" / "_sources" / "book" / "zh" / "glossary.md").read_text(encoding="utf-8")
    assert source.startswith("# 术语\n\nTurn each pair")
