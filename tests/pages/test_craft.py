"""How pages are set: no formula is cut, lines are short, the way on is at the top, paper has the answers."""

import re
from pathlib import Path

import pydata_sphinx_theme
import pytest
from playwright.sync_api import expect

from .conftest import CHAPTERS, SITE, at_rest, in_sight_is_told
from .test_pages import UNFOLDED

TALL = [CHAPTERS[number] for number in (4, 5, 9)]
FOURTH = CHAPTERS[4]

# displayed formulas of which a glyph is beyond the box that cuts it, above or below
CUT = """() => [...document.querySelectorAll("div.math")].flatMap((box) => {
    const cutting = [box, ...box.querySelectorAll("mjx-container")].filter(
        (each) => getComputedStyle(each).overflowY !== "visible");
    const rects = [...box.querySelectorAll("mjx-c")].map((each) => each.getBoundingClientRect());
    const glyphs = rects.filter((each) => each.height); // a filler has none
    const [top, bottom] = [Math.min(...glyphs.map((g) => g.top)), Math.max(...glyphs.map((g) => g.bottom))];
    return cutting.filter((each) => {
        const room = each.getBoundingClientRect();
        return room.height && (top < room.top - 0.5 || bottom > room.bottom + 0.5);
    }).map((each) => `${each.tagName}: ${box.textContent.slice(0, 60)}`);
})"""
UNCUT = "div.math, div.math mjx-container { overflow: visible !important }"
TALLEST = """() => {
    const boxes = [...document.querySelectorAll("div.math")];
    const height = (box) => box.getBoundingClientRect().height;
    const tallest = boxes.toSorted((a, b) => height(b) - height(a))[0];
    tallest.scrollIntoView({ block: "center", behavior: "instant" });
    const { x, y, width, height: tall } = tallest.getBoundingClientRect();
    return { x: x - 4, y: y - 12, width: width + 8, height: tall + 24 };
}"""


@pytest.mark.browser
@pytest.mark.parametrize("page", TALL)
def test_no_displayed_formula_is_cut(visit, page):
    seen = visit(page)
    seen.page.evaluate(UNFOLDED)
    at_rest(seen.page)
    assert seen.page.locator("div.math").count() > 2
    assert seen.page.evaluate(CUT) == []


@pytest.mark.browser
def test_the_ink_of_the_tallest_formula_is_the_same_where_nothing_could_be_cut(visit):
    page = visit(FOURTH).page
    page.evaluate(UNFOLDED)
    at_rest(page)
    page.evaluate(TALLEST)  # into sight
    at_rest(page)
    clip = page.evaluate(TALLEST)
    cut = page.screenshot(clip=clip)
    page.add_style_tag(content=UNCUT)
    at_rest(page)
    assert page.screenshot(clip=clip) == cut
    page.add_style_tag(
        content="div.math, div.math mjx-container { max-height: 1em; overflow: hidden !important }"
    )
    at_rest(page)
    assert page.screenshot(clip=clip) != cut


# characters in each line but the last of paragraphs of the spine
LENGTHS = """() => [...document.querySelectorAll("article section > p")].flatMap((paragraph) => {
    if (paragraph.querySelector(".math, code, a")) return [];
    const text = paragraph.firstChild;
    if (text?.nodeType !== 3 || paragraph.childNodes.length > 1) return [];
    const lines = [];
    const range = document.createRange();
    for (let at = 0, top = -1; at < text.length; at++) {
        range.setStart(text, at);
        range.setEnd(text, at + 1);
        const [rect] = range.getClientRects();
        if (!rect) continue;
        if (rect.top > top + 4) lines.push(0);
        top = rect.top;
        lines[lines.length - 1]++;
    }
    return lines.slice(0, -1);
})"""


@pytest.mark.browser
def test_a_line_has_about_seventy_characters(visit):
    lengths = [length for page in CHAPTERS[1:4] for length in visit(page, maths=False).page.evaluate(LENGTHS)]
    assert len(lengths) > 5
    assert 60 <= sum(lengths) / len(lengths) <= 76
    assert max(lengths) <= 84


@pytest.mark.browser
def test_the_way_on_and_the_way_through_are_at_the_top(visit):
    page = visit(CHAPTERS[5], maths=False).page
    ways = page.locator(".page-steps a")
    assert ways.all_text_contents() == [
        "← 4. Rotate one pair",
        "6. Read many clocks: frequencies and wavelengths →",
    ]
    assert ways.first.bounding_box()["y"] < page.locator("h1:visible").bounding_box()["y"]
    drawn = "document.querySelector('.reading-bar').getBoundingClientRect().width / innerWidth"
    assert page.evaluate(drawn) == 0
    page.evaluate("scrollTo({ top: 1e6, behavior: 'instant' })")
    page.wait_for_function(f"{drawn} > 0.97")
    ways.last.click()
    page.wait_for_url(f"**/{CHAPTERS[6]}")


def test_the_sidebar_has_the_minutes_that_a_chapter_states():
    text = (SITE / FOURTH).read_text(encoding="utf-8")
    (stated,) = set(re.findall(r"Time: (\d+) minutes for the spine", text))
    here = re.search(r'class="current reference internal".*?</li>', text)[0]
    assert f'<span class="minutes">{stated} min</span>' in here
    assert text.count('class="minutes"') >= len([page for page in CHAPTERS if "P1" not in page])


FOLD = re.compile(r'<details class="fold[^"]*">\s*<summary[^>]*>([^<]*)</summary>(.*?)</details>', re.DOTALL)


def test_a_fold_of_code_says_what_its_code_does():
    folds = [
        (words, '<span class="k">assert</span>' in code)
        for page in CHAPTERS
        for words, code in FOLD.findall((SITE / page).read_text(encoding="utf-8"))
    ]
    shows = {
        f"Code that {does} this {shown}"
        for does, shown in [("draws", "picture"), ("prints", "table"), ("makes", "figure")]
    }
    silent = {"Code that prints this", "Code that later cells use"}
    assert {words for words, _ in folds} == {
        *shows,
        *silent,
        "Code that checks this",
        "Solutions",
        "Setup: the imports",
    }
    assert not [words for words, asserts in folds if asserts and words in silent]
    assert all(asserts for words, asserts in folds if words == "Code that checks this")


@pytest.mark.browser
def test_paper_has_the_answers_at_the_end(visit):
    page = visit(FOURTH, maths=False).page
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    answers = page.locator("article > .printed-answers:last-child")
    assert "Exercises: Solutions" in answers.locator("h3").all_text_contents()
    assert answers.locator(".highlight").count() >= 1, "the solutions"
    assert answers.locator("[id]").count() == 0
    assert page.locator("article > section details.answered").count() >= 1
    at_rest(page)
    tall = page.locator(".rope-live .rl-picture svg").evaluate_all(
        "(all) => Math.max(...all.map((each) => each.getBoundingClientRect().height))"
    )
    assert tall <= 400  # 105 mm: what does not fit leaves less than half of a sheet empty
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".printed-answers, .answered").count() == 0


TEN_MINUTES = CHAPTERS[0]


@pytest.mark.browser
def test_one_of_two_layouts_is_shown_and_both_where_no_script_runs(visit):
    page = visit(TEN_MINUTES, maths=False).page
    cells, names = page.locator(".cell.tag_variant"), page.locator(".variants label")
    expect(cells.first).to_be_visible()
    expect(cells.last).not_to_be_visible()
    assert names.all_text_contents() == [
        " Partners half a head apart: transformers",
        " A pair is two neighbours: Meta, GPT-J",
    ]
    page.get_by_role("radio", name="transformers").press("ArrowRight")
    expect(cells.first).not_to_be_visible()
    expect(cells.last).to_be_visible()
    assert cells.count() == 2
    plain = visit(TEN_MINUTES, wait=False, java_script_enabled=False).page
    assert [cell.is_visible() for cell in plain.locator(".cell.tag_variant").all()] == [True, True]


HELD = """() => {
    const svg = document.querySelector(".rl-held .rl-picture svg");
    const { left, width, height } = svg.getBoundingClientRect();
    return [left, width, height, svg.viewBox.baseVal.width / svg.viewBox.baseVal.height];
}"""


@pytest.mark.browser
def test_a_held_picture_is_no_slab_across_a_wide_window(visit):
    page = visit(CHAPTERS[18], maths=False, width=1366, height=700).page
    figure = page.locator('[data-live="ModelInThePage"]').first
    figure.locator(".rl-more summary").click()
    slider = figure.locator('[data-trait="last_pair"] input')
    slider.evaluate("(el) => el.scrollIntoView({ block: 'center', behavior: 'instant' })")
    in_sight_is_told(figure.locator(".rl-picture"))
    slider.press("ArrowLeft")
    left, width, height, shape = page.evaluate(HELD)
    assert left > 200, "it lies over the text, not over the sidebar"
    assert height <= 350
    assert abs(width / height - shape) < 0.05, "nothing but the picture"


def test_no_plot_stands_in_a_box():
    plots = 0
    for page in CHAPTERS:
        text = (SITE / page).read_text(encoding="utf-8")
        for panel in re.findall(r"<svg[^>]*>.*?</svg>", text, flags=re.DOTALL):
            plots += "--rl-text" in panel
            edges = re.findall(
                r'd="M [\d.]+ [\d.]+ L [\d.]+ [\d.]+" fill="none" stroke="var\(--rl-text\)"'
                r' stroke-width="0.8"',
                panel,
            )
            assert edges == [], page
    assert plots > 40


# selectors of the theme's style sheet that the site's does not have, and that match something in the page
MISSED = """([theme, kept]) => {
    const selectors = (style) => {
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(style);
        const all = (rules) => [...rules].flatMap((rule) => [
            ...(rule.selectorText?.split(/,(?![^()]*\\))/) ?? []),
            ...(rule.cssRules ? all(rule.cssRules) : []),
        ]);
        return new Set(all(sheet.cssRules).map((each) => each.trim()));
    };
    const there = selectors(kept);
    const states = /::[-a-z]+|:(?:after|before|hover|focus|focus-visible|focus-within|active|disabled|checked)/g;
    const matches = (selector) => {
        try {
            return document.querySelector(selector.replace(states, "") || "*") !== null;
        } catch {
            return false; // of another engine
        }
    };
    return [...selectors(theme)].filter((each) => !there.has(each) && matches(each) && !each.includes(".fa-"));
}"""


@pytest.mark.browser
@pytest.mark.sampled
@pytest.mark.parametrize("page", ["search.html", "book/index.html", "book/wrong.html", *TALL, CHAPTERS[18]])
def test_no_rule_of_the_theme_is_left_out_that_a_page_uses(visit, page):
    theme = Path(pydata_sphinx_theme.__file__).parent / "theme/pydata_sphinx_theme/static/styles"
    sheets = [folder / "pydata-sphinx-theme.css" for folder in (theme, SITE / "_static" / "styles")]
    whole, kept = (sheet.read_text(encoding="utf-8") for sheet in sheets)
    assert len(kept) < 0.5 * len(whole)
    assert visit(page, maths=False).page.evaluate(MISSED, [whole, kept]) == []
    cut = kept.replace(".bd-article-container", ".no-such-class")
    assert visit(page, maths=False).page.evaluate(MISSED, [whole, cut]) != []
