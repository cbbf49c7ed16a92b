"""What figures draw can be seen on both grounds: lines at 3 to 1, words at 4.5 to 1."""

import pytest

from rope_book.widgets import LiveFigure

from .conftest import SITE, paper

pytestmark = pytest.mark.browser
LINE, WORDS = 3, 4.5  # to 1, by WCAG
HALO = "--rl-position × 0.3"  # around a line of the same colour that is dark enough
FAINT_ON_PURPOSE = {  # what is not yet there, a rail that leads on, and a halo
    "Fern": {"polyline --rl-score × 0.8", "path --rl-other-line × 0.5"},
    "WhichBug": {f"line {HALO}", f"path {HALO}", f"polyline {HALO}"},
    "WordsOnARail": {"text --rl-muted × 0.45"},
}


@pytest.fixture(scope="module")
def sheet(browser):
    """An empty page with the figures' style, and a place 760 px wide."""
    page = paper(browser)
    page.add_style_tag(content="#place { width: 760px }")
    yield page
    page.close()


# the lines and words that are too faint on the paper of a theme; grid lines are no content, and words on a coloured
# field have the ink that its colour asks for
FAINT = """([state, theme, least]) => {
    document.documentElement.dataset.theme = theme;
    const place = document.querySelector("#place");
    const model = { get: (key) => state[key], set() {}, save_changes() {}, on() {}, off() {} };
    const stop = figure.render({ model, el: place });
    place.firstChild.still();
    const style = getComputedStyle(place.firstChild);
    const named = (name) => style.getPropertyValue(name).trim();
    const parts = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255);
    const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const light = (rgb) => rgb.reduce((sum, c, i) => sum + [0.2126, 0.7152, 0.0722][i] * linear(c), 0);
    const paper = parts(named("--rl-paper"));
    const contrast = (name, opacity) => {
        const ink = parts(named(name)).map((c, i) => opacity * c + (1 - opacity) * paper[i]);
        const [dim, bright] = [light(ink), light(paper)].sort((a, b) => a - b);
        return (bright + 0.05) / (dim + 0.05);
    };
    const nameOf = (colour) => colour?.match(/^var\\((--rl-[a-z-]+)\\)$/)?.[1];
    const bare = ["--rl-grid", "--rl-paper", "--rl-on-other"];
    const found = [...place.querySelectorAll(".rl-picture svg g:not([class]) *")].flatMap((node) => {
        const isText = node.tagName === "text";
        const name = nameOf(node.getAttribute(isText ? "fill" : "stroke"));
        const opacity = Number(node.getAttribute("opacity") ?? 1);
        const empty = opacity === 0 || (isText && !node.textContent.trim());
        if (!name || bare.includes(name) || empty) return [];
        const enough = contrast(name, opacity) >= least[isText ? "words" : "line"];
        return enough ? [] : [`${node.tagName} ${name} × ${opacity}`];
    });
    stop();
    return [...new Set(found)];
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lines_and_words_stand_out_from_the_paper(sheet, name, theme):
    sheet.add_script_tag(path=SITE / "_static" / "live" / f"{name}.js")
    made = LiveFigure.figures[name]()
    state = {**made.values(), "_controls": made._controls}
    found = set(sheet.evaluate(FAINT, [state, theme, {"line": LINE, "words": WORDS}]))
    assert found <= FAINT_ON_PURPOSE.get(name, set())


@pytest.mark.parametrize("name", ["RotatePair"], indirect=True)
def test_a_faint_line_and_faint_words_are_seen(sheet, name):
    sheet.add_script_tag(path=SITE / "_static" / "live" / f"{name}.js")
    made = LiveFigure.figures[name]()
    state = {**made.values(), "_controls": made._controls}
    found = sheet.evaluate(FAINT, [state, "light", {"line": 7, "words": 9}])
    assert {part.split()[0] for part in found} >= {"text", "polyline"}
