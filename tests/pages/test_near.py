"""Figures further down a page wait until the reader comes near, so that a page opens at once."""

import re

import pytest

from .conftest import SITE
from .test_engines import until

pytestmark = pytest.mark.browser
TEN_MINUTES = "notebooks/00_rope_in_ten_minutes.html"
MANY = "notebooks/16_blend_by_wavelength.html"
WAITING = "return document.querySelectorAll('template[data-near]').length"
READY = "return Boolean(document.querySelector('[data-live={}][data-ready=true]'))"
TAB_STOPS = "els => els.filter((el) => el.hasAttribute('tabindex')).length"


def names(page: str) -> list[str]:
    """Return the figures of a page that wait."""
    text = (SITE / page).read_text(encoding="utf-8")
    return re.findall(r'<template data-near="[^"]*live/(\w+)\.js', text)


def test_a_figure_is_fetched_when_the_reader_comes_near(engine, watched):
    engine.open(f"{watched}{TEN_MINUTES}")
    until(engine, READY.format("OrderBlindness"))
    until(engine, "return document.readyState === 'complete'")
    fetched = "return performance.getEntriesByType('resource').map(({ name }) => name).join(' ')"
    assert "ModelInThePage" in names(TEN_MINUTES)[-1]
    assert "ModelInThePage" not in engine.js(fetched)
    engine.js("document.querySelector('.live-slot:has(+ [data-near*=ModelInThePage])').scrollIntoView()")
    until(engine, READY.format("ModelInThePage"))
    assert engine.js(WAITING) == 0  # all above it are alive, too
    assert engine.js("return book.errors") == []


def test_an_address_wakes_the_figure_it_names_and_leads_to_it(engine, watched):
    last = names(TEN_MINUTES)[-1]
    engine.open(f"{watched}{TEN_MINUTES}#live={last}&times=4")
    until(engine, READY.format(last))
    top = f"document.querySelector('[data-live={last}]').getBoundingClientRect().top"
    until(engine, f"return {top} >= 0 && {top} < innerHeight / 2")


def test_a_jump_wakes_every_figure_on_the_way(visit):
    page = visit(MANY, wait=False).page
    waiting = names(MANY)
    assert page.locator("template[data-near]").count() >= len(waiting) - 2
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_function("!document.querySelector('template[data-near]')")
    assert page.locator("[data-live][data-ready]").count() >= len(waiting)


def test_a_button_of_code_sets_a_figure_that_came_late(visit):
    page = visit("notebooks/04_rotate_one_pair.html", wait=False).page
    page.locator(".live-set").first.scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('[data-live][data-ready]')")
    words = page.locator("[data-live] .rl-python code").first
    before = words.text_content()
    page.locator(".live-set").first.click()
    page.wait_for_function(
        "(old) => document.querySelector('.rl-python code').textContent !== old", arg=before
    )


def test_what_is_folded_away_is_not_measured(visit):
    page = visit("notebooks/18_break_and_mend_a_model.html", wait=False, maths=False).page
    page.wait_for_timeout(500)  # the theme's script would have run
    inside = page.locator("details:not([open]) pre")
    assert inside.count() > 3
    assert inside.evaluate_all(TAB_STOPS) == 0
    assert page.locator("pre[tabindex='-1']").count() == 0
