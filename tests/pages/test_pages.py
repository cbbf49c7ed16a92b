"""Every page of the built book, as a reader without network meets it."""

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page
from serve import packed

from rope_book.widgets._questions import questions

from .conftest import (
    CHAPTERS,
    CHINESE,
    EVERY_PAGE,
    FRAMES,
    PAGES,
    SITE,
    Visit,
    at_rest,
    english,
    settle,
    soon,
)
from .test_figures import CUT_OFF

# axe-core lies in a package whose code we do not use
AXE_PACKAGE = Path(importlib.util.find_spec("pytest_playwright_axe").origin).parent
AXE = (AXE_PACKAGE / "resources" / "axe.min.js").read_text(encoding="utf-8")
AXE_RUNS = """() => axe.run({
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    rules: { "label-content-name-mismatch": { enabled: true } },
    resultTypes: ["violations"], reporter: "no-passes", selectors: false,
}).then((result) => result.violations.map((v) => [v.id, v.nodes.map((node) => node.html.slice(0, 200))]))"""
ONE_OF_A_KIND = Path(__file__).with_name("one_of_a_kind.js").read_text(encoding="utf-8")
CHAPTER_BUDGET = 400_000  # bytes, gzip, everything that a chapter loads on a cold cache
INDEX_BUDGET = 200_000
TEN_MINUTES_BUDGET = 460_000  # of the page with scenes of seven figures, one of them the two models
TRAINER_BUDGET = 420_000  # of the chapter in which a model is trained, with the trainer and its text
CHINESE_WORDS = 47_000  # of a Chinese page, more than its English: what figures, questions and challenges say
STAND_FOR_ALL = (f"{CHINESE}04_rotate_one_pair.html", f"{CHINESE}index.html")  # of the Chinese pages
LOOKED_AT = [page for page in PAGES if EVERY_PAGE or not page.startswith(CHINESE) or page in STAND_FOR_ALL]
MODEL_BUDGET = 560_000  # of the chapter that brings two trained models
WATCHED = """
window.shifted = 0;
new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true });
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(
    `${event.violatedDirective}: ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));"""
UNFOLDED = "document.querySelectorAll('details').forEach((fold) => (fold.open = true))"


def violations(page: Page, *, once: bool = False) -> list:
    """Return what axe finds wrong in a page that nothing moves in; where asked, once for what is painted alike."""
    at_rest(page)
    page.evaluate(AXE)
    if once:
        assert page.evaluate(ONE_OF_A_KIND) > 2
    return page.evaluate(AXE_RUNS)


@dataclass
class Loaded:
    """An open page, by how much it moved while it loaded, which files it asked for, and what its policy stopped."""

    visit: Visit
    shifted: float
    files: set[str]
    violations: list[str]


def loaded(seen: Visit) -> Loaded:
    """Wait until a page is whole."""
    settle(seen.page)
    seen.page.evaluate("document.fonts.ready.then(() => true)")
    soon(seen.page, lambda: not seen.under_way)  # fonts come last
    at_rest(seen.page)
    seen.page.evaluate(FRAMES)  # who watches what shifts has heard of it
    shifted, violations = seen.page.evaluate("[shifted, violations]")
    files = {url.partition("?")[0].partition("#")[0].removeprefix(seen.root) for url in seen.asked}
    return Loaded(
        seen, shifted, {file for file in files if "://" not in file and ":" not in file}, violations
    )


@pytest.fixture(scope="module", params=[page for page in LOOKED_AT if page != "index.html"])
def page(request) -> str:
    """Each page but the one that only leads on, and two of the Chinese ones."""
    return request.param


@pytest.fixture(scope="module")
def ways(reader, far):
    """Tabs for the ways in which pages are met, with their own policy in force, by what a test says of each."""
    kinds = {"1200 px": {"root": far}, "360 px": {"root": far, "width": 360, "theme": "dark"}}
    tabs = {way: reader.blank(fresh=True, bypass_csp=False, **kind) for way, kind in kinds.items()}
    for seen in tabs.values():
        seen.page.add_init_script("localStorage.clear();" + WATCHED)
    yield tabs
    for seen in tabs.values():
        seen.page.context.close()


@pytest.fixture(scope="module")
def met(ways, page):
    """The page at once on a slow line, of which the browser keeps nothing, wide and narrow."""
    for seen in ways.values():
        seen.go(page, until="commit")
    return {way: loaded(seen) for way, seen in ways.items()}


@pytest.fixture(scope="module")
def wide(met):
    """The page wide and light."""
    return met["1200 px"]


@pytest.fixture(scope="module")
def narrow(met):
    """The page as narrow as a phone and dark."""
    return met["360 px"]


@pytest.fixture(scope="module")
def folder(reader):
    """A tab for pages from a folder, with their own policy in force."""
    seen = reader.blank(fresh=True, bypass_csp=False, root=SITE.as_uri() + "/")
    seen.page.add_init_script("localStorage.clear();" + WATCHED)
    yield seen
    seen.page.context.close()


@pytest.fixture(scope="module")
def plain(tab, page):
    """The page where no script runs."""
    return tab(page, wait=False, java_script_enabled=False)


@pytest.mark.browser
@pytest.mark.sampled(4)
def test_a_chapter_shows_its_figure_before_one_scrolls(wide, page):
    if page not in CHAPTERS or page == "notebooks/P1_playground.html":
        return
    top = wide.visit.page.locator(".live-slot, .rope-live").first.evaluate(
        "(figure) => figure.getBoundingClientRect().top + scrollY"
    )
    assert top < 700


def test_every_chapter_has_a_page_with_a_live_figure():
    notebooks = {path.stem for path in (SITE.parents[1] / "notebooks").glob("*.ipynb")}
    assert {Path(page).stem for page in CHAPTERS} == notebooks
    for page in CHAPTERS:
        assert 'class="live-slot"' in (SITE / page).read_text(encoding="utf-8"), f"{page} has no live figure"


@pytest.mark.browser
def test_the_first_page_leads_to_the_book(visit):
    seen = visit("index.html", wait=False)
    seen.page.wait_for_url("**/book/index.html")
    settle(seen.page)
    seen.assert_clean()


def asked_on(page: str) -> list[str]:
    """Return the questions of a chapter's page."""
    return [name for name, asked in questions().items() if english(page) == f"notebooks/{asked['page']}.html"]


def assert_whole(seen: Visit) -> None:
    """Fail if a page asked for anything that it lacks, or draws a figure almost empty."""
    seen.assert_clean()
    figures = seen.page.locator(".live-slot .rope-live:not(.rl-questions)")
    drawn = figures.evaluate_all("(all) => all.map((one) => one.querySelectorAll('svg > g *').length)")
    assert min(drawn, default=6) > 5, "a live figure is drawn almost empty"


@pytest.mark.browser
@pytest.mark.sampled(4)
def test_page_is_whole_without_network(met):
    for seen in met.values():
        assert_whole(seen.visit)


@pytest.mark.browser
@pytest.mark.sampled(4)
def test_page_is_whole_and_obeys_its_policy_from_a_folder(folder, page):
    folder.go(page, until="commit")
    seen = loaded(folder)
    assert_whole(seen.visit)
    assert seen.violations == []


@pytest.mark.browser
@pytest.mark.sampled(4)
def test_page_obeys_its_own_policy(met, page):
    policy = re.search(
        r'Content-Security-Policy" content="([^"]*)"', (SITE / page).read_text(encoding="utf-8")
    )
    assert policy[1].startswith("default-src 'self' file:; object-src 'none'; frame-src 'none';")
    assert "'unsafe-eval'" not in policy[1]  # test_live.py knows the one page that may run WebAssembly
    assert "'unsafe-inline'" not in policy[1].partition("script-src")[2].partition(";")[0]
    assert {way: seen.violations for way, seen in met.items() if seen.violations} == {}


@pytest.mark.browser
@pytest.mark.sampled(4)
def test_nothing_moves_while_a_page_loads_on_a_slow_line(wide, narrow):
    for seen in (wide, narrow):
        assert seen.shifted <= 0.05, f"the page moves by {seen.shifted:.3f}"


@pytest.mark.browser
@pytest.mark.sampled(4)
def test_page_is_light_on_a_cold_cache(wide, page):
    others = {
        "book/index.html": INDEX_BUDGET,
        "notebooks/00_rope_in_ten_minutes.html": TEN_MINUTES_BUDGET,
        "notebooks/13_train_it_and_see.html": TRAINER_BUDGET,
        "notebooks/18_break_and_mend_a_model.html": MODEL_BUDGET,
    }
    budget = others.get(english(page), CHAPTER_BUDGET) + CHINESE_WORDS * page.startswith(CHINESE)
    weight = sum(len(packed(SITE / file, (SITE / file).stat().st_mtime_ns)) for file in wide.files)
    assert weight > 10_000, wide.files
    assert weight <= budget, f"{page} loads {weight:,} bytes (gzip)"


@pytest.mark.browser
@pytest.mark.sampled(4)
def test_page_does_not_scroll_sideways_on_a_phone(narrow):
    widest = narrow.visit.page.evaluate("document.documentElement.scrollWidth")
    assert widest <= 360, f"the page is {widest} px wide"


@pytest.mark.browser
@pytest.mark.sampled(4)
def test_plots_follow_the_theme_and_can_be_read_on_a_phone(narrow):
    page = narrow.visit.page
    assert page.locator("main .cell_output img[src$='.png']").count() == 0
    page.evaluate(UNFOLDED)
    at_rest(page)
    for number, found in enumerate(page.locator(".rope-plot").evaluate_all(f"(all) => all.map({READ})")):
        assert not found["paper"].startswith("rgb("), f"plot {number} stands in a box of its own"
        assert found["small"] == [], f"plot {number}: words under 11 px"
        assert not found["ink"] or min(rgb(found["ink"])) > 180, f"plot {number}: dark on dark"


@pytest.mark.browser
@pytest.mark.sampled(4)
def test_axe_finds_no_violation_wide_and_light_narrow_and_dark_with_every_fold_open(wide, narrow):
    # formulas are the same markup in the ink of the words around them: once is enough, where some of them scroll
    wide.visit.page.evaluate("document.querySelectorAll('mjx-container').forEach((math) => math.remove())")
    for seen in (wide, narrow):
        seen.visit.page.evaluate(UNFOLDED)
        assert violations(seen.visit.page, once=True) == [], seen.visit.page.viewport_size


@pytest.mark.browser
def test_axe_finds_no_violation_in_what_only_wide_pages_have_in_the_dark(visit):
    seen = visit(CHAPTERS[4], theme="dark", maths=False)
    assert violations(seen.page) == []


@pytest.mark.browser
@pytest.mark.sampled(4)
def test_stills_with_words_stand_where_no_script_runs(plain, page):
    slots = plain.page.locator(".live-slot")
    assert slots.count() > 0 or page not in CHAPTERS
    assert plain.page.locator(".live-slot ol > li details").count() == len(asked_on(page))
    review = page == "book/review.html"
    stills = slots.evaluate_all(STILLS, review)
    assert not [
        still for still in stills if still.get("pictures") or still.get("closed") or still.get("bare")
    ]
    assert min((len(still["words"].split()) for still in stills if "words" in still), default=6) > 5
    soon(
        plain.page, lambda: all(still.get("tall", 101) > 100 for still in slots.evaluate_all(STILLS, review))
    )


TAG = re.compile(r'<(\w+)((?:\s+[\w:.@-]+(?:="[^"]*")?)*)\s*/?>')


@pytest.mark.sampled(4)
def test_every_picture_has_alt_text_that_says_something(page):
    main = (SITE / page).read_text(encoding="utf-8").partition("<main")[2].partition("</main>")[0]
    tags = [(name, dict(re.findall(r'([\w:.@-]+)="([^"]*)"', rest))) for name, rest in TAG.findall(main)]
    pictures = [words for name, words in tags if name == "img" or words.get("role") == "img"]
    assert pictures or page not in CHAPTERS
    said = [words.get("alt") or words.get("aria-label") or "" for words in pictures]
    assert not [words for words in said if " " not in words.strip()]


def test_only_detours_and_reading_lists_are_folded_below_their_headings():
    folded = [
        (kind, re.sub("<.*?>|#$", "", heading).strip())
        for page in PAGES
        for heading, kind in re.findall(
            r"<h\d>(.*?)</h\d>\s*<details class=\"(reading|detour)\">",
            (SITE / page).read_text(encoding="utf-8"),
        )
    ]
    assert {kind for kind, _ in folded} == {"reading", "detour"}
    begins = {"reading": ("Further reading", "延伸阅读"), "detour": ("Detour:", "岔路：")}
    assert not [(kind, heading) for kind, heading in folded if not heading.startswith(begins[kind])]


# of slots without questions: pictures of an exercise, whose cell says how to answer; how many steps of a tour lack
# a picture, but for one; else how tall the still is
# once the folds around it are opened by what is seen of them, its words, how much stays closed or is there twice
STILLS = """(slots, review) => slots.filter((slot) => !slot.querySelector("ol")).map((slot) => {
    if (review || slot.dataset.state) return { pictures: slot.querySelectorAll("img").length };
    if (slot.dataset.host) {
        const steps = [...slot.parentElement.querySelectorAll(".fern-step")];
        return { bare: steps.filter((step) => !step.querySelector("img")).length > 1 };
    }
    const closed = [];
    for (let fold = slot.closest("details"); fold; fold = fold.parentElement.closest("details")) {
        if (!fold.open) closed.unshift(fold.querySelector("summary"));
    }
    for (const summary of closed) if (summary.checkVisibility({ visibilityProperty: true })) summary.click();
    const [still, ...others] = slot.querySelectorAll("img, .rope-plot"); // of a control that needs Python, its plot
    return {
        closed: closed.filter((summary) => !summary.parentElement.open).length + others.length,
        tall: still.checkVisibility({ visibilityProperty: true }) ? still.getBoundingClientRect().height : 0,
        words: still.getAttribute("alt") || still.getAttribute("aria-label") || "",
    };
})"""
# a plot's paper, the ink of its words, and what of its words is drawn under 11 px
READ = """(plot) => {
    const words = [...plot.querySelectorAll("text, tspan")].filter((word) => word.firstChild?.nodeType === 3);
    const tall = (word) => { // turned words keep their size
        const { a, b } = word.getScreenCTM();
        return parseFloat(getComputedStyle(word).fontSize) * Math.hypot(a, b);
    };
    return {
        paper: getComputedStyle(plot.parentElement).backgroundColor,
        ink: words.length ? getComputedStyle(words[0]).fill : "",
        small: words.filter((word) => tall(word) < 11).map((word) => `${word.textContent}: ${tall(word)} px`),
    };
}"""


def rgb(colour: str) -> list[int]:
    """Return the red, green and blue of a computed colour."""
    return [int(part) for part in re.findall(r"\d+", colour)[:3]]


@pytest.mark.browser
def test_policy_stops_a_script_that_is_not_ours(visit):
    seen = visit("book/notation.html", bypass_csp=False)
    seen.page.evaluate(WATCHED)
    seen.page.evaluate(
        """() => { const script = document.createElement("script");
            script.textContent = "window.intruder = true"; document.body.append(script) }"""
    )
    soon(seen.page, lambda: seen.page.evaluate("violations.length"))
    assert seen.page.evaluate("window.intruder") is None
    assert seen.page.evaluate("violations.length") == 1


SEARCHED = "/finished|did not match/.test(document.querySelector('.search-summary')?.innerText ?? '')"


@pytest.mark.browser
@pytest.mark.parametrize("word", ["constructor", "rotation", "valueOf", "__proto__"])
def test_search_answers_any_word(visit, word):
    seen = visit(f"search.html?q={word}")
    seen.page.wait_for_function(SEARCHED)
    seen.assert_clean()
    found = seen.page.locator("#search-results li").count()
    assert (found > 0) == (word == "rotation")


@pytest.mark.sampled(4)
def test_no_two_things_of_a_page_have_one_id(page):
    ids = re.findall(r'\sid="([^"]+)"', (SITE / page).read_text(encoding="utf-8"))
    assert len(ids) == len(set(ids))


@pytest.mark.browser
def test_paper_is_light_from_the_dark_theme_and_says_what_is_folded(visit):
    seen = visit(CHAPTERS[4], theme="dark")
    seen.page.emulate_media(media="print", color_scheme="dark")
    seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    at_rest(seen.page)
    for name in ("body", ".rope-live", ".rope-live svg text", ".rope-plot text", ".highlight span"):
        part = seen.page.locator(name).first
        ink = part.evaluate(
            "(el) => getComputedStyle(el)[el.namespaceURI.endsWith('svg') ? 'fill' : 'color']"
        )
        assert max(rgb(ink)) < 170, f"{name} is printed in {ink}"
    assert not seen.page.locator(".rl-controls").first.is_visible()
    assert seen.page.locator(".rope-live svg").first.is_visible()
    folded = "(el) => getComputedStyle(el, '::after').content"
    folds = seen.page.locator("details.fold > summary")
    assert "folded" in folds.first.evaluate(folded)
    assert "at the end" in seen.page.locator(".tag_solution details > summary").evaluate(folded)
    assert re.match(r"\d", seen.page.locator("#jb-print-docs-body h1").text_content().strip())
    seen.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert seen.page.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.browser
def test_figures_take_the_readers_colours_where_the_system_prescribes_them(visit):
    seen = visit(CHAPTERS[4], theme="dark", forced_colors="active")
    seen.page.evaluate("document.documentElement.dataset.theme = 'light'")
    at_rest(seen.page)
    words = seen.page.evaluate(
        """() => { const canvas = document.createElement("p"); document.body.append(canvas);
            canvas.style.color = "CanvasText"; return getComputedStyle(canvas).color }"""
    )
    for name in (".rope-live svg text", ".rope-plot text"):
        assert seen.page.locator(name).first.evaluate("(el) => getComputedStyle(el).fill") == words


@pytest.mark.browser
@pytest.mark.parametrize("name", ["Toggle primary sidebar", "Download this page"])
def test_focus_is_seen(visit, name):
    seen = visit(CHAPTERS[1])
    button = seen.page.locator(f'[aria-label="{name}"]').first
    for _ in range(60):
        seen.page.keyboard.press("Tab")
        if button.evaluate("(el) => el === document.activeElement"):
            break
    at_rest(seen.page)
    style = button.evaluate(
        "(el) => { const s = getComputedStyle(el); return [s.outlineStyle, s.outlineWidth] }"
    )
    assert style == ["solid", "3px"]


@pytest.mark.browser
def test_copying_code_is_announced(visit):
    seen = visit(CHAPTERS[1], permissions=["clipboard-read", "clipboard-write"])
    seen.page.locator("div.highlight:visible").first.hover()
    seen.page.locator("button.copybtn:visible").first.click()
    seen.page.wait_for_function(
        "document.querySelector('p[role=status].visually-hidden').textContent === 'Copied'"
    )


@pytest.mark.browser
def test_dark_figures_are_dark(visit):
    seen = visit(CHAPTERS[1], theme="dark")
    paper = seen.page.locator(".rope-live").first.evaluate("(el) => getComputedStyle(el).backgroundColor")
    assert max(rgb(paper)) < 60


@pytest.mark.browser
def test_the_page_of_ten_minutes_prints_on_two_sheets(visit):
    seen = visit("notebooks/00_rope_in_ten_minutes.html")
    assert len(re.findall(rb"/Type\s*/Page\b", seen.page.pdf(prefer_css_page_size=True))) == 2


@pytest.mark.browser
def test_a_small_form_has_one_control_that_answers_and_keeps_its_state_in_the_address(visit):
    seen = visit("notebooks/00_rope_in_ten_minutes.html", maths=False)
    for figure in seen.page.locator(".rl-small").all():
        assert figure.locator(".rl-reset, .rl-python, .rl-more").evaluate_all(
            "(all) => all.every((each) => each.getClientRects().length === 0)"
        )
        (control,) = figure.locator("[data-trait]").all()
        said = figure.locator(".rl-readout").inner_text()
        box = control.locator("input, textarea").first
        if box.get_attribute("type") in ("radio", "range"):
            box.press("ArrowRight")
        else:
            box.fill("pig dog")
            box.press("Enter")
        at_rest(figure.page)
        assert figure.locator(".rl-readout").inner_text() != said
    seen.page.wait_for_function("location.hash.includes('rule=pi')")
    seen.assert_clean()


@pytest.mark.browser
@pytest.mark.parametrize("width", [1200, 360])
def test_words_in_a_small_form_are_never_cut_off(visit, width):
    seen = visit("notebooks/00_rope_in_ten_minutes.html", maths=False, width=width)
    at_rest(seen.page)
    for figure in seen.page.locator(".rl-small").all():
        assert figure.evaluate(CUT_OFF) == []
