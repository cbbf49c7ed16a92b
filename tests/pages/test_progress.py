"""What was read is marked, in this browser only; a chosen path says what comes next; one button forgets both."""

import re

import pytest
import yaml
from playwright.sync_api import expect

from .conftest import CHAPTERS, ROOT, SITE, settle
from .test_engines import until
from .test_pages import violations

pytestmark = pytest.mark.browser
FOURTH, FIFTH = CHAPTERS[4], CHAPTERS[5]  # after the ten-minute page
PATHS = {
    path["key"]: path for path in yaml.safe_load((ROOT / "book/data/paths.yml").read_text(encoding="utf-8"))
}
STORED = 'localStorage.getItem("rope-turn-by-turn")'
NO_STORE = """for (const name of ["getItem", "setItem", "removeItem"]) {
    const kept = Storage.prototype[name];
    Storage.prototype[name] = function (key, ...rest) {
        if (key === "rope-turn-by-turn") throw new DOMException("not here", "SecurityError");
        return kept.call(this, key, ...rest);
    };
}"""
FORGETS = 'localStorage.removeItem("rope-turn-by-turn")'
TO_THE_END = "document.querySelector('.prev-next-footer').scrollIntoView()"
FORGET = "Forget what I have read"


def ticked(page) -> list[str]:
    """Return what a screen reader hears of the links in the sidebar that are marked."""
    return page.locator(".bd-sidebar-primary a.is-read").all_text_contents()


# returns once the page has heard that its end has come into sight, or has left it
END = """(wanted) => new Promise((done) => {
    const heard = ([end], watch) => end.isIntersecting === wanted && done(watch.disconnect());
    new IntersectionObserver(heard).observe(document.querySelector(".prev-next-footer"));
    if (wanted) document.querySelector(".prev-next-footer").scrollIntoView();
    else scrollTo(0, 0);
})"""
HOUR = 3600  # seconds: by then a page is drawn


def test_a_page_is_marked_when_its_end_was_seen_for_a_moment(reader):
    seen = reader.blank(fresh=True)
    page = seen.page
    page.clock.install(time=0)
    page.goto(seen.root + FOURTH)
    settle(page, maths=False)
    page.clock.pause_at(HOUR)  # from now on it goes when it is told to, so that a busy machine is no reader
    assert page.evaluate(STORED) is None
    assert ticked(page) == []
    page.evaluate(END, True)
    page.clock.run_for(1400)
    page.evaluate(END, False)
    page.clock.run_for(5000)
    assert ticked(page) == [], "its end was passed, not read"
    page.evaluate(END, True)
    page.clock.run_for(1600)
    expect(page.locator(".bd-sidebar-primary a.is-read")).to_have_count(1)
    assert ticked(page) == ["4. Rotate one pair 12 min, read"]
    page.context.close()


def test_marks_stay_and_one_button_forgets_them(visit):
    seen = visit(FOURTH, maths=False, fresh=True)
    page = seen.page
    page.locator("a.right-next").click()
    page.wait_for_url(f"**/{FIFTH}")
    page.wait_for_selector(".bd-sidebar-primary a.is-read")
    assert ticked(page) == ["4. Rotate one pair 12 min, read"]
    settle(page, maths=False)
    assert violations(page) == []
    page.get_by_role("button", name=FORGET).click()
    expect(page.locator(".bd-sidebar-primary a.is-read")).to_have_count(0)
    assert page.evaluate(STORED) is None
    assert not page.get_by_role("button", name=FORGET).is_visible()
    page.wait_for_function("document.activeElement.textContent.startsWith('Nothing is marked')")
    seen.assert_clean()


def test_a_path_says_what_is_next_and_where_it_ends(visit):
    path = PATHS["hour"]
    first, second, last = path["pages"]
    page = visit(f"{first}.html?path=hour", maths=False, fresh=True).page
    box = page.locator(".path-next:visible")
    assert box.text_content() == "On the one-hour path, next: 7. Turn the matrix into code"
    box.locator("a").click()
    page.wait_for_url(f"**/{second}.html")
    assert ticked(page) == ["4. Rotate one pair 12 min, read"]
    assert box.locator("a").count() == len(last)
    assert " or " in box.text_content()
    settle(page, maths=False)
    assert violations(page) == []
    box.locator("a").last.click()
    page.wait_for_url(f"**/{last[-1]}.html")
    assert page.locator(".path-next:visible").text_content() == "This is the end of the one-hour path."


def test_the_landing_page_offers_the_paths_with_their_time(visit):
    seen = visit("book/index.html", maths=False, fresh=True)
    for path in PATHS.values():
        offered = seen.page.locator(
            "article li", has=seen.page.get_by_role("link", name=path["name"], exact=True)
        )
        pages = [page for step in path["pages"] for page in ([step] if isinstance(step, str) else step)]
        there = path["pages"] == "all" or all((SITE / f"{page}.html").is_file() for page in pages)
        assert offered.count() == there, path["key"]
        assert not there or re.search(r"about [\d½]+ (minutes|hours)", offered.text_content())
    seen.page.get_by_role("link", name="1 hour", exact=True).click()
    seen.page.wait_for_url("**?path=hour")
    seen.page.wait_for_selector(".path-next:not([hidden])")
    seen.assert_clean()


@pytest.mark.parametrize("query", ["", "?path=nowhere", "?path=__proto__", "?path=constructor"])
def test_without_a_path_there_is_no_box(tab, query):
    seen = tab(FOURTH + query, maths=False, script=FORGETS)
    assert seen.page.locator(".path-next:visible").count() == 0
    seen.assert_clean()


def test_a_page_off_the_path_has_no_box(visit):
    page = visit(f"{PATHS['hour']['pages'][0]}.html?path=hour", maths=False, fresh=True).page
    page.goto(page.url.replace(FOURTH, FIFTH).partition("?")[0])
    page.wait_for_selector(".progress-foot button:visible")
    assert page.locator(".path-next:visible").count() == 0


@pytest.mark.parametrize(
    "rubbish", ["", "{", "null", "[]", '{"read": "x", "path": 7}', '{"read": [1, null]}']
)
def test_what_others_left_there_does_no_harm(tab, rubbish):
    tab("_static/logo.svg", wait=False, maths=False).page.evaluate(
        "(rubbish) => localStorage.setItem('rope-turn-by-turn', rubbish)", rubbish
    )
    seen = tab(FOURTH, maths=False)
    assert ticked(seen.page) == []
    seen.assert_clean()


def test_where_nothing_may_be_kept_a_mark_lasts_as_long_as_the_page(visit):
    seen = visit(f"{FOURTH}?path=hour", maths=False, fresh=True, script=NO_STORE)
    assert seen.page.locator(".path-next:visible").count() == 1
    seen.page.evaluate(TO_THE_END)
    seen.page.wait_for_selector(".bd-sidebar-primary a.is-read")
    seen.assert_clean()


def test_it_works_from_a_folder(visit):
    seen = visit(f"{FOURTH}?path=day", maths=False, fresh=True, root=SITE.as_uri() + "/")
    seen.page.evaluate(TO_THE_END)
    seen.page.wait_for_selector(".bd-sidebar-primary a.is-read")
    assert "one-day path" in seen.page.locator(".path-next:visible").text_content()
    seen.assert_clean()


ENDED = "return document.querySelectorAll('.bd-sidebar-primary a.is-read .read-word').length === 1"


def test_a_page_is_marked_in_every_engine(engine, watched):
    engine.open(f"{watched}{FOURTH}")
    engine.js("localStorage.removeItem('rope-turn-by-turn')")  # what other tests have read in this engine
    engine.open(f"{watched}{FOURTH}?path=hour")
    engine.js(TO_THE_END)
    until(engine, ENDED)
    assert engine.js(
        "return document.querySelector('.path-next:not([hidden])').textContent.startsWith('On the one-hour path')"
    )
    engine.js("document.querySelector('.progress-foot button').click()")
    until(engine, "return document.querySelectorAll('.bd-sidebar-primary a.is-read').length === 0")
