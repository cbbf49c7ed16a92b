"""Each figure's script is one self-contained file; its modules import in one form; every other is refused."""

import itertools
import re
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from panels import RULES as RULED

from rope_book.plots import style
from rope_book.widgets import LiveFigure, Question, _bundle
from rope_book.widgets._data import DATA
from rope_book.widgets._modules import FOLDERS, BundleError, constant, read
from rope_book.widgets.maths import stretch

FIGURES = sorted(LiveFigure.figures)
MODULES = sorted(path.relative_to(_bundle.JS).with_suffix("").as_posix() for path in _bundle.JS.rglob("*.js"))


@pytest.mark.parametrize("name", FIGURES)
def test_bundle_imports_nothing(name):
    script = _bundle.module_script(LiveFigure.figures[name].module_name())
    assert not re.search(r"^\s*import\b", script, flags=re.MULTILINE)
    assert re.findall(r"^\s*export .*", script, flags=re.MULTILINE) == [
        f"export default $figures${LiveFigure.figures[name].module_name()}.default;"
    ]
    assert "http" not in re.sub(r"http://www\.w3\.org/2000/svg", "", script)


@pytest.mark.parametrize("name", FIGURES)
def test_page_script_defines_the_figure_under_its_class_name(name):
    module = LiveFigure.figures[name].module_name()
    script = _bundle.page_script(module, name)
    assert f'RopeLive.define("{name}", $figures${module}.default);' in script
    assert f'name: "{name}"' in script
    exports = re.compile(r"^\s*export\b", re.MULTILINE)
    assert exports.search(_bundle.module_script(module))
    assert not exports.search(script)


@pytest.mark.parametrize("name", FIGURES)
def test_in_a_site_a_figure_takes_what_it_shares_from_one_file_and_brings_none_of_it(name):
    whole = _bundle.modules(f"figures/{LiveFigure.figures[name].module_name()}")
    script = _bundle.page_script(LiveFigure.figures[name].module_name(), name, alone=False)
    begins = re.compile(r"^const (\S+) = \(\(\) => \{$", re.MULTILINE)
    named = {constant(each): each for each in (*whole, *_bundle.modules(*_bundle.SHARED))}
    shared, own = (
        [named[each] for each in begins.findall(text) if each in named]
        for text in (_bundle.shared_script(), script)
    )
    assert "lib/figure" in shared
    assert own == [each for each in whole if each not in shared]
    assert set(whole) <= {*shared, *own}
    taken = re.search(r"^const \{ (.*) \} = RopeLive\.shared;$", script, re.MULTILINE)[1].split(", ")
    assert taken == [constant(each) for each in shared]


def test_every_script_belongs_to_a_figure():
    scripts = {name.removeprefix("figures/") for name in MODULES if name.startswith("figures/")}
    figures = {figure.module_name() for figure in LiveFigure.figures.values()}
    assert scripts == figures | {Question.SCRIPT, "review"}  # the page of that name has no class in Python


def test_every_other_script_and_all_data_serve_a_figure_or_the_real_model():
    figures = (name for name in MODULES if name.startswith("figures/"))
    served = set(_bundle.modules(*figures, "real/page", "maths/fern_of_config"))
    assert served == {*MODULES, *(f"data/{name}" for name in DATA)}


@pytest.mark.parametrize("name", MODULES)
def test_imports_go_one_way(name):
    own = FOLDERS.index(name.partition("/")[0])
    for other, _, _ in _bundle.module(name).imports:
        room = FOLDERS.index(other.partition("/")[0])
        assert room <= own
        assert (room, own) != (FOLDERS.index("figures"),) * 2


@pytest.mark.parametrize("name", [name for name in MODULES if not name.startswith("figures/")])
def test_a_file_does_one_job(name):
    assert len(_bundle.source(name).splitlines()) <= 170


REFUSED = {
    "maths/a": [
        (
            '\nimport { live } from "../lib/figure.js";\nimport { x } from "../figures/b.js";\n',
            3,
            "not ../figures/b.js",
        ),
        ("export default 3;\n", 1, "only these"),
        ("\n\nexport let x = 3;\n", 3, "only these"),
        ('export { x } from "./b.js";\n', 1, "only these"),
        ('import x from "./b.js";\n', 1, "only these"),
        ('import "./b.js";\n', 1, "only these"),
        ('import { x } from "d3";\n', 1, "a file of js/"),
        ('import { x } from "https://example.com/x.js";\n', 1, "a file of js/"),
        ('\nconst late = () => import("./b.js");\n', 2, "cannot import at run time"),
    ],
    "lib/a": [('import { x } from "../maths/b.js";\n', 1, "lib may import from data, lib")],
    "figures/a": [('import { x } from "./b.js";\n', 1, "figures may import from data, lib, maths")],
}


@pytest.mark.parametrize(
    ("name", "text", "line", "words"), [(name, *case) for name, cases in REFUSED.items() for case in cases]
)
def test_what_cannot_be_bundled_is_refused_with_file_and_line(name, text, line, words):
    with pytest.raises(BundleError, match=rf"^js/{name}\.js:{line}: .*{re.escape(words)}"):
        read(name, text)


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Bundle modules that a test writes: written({"lib/a": "export const x = 1;"})."""
    caches = (_bundle.source, _bundle.module, _bundle.module_script)

    def write(texts):
        for name, text in texts.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / f"{name}.js").write_text(text, encoding="utf-8")

    with monkeypatch.context() as patch:
        patch.setattr(_bundle, "JS", tmp_path)
        for cached in caches:
            cached.cache_clear()
        yield write
    for cached in caches:
        cached.cache_clear()


def test_a_name_that_nobody_exports_is_refused(written):
    written({"lib/a": "export const x = 1;\n", "maths/b": '\nimport { x, y } from "../lib/a.js";\n'})
    with pytest.raises(BundleError, match=r"^js/maths/b\.js:2: js/lib/a\.js exports no y$"):
        _bundle.modules("maths/b")


def test_a_circle_is_refused(written):
    written({"lib/a": 'import { x } from "./b.js";\n', "lib/b": 'import { y } from "./a.js";\n'})
    with pytest.raises(BundleError, match="in a cycle: lib/a → lib/b → lib/a"):
        _bundle.modules("lib/a")


def test_importing_the_figures_reads_no_script():
    caches = "[cached.cache_info().currsize for cached in (source, style)]"
    code = f"from rope_book.widgets._bundle import source, style; print({caches})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[0, 0]\n"


def test_a_subclass_of_a_figure_draws_as_its_figure():
    class Mine(LiveFigure.figures["RotatePair"]):
        """A figure that a reader derives from ours."""

    assert Mine(position=3)._esm == LiveFigure.figures["RotatePair"]()._esm
    assert "Mine" not in LiveFigure.figures


def test_one_colour_means_one_thing_in_both_kinds_of_picture():
    script = _bundle.source("lib/colour")
    for role in ("query", "key", "position", "score", "value"):
        name = {"query": "q", "key": "k"}.get(role, role)
        assert f'{name}: "{getattr(style, role.upper())}"' in script


def test_colour_maps_are_the_named_ones():
    for name, called in (("viridis", style.SEQUENTIAL), ("diverging", style.DIVERGING)):
        stops = re.search(rf'{name} = ramp\(\s*"([0-9a-f ]+)"', _bundle.source("lib/colour"))[1].split()
        true = matplotlib.colormaps[called]
        for i, stop in enumerate(stops):
            expected = [round(255 * c) for c in true(i / (len(stops) - 1))[:3]]
            found = [int(stop[j : j + 2], 16) for j in (0, 2, 4)]
            assert max(abs(a - b) for a, b in zip(found, expected, strict=True)) <= 2


def themes() -> list[dict[str, str]]:
    """Return the style sheet's colours by name, light and dark."""
    blocks = re.findall(r"(?:--rl-[a-z-]+: #[0-9a-f]{6};\s*){10,}", _bundle.style())
    return [dict(re.findall(r"--rl-([a-z-]+): (#[0-9a-f]{6});", block)) for block in blocks]


def luminance(colour: str) -> float:
    """Return the relative luminance, by WCAG."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def test_a_rule_has_one_colour_in_figures_and_plots_which_both_grounds_carry():
    assert set(style.RULES) == {"rope", *RULED} == set(stretch.RULES)
    light, dark = themes()
    script = _bundle.source("lib/colour")
    for rule, name in RULED.items():
        assert light[name] == style.RULES[rule].lower()
        assert f'{name}: "{style.RULES[rule]}"' in script
        assert f"var(--rl-{name})" in script
        for theme in (light, dark):
            bright, dim = sorted((luminance(theme[name]), luminance(theme["paper"])), reverse=True)
            assert (bright + 0.05) / (dim + 0.05) >= 3, f"{rule} on {theme['paper']}"
    hues = [colour for rule, colour in style.RULES.items() if rule != "rope"]
    assert len({*hues, style.QUERY, style.KEY, style.POSITION, style.SCORE, style.VALUE}) == len(hues) + 5


UNSEEN = {
    "clocks",
    "model_in_the_page",
    "score_under_rules",
    "stretched_clocks",
    "trained_turns",
    "what_turns",
}  # draw such places
RULE = re.compile(
    r"""^\s*\{?\s*(?:name: )?"?(?:pi|ntk-aware|abf|ntk-by-parts|yarn|llama3|YaRN|Llama 3)\b.*stroke: (.*)""",
    re.M,
)


@pytest.mark.parametrize("figure", sorted(path.stem for path in (_bundle.JS / "figures").glob("*.js")))
def test_figures_speak_the_grammar_of_colours(figure):
    source = _bundle.source(f"figures/{figure}")
    assert not re.search(r"#[0-9a-fA-F]{6}|rgb\(|var\(--", source), "a colour is named in lib/colour alone"
    for style_of in RULE.findall(source):
        assert style_of.startswith("ruleInk"), f"a rule has its colour: {style_of}"
    assert not re.search(r"[sS]hade\((?:tint|TINT|wave|speed\()", source), "speeds are drawn by speedShade"
    if figure in UNSEEN:
        assert "lib/marks.js" in source, "what training never showed has one mark"


PINK = re.compile(r"\bink\.score(?:Words)?\b")
PART = re.compile(
    r"^(?=(?:export )?(?:const|(?:async )?function)\b)", re.M
)  # a function or constant of a script
SCORES = {  # what draws in pink and is a score, although its own lines do not say so
    "base_bound drawCurve": "the mean cosine is the score of equal vectors",
    "complex_plane drawSteady": "the dots of line 6",
    "complex_plane sceneOfProduct": "the product, whose real part is the score",
    "complex_plane panelOfProduct": "its length",
    "fern drawRules": "the tip's height",
    "score_distance drawWaves": "the waves that add up to it",
    "score_distance draw": "where they are at this distance",
    "which_bug STARTS": "the lines of the score from three starts",
}


def pink_parts(source: str) -> list[str]:
    """Return the names of a script's functions that draw in pink and do not speak of a score."""
    found = [
        part
        for part in PART.split(source)
        if PINK.search(part) and not re.search(r"scor", PINK.sub("", part), re.I)
    ]
    return [re.search(r"(?:function|const) (\w+)", part)[1] for part in found]


@pytest.mark.parametrize("figure", sorted(path.stem for path in (_bundle.JS / "figures").glob("*.js")))
def test_pink_is_the_score_and_nothing_else(figure):
    known = [name.split()[1] for name in SCORES if name.split()[0] == figure]
    assert sorted(pink_parts(_bundle.source(f"figures/{figure}"))) == sorted(known)


@pytest.mark.parametrize(
    ("figure", "right", "part"),
    [
        ("cache_steps", "full: 816", "COSTS"),
        ("rotate_pair", "{ fill: ink.position, opacity: 0.25 }", "drawBetween"),
        (
            "sentence_attention",
            "pen.rect(x - 0.5, y - 0.5, cell, row - GAP + 1, { stroke: ink.text",
            "drawSquare",
        ),
    ],
)
def test_work_an_angle_and_a_change_in_pink_are_seen(figure, right, part):
    source = _bundle.source(f"figures/{figure}")
    line = next(line for line in source.splitlines() if right in line and "ink." in line)
    faulty = source.replace(line, re.sub(r"ink\.\w+", "ink.score", line))
    assert part not in pink_parts(source)
    assert part in pink_parts(faulty)


def lab(colour: str) -> np.ndarray:
    """Return a colour in OKLab, in which equal steps look alike."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    cones = np.cbrt(TO_CONES @ linear)
    return TO_LAB @ cones


TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.793617785, -0.0040720468],
        [1.9779984951, -2.428592205, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
APART = 0.06  # in OKLab: two lines of these colours are told apart side by side
CLEAR = 0.1  # the same where nothing beside it helps: no line passes for the pink of the score


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_there_is_one_orange_and_no_two_roles_look_alike(theme):
    colours = themes()[theme]
    roles = ["q", "k", "position", "score", "value", "other", *RULED.values()]
    for one, two in itertools.combinations(roles, 2):
        apart = float(np.linalg.norm(lab(colours[one]) - lab(colours[two])))
        least = CLEAR if "score" in (one, two) else APART
        assert apart >= least, f"{one} and {two}: {apart:.3f}"
