"""A live figure in a page that is not the book's: one script, one element, styles that stay at home."""

import embed
import pytest

from rope_book.widgets import LiveFigure

from .test_engines import frames, until

pytestmark = pytest.mark.browser

HOSTILE = """
html { font-size: 5px; }
* { all: unset; font: italic 40px/3 cursive !important; letter-spacing: 1em !important; color: red !important;
    text-transform: uppercase !important; box-sizing: content-box !important; position: static !important; }
svg, input, button, div, p, code { display: none !important; width: 3px !important; opacity: 0.1 !important; }
.rope-live, .rl-picture, .rl-control { border: 20px solid lime !important; padding: 99px !important; }
body { --rl-paper: red; --rl-text: red; direction: rtl; text-align: right; visibility: visible; }
html, head, body, rope-figure, section { display: block !important; }
head, script, style { display: none !important; }
section { width: 700px !important; }
"""
ROOT = "document.querySelector('rope-figure').shadowRoot"
READY = """const all = [...document.querySelectorAll('rope-figure')];
return all.length === 2 && all.every((each) => each.shadowRoot?.querySelector('[data-ready]'))"""
# the first figure is in sight, and what pulses then has pulsed
CALM = f"""const root = {ROOT}.querySelector('.rope-live');
for (const pulse of root.getAnimations({{ subtree: true }})) pulse.finish();
return root.classList.contains('rl-seen')"""
LINE = f"return {ROOT}.querySelector('.rl-python code').textContent"
# every element of the figure: where it is from the figure's corner, and how it is painted
LOOKS = f"""const root = {ROOT}.querySelector('.rope-live');
const corner = root.getBoundingClientRect();
const asked = ['display', 'fontSize', 'fontFamily', 'fontStyle', 'letterSpacing', 'lineHeight', 'color',
    'backgroundColor', 'textTransform', 'opacity', 'direction', 'textAlign', 'borderTopWidth', 'paddingTop',
    'boxSizing'];
return [...root.querySelectorAll('*')].map((element) => {{
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    const drawn = element.getClientRects().length > 0; // what is hidden has no place
    const sides = drawn ? [box.left - corner.left, box.top - corner.top, box.width, box.height] : [];
    const place = sides.map((x) => Math.round(4 * x));
    return [element.tagName, ...place, ...asked.map((name) => style[name])].join(' ');
}})"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write two pages of somebody else: one that styles nothing, and one that styles everything."""
    made = tmp_path_factory.mktemp("foreign")
    for name in ("RotatePair", "Clocks"):
        figure = LiveFigure.figures[name]
        (made / f"{figure.module_name()}.js").write_text(embed.script(figure), encoding="utf-8")
    for page, style in (("calm", "body { margin: 0 } section { width: 700px }"), ("hostile", HOSTILE)):
        (made / f"{page}.html").write_text(
            f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Not ours</title>
<script>window.book = {{ errors: [] }};
addEventListener("error", ({{ message }}) => book.errors.push(message));
addEventListener("rope-change", ({{ detail }}) => (book.heard = detail));</script>
<style>{style}</style></head><body><p id="theirs">Their words.</p>
<section><rope-figure name="RotatePair" position="9" key-position="4">It needs a script.</rope-figure></section>
<section><rope-figure name="Clocks" theme="dark"></rope-figure></section>
<script src="rotate_pair.js"></script><script src="clocks.js"></script></body></html>""",
            encoding="utf-8",
        )
    return made


def test_a_figure_lives_in_a_foreign_page_and_no_style_crosses_its_edge(engine, folder):
    looks = {}
    for page in ("calm", "hostile"):
        engine.open((folder / f"{page}.html").as_uri())
        until(engine, READY)
        until(engine, CALM)
        frames(engine)
        engine.js(CALM)
        looks[page] = engine.js(LOOKS)
    assert len(looks["calm"]) > 60
    differing = [pair for pair in zip(looks["calm"], looks["hostile"], strict=True) if pair[0] != pair[1]]
    assert not differing, differing[:3]
    assert engine.js("return document.adoptedStyleSheets.length + document.styleSheets.length") == 1
    assert engine.js("return getComputedStyle(document.querySelector('#theirs')).fontSize") == "40px"
    assert engine.js("return book.errors") == []


def test_attributes_are_the_state_that_reset_returns_to_and_a_hand_is_told_of(engine, folder):
    engine.open((folder / "calm.html").as_uri())
    until(engine, READY)
    assert engine.js(LINE) == "RotatePair(position=9, key_position=4)"
    figure = "document.querySelector('rope-figure')"
    engine.js(f"{figure}.setAttribute('position', '12')")
    until(engine, f"{LINE} === 'RotatePair(position=12, key_position=4)'")
    engine.js(f"{figure}.setAttribute('position', '1000')")
    until(engine, f"{LINE} === 'RotatePair(position=64, key_position=4)'")
    engine.js(f"{ROOT}.querySelector('[data-trait=position] input').focus()")
    engine.press("ArrowLeft")
    until(engine, "return book.heard?.position === 63")
    engine.js(f"[...{ROOT}.querySelectorAll('button')].find((b) => b.textContent === 'Reset').click()")
    until(engine, f"{LINE} === 'RotatePair(position=9, key_position=4)'")
    engine.js(
        "setTimeout(() => (book.later = true), 500)"
    )  # a figure of the book writes its address after 300
    until(engine, "return book.later")
    assert "live=" not in engine.js("return location.hash")  # the page's address is its own
    assert engine.js("return book.errors") == []


def test_the_element_says_what_is_light_and_what_is_dark(engine, folder):
    engine.open((folder / "calm.html").as_uri())
    until(engine, READY)
    paint = "(each) => getComputedStyle(each.shadowRoot.querySelector('.rope-live')).backgroundColor"
    paint = f"return [...document.querySelectorAll('rope-figure')].map({paint})"
    assert engine.js(paint) == ["rgb(255, 255, 255)", "rgb(20, 24, 30)"]


def test_an_element_that_is_taken_away_and_put_back_is_drawn_again(engine, folder):
    engine.open((folder / "calm.html").as_uri())
    until(engine, READY)
    engine.js(
        "const it = document.querySelector('rope-figure'), place = it.parentNode; it.remove(); place.append(it);"
    )
    until(engine, READY)
    frames(engine)
    assert engine.js(f"return {ROOT}.querySelectorAll('.rope-live').length") == 1
    assert engine.js("return book.errors") == []
