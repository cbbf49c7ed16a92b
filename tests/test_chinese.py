"""The Chinese edition says all that the English says: no cell, formula, link or state of a figure is lost."""

import json
import posixpath
import re
import shutil
import tomllib
from collections import Counter
from pathlib import Path

import chinese
import pytest
import yaml

ROOT = chinese.ROOT
FILES = chinese.files()
NOTEBOOKS = [path for path in FILES if path.suffix == ".zh"]
PAGES = [path for path in FILES if path.suffix == ".md"]
FORMULA = re.compile(r"\$\$.+?\$\$|(?<![\\$])\$[^$]+\$", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^`{3}python\n.*?^`{3}", re.DOTALL | re.MULTILINE)
IN_ENGLISH = "（英文）"
FIXED = {"> **In short.**": "> **要点。**", "## Further reading": "## 延伸阅读", "## Exercises": "## 练习"}
FIXED |= {"## Predict, then try": "## 先猜，再试", "Detour: ": "岔路："}
WORDS = tomllib.loads((ROOT / "book" / "zh" / "page.toml").read_text(encoding="utf-8"))
BY_NAME = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
OF_NOTEBOOKS = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def pairs(path: Path) -> list[tuple[str, str, str]]:
    """Return (name, English text, Chinese text) of each cell of a notebook, or of the one text of a page."""
    if path.suffix == ".md":
        return [(path.stem, chinese.page(chinese.original(path)), chinese.body(path)[1])]
    theirs = chinese.cells(chinese.original(path))
    return [(key, theirs[key], text) for key, (_, text) in chinese.parts(path).items()]


def leads_to(folder: str, link: str) -> str:
    """Return where a link leads, in the English book: a page without its file's suffix, or an address."""
    if re.match(r"https?:|#", link):
        return link
    page = posixpath.normpath(posixpath.join(folder, link.partition("#")[0]))
    name, suffix = posixpath.splitext(page)
    if name.startswith("book/zh/"):
        return (
            f"notebooks/{posixpath.basename(name)}" if suffix == ".zh" else f"book/{posixpath.basename(name)}"
        )
    return name


def formulas(text: str) -> Counter[str]:
    """Return the formulas of a text, each without its white space."""
    return Counter("".join(found.split()) for found in FORMULA.findall(CODE.sub("", text)))


def test_every_page_of_the_edition_is_in_the_last_part_of_the_contents():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = [entry["file"] for entry in toc["parts"][-1]["chapters"]]
    assert toc["parts"][-1]["caption"] == "中文"
    assert sorted(listed) == [f"book/zh/{path.stem}" for path in sorted(FILES, key=lambda path: path.stem)]
    assert listed[0] == "book/zh/index"
    assert len(FILES) >= 8


@BY_NAME
def test_nothing_is_missing_and_nothing_is_too_much(path):
    assert list(chinese.faults(path)) == []


@BY_NAME
def test_no_translation_is_older_than_its_english(path):
    assert chinese.older(path) == [], "read them again, then `python book/tools/chinese.py --stamp FILE`"


@OF_NOTEBOOKS
def test_code_and_what_it_shows_are_those_of_the_english_notebook(path):
    ours, theirs = (
        chinese.merged(path),
        json.loads(chinese.original(path).read_text(encoding="utf-8")),
    )
    assert ours["metadata"] == theirs["metadata"]
    for one, other in zip(ours["cells"], theirs["cells"], strict=True):
        assert one.keys() == other.keys()
        assert one == other or (one["cell_type"] == "markdown" and one | {"source": other["source"]} == other)


@BY_NAME
def test_formulas_code_and_folds_are_the_same(path):
    for name, english, text in pairs(path):
        assert formulas(text) == formulas(english), name
        assert CODE.findall(text) == CODE.findall(english), name
        for mark in ("<details>", "<summary>", "</summary>", "</details>", "```{", ":::"):
            assert text.count(mark) == english.count(mark), f"{name}: {mark}"


@BY_NAME
def test_links_and_states_of_figures_are_the_same_and_stay_in_chinese_where_they_can(path):
    twins = {leads_to("book/zh", other.name) for other in FILES}
    english_folder = chinese.original(path).parent.name
    for name, english, text in pairs(path):
        wanted = Counter(leads_to(english_folder, link) for link in LINK.findall(english))
        found = Counter(leads_to("book/zh", link) for link in LINK.findall(text))
        assert not wanted - found, f"{name}: {wanted - found} is missing"
        more = found - wanted  # the landing page says what there is in Chinese
        assert not more or (path.name == "index.md" and set(more) <= twins), f"{name}: {more} is too much"
        for link in LINK.finditer(text):
            target = leads_to("book/zh", link[1])
            if re.match(r"https?:|#", target):
                continue
            in_chinese = posixpath.normpath(posixpath.join("book/zh", link[1])).startswith("book/zh/")
            assert in_chinese == (target in twins), f"{name}: {link[1]}"
            after = text[link.end() : link.end() + len(IN_ENGLISH)]
            assert in_chinese != (after == IN_ENGLISH), (
                f"{name}: {link[1]} is {'' if in_chinese else 'not '}Chinese"
            )


@BY_NAME
def test_what_the_site_looks_for_has_its_chinese_word(path):
    for name, english, text in pairs(path):
        for mark, ours in FIXED.items():
            count = len(re.findall(rf"^#* ?{re.escape(mark)}", english, re.MULTILINE))
            assert len(re.findall(rf"^#* ?{re.escape(ours)}", text, re.MULTILINE)) == count, f"{name}: {ours}"


@BY_NAME
def test_chinese_is_set_as_chinese(path):
    for name, _, text in pairs(path):
        prose = LINK.sub("]", re.sub(r"`[^`]*`", "X", FORMULA.sub("X", CODE.sub("", text))))
        wrong = re.findall(r".{0,8}[一-鿿](?:[,;?!]|\.(?!\w)|:(?!:)).{0,8}", prose)
        assert not wrong, f"{name}: half-width punctuation after Chinese: {wrong}"
        assert not re.findall(r".{0,8} [，。；：？！、）】]", prose), name


def test_the_glossary_and_the_notation_have_every_row():
    english, ours = (
        re.findall(
            r"^(.+)\n: ", (ROOT / "book" / folder / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE
        )
        for folder in ("", "zh")
    )
    assert len(ours) == len(english) > 100
    for term, row in zip(english, ours, strict=True):
        plain = re.sub(r" \(.*\)$", "", term)
        assert plain.lower() in row.lower(), f"{row!r} does not name {plain!r}"
    english, ours = (
        (ROOT / "book" / folder / "notation.md").read_text(encoding="utf-8").count("\n|")
        for folder in ("", "zh")
    )
    assert ours == english


@pytest.fixture
def copy(tmp_path) -> Path:
    """Copy one notebook, the glossary and the first page with their translations; the folder."""
    for name in ("notebooks", "book/zh"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("book/index.md", "book/glossary.md", "notebooks/04_rotate_one_pair.ipynb"):
        shutil.copy(ROOT / name, tmp_path / name)
    for path in FILES:
        if (tmp_path / chinese.original(path).relative_to(ROOT)).is_file():
            shutil.copy(path, tmp_path / "book" / "zh")
    return tmp_path


FOURTH = Path("book/zh/04_rotate_one_pair.zh")


def changed(copy: Path, old: str, new: str) -> Path:
    """Change the translation, and return it."""
    path = copy / FOURTH
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


MARK = re.search(r"<!-- c04-002 of \w+ -->", (ROOT / FOURTH).read_text(encoding="utf-8"))[0]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (MARK, "", r"04_rotate_one_pair\.zh: the cell c04-002 has no translation"),
        (MARK, MARK.replace("c04-002", "c04-fff"), r"04_rotate_one_pair\.ipynb has no cell c04-fff of text"),
        ("\n## 问题\n", "\n### 问题\n", "the headings of the cell c04-002 are not those of its English"),
        (MARK, f"{MARK}\n{MARK}", "has a cell twice"),
    ],
)
def test_a_translation_that_lacks_something_is_refused_by_a_sentence(copy, old, new, told):
    path = changed(copy, old, new)
    with pytest.raises(ValueError, match=told):
        chinese.merged(path)


def test_an_older_cell_is_named_and_a_stamp_renews_it(copy):
    path = changed(copy, MARK, MARK[:-12] + "00000000 -->")
    assert chinese.older(path) == ["c04-002"]
    assert chinese.merged(path)["cells"][2]["source"].startswith("## 问题"), "it is built"
    assert chinese.main(["--stamp", str(path)]) == 0
    assert path.read_bytes() == (ROOT / FOURTH).read_bytes()


def test_the_frame_has_a_chinese_word_for_all_that_its_scripts_and_extensions_say():
    extensions = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "book/extensions").glob("*.py"))
    said = set(re.findall(r'\bsay\(\s*[\w.]+, "([^"]+)"', extensions))
    assert said == set(WORDS["built"])
    scripts = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "book/assets").glob("*.js"))
    said = set(re.findall(r'\bsay\("([^"]+)"', scripts))
    said |= set(re.findall(r'": "(Formula|Code or what it prints|Table)"', scripts))
    assert said <= set(WORDS["script"])
    style = (ROOT / "book/assets/site.css").read_text(encoding="utf-8")
    assert set(re.findall(r"var\(--words-([\w-]+)", style)) == set(WORDS["style"])
    paths = yaml.safe_load((ROOT / "book/data/paths.yml").read_text(encoding="utf-8"))
    assert [path["key"] for path in paths] == list(WORDS["paths"])
