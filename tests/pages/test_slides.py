"""The slides of the lecture move by keys, and their figures live, in every engine."""

import shutil

import embed
import pytest

from .conftest import ROOT
from .test_engines import until

pytestmark = pytest.mark.browser
SHOWN = "const shown = document.querySelectorAll('main > section.now'); return shown.length === 1 && "
PLACE = "document.querySelector('#place').textContent"


@pytest.fixture(scope="module")
def deck(tmp_path_factory) -> str:
    """Put the deck beside the figures that it uses; its address."""
    site = tmp_path_factory.mktemp("site")
    embed.write(site / "embed")
    shutil.copytree(ROOT / "book" / "slides", site / "slides")
    return (site / "slides" / "slides.html").as_uri()


def test_keys_bring_answers_and_slides_and_a_question_sets_its_figure(engine, deck):
    engine.open(deck)
    until(engine, f"return {PLACE} === '1 of 18'")
    engine.press("ArrowRight")
    until(engine, f"{SHOWN} {PLACE} === '2 of 18'")
    until(
        engine,
        "return Boolean(document.querySelector('.now rope-figure').shadowRoot?.querySelector('[data-ready]'))",
    )
    told = "getComputedStyle(document.querySelector('.now .answer')).visibility === 'visible'"
    assert engine.js(f"return {told}") is False
    engine.press("ArrowRight")
    until(engine, f"return {told} && {PLACE} === '2 of 18'")
    engine.press("ArrowRight")
    until(engine, f"return {PLACE} === '3 of 18'")
    engine.press("ArrowLeft")
    until(engine, f"return {told} && {PLACE} === '2 of 18'")
    engine.js("location.hash = '#5'")
    until(engine, f"return {PLACE} === '5 of 18'")
    engine.press("ArrowRight")
    line = (
        "document.querySelector('.now rope-figure').shadowRoot.querySelector('.rl-python code').textContent"
    )
    until(engine, f"return {line} === 'RotatePair(position=16)'")


def test_an_arrow_that_moves_a_slider_moves_no_slide(engine, deck):
    engine.open(f"{deck}#3")
    figure = "document.querySelector('.now rope-figure').shadowRoot"
    until(engine, f"return Boolean({figure}?.querySelector('[data-ready]'))")
    engine.js(f"{figure}.querySelector('input[type=range]').focus()")
    engine.press("ArrowRight")
    until(engine, f"return {figure}.querySelector('input[type=range]').value === '5'")
    assert engine.js(f"return {PLACE}") == "3 of 18"
