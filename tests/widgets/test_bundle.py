"""Each figure's script is one self-contained file with what it needs and nothing from elsewhere."""

import re

import matplotlib
import pytest

from rope_edu.plots import style
from rope_edu.widgets import LiveFigure, _bundle

FIGURES = sorted(LiveFigure.figures)


@pytest.mark.parametrize("name", FIGURES)
def test_bundle_imports_nothing(name):
    script = _bundle.module_script(LiveFigure.figures[name].module_name())
    assert not re.search(r"^\s*(import|export (?!default))", script, flags=re.MULTILINE)
    assert script.count("export default live(") == 1
    assert "http" not in re.sub(r"http://www\.w3\.org/2000/svg", "", script)


@pytest.mark.parametrize("name", FIGURES)
def test_top_level_names_of_a_bundle_differ(name):
    script = _bundle.module_script(LiveFigure.figures[name].module_name())
    names = re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", script, flags=re.MULTILINE)
    assert len(names) == len(set(names)), sorted({n for n in names if names.count(n) > 1})


@pytest.mark.parametrize("name", FIGURES)
def test_page_script_defines_the_figure_under_its_class_name(name):
    script = _bundle.page_script(LiveFigure.figures[name].module_name(), name)
    assert f'RopeLive.define("{name}", figure);' in script
    assert f'name: "{name}"' in script
    assert "export" not in re.sub(r"//.*|/\*.*?\*/", "", script, flags=re.DOTALL)


def test_every_script_belongs_to_a_figure():
    scripts = {path.stem for path in _bundle.JS.glob("*.js")} - {"rope", "figure"}
    assert scripts == {figure.module_name() for figure in LiveFigure.figures.values()}


def test_one_colour_means_one_thing_in_both_kinds_of_picture():
    script = _bundle.source("figure")
    for role in ("query", "key", "position", "score", "value"):
        name = {"query": "q", "key": "k"}.get(role, role)
        assert f'{name}: "{getattr(style, role.upper())}"' in script


def test_colour_maps_are_the_named_ones():
    for name in ("viridis", "cividis"):
        stops = re.search(rf'{name} = ramp\(\s*"([0-9a-f ]+)"', _bundle.source("figure"))[1].split()
        true = matplotlib.colormaps[name]
        for i, stop in enumerate(stops):
            expected = [round(255 * c) for c in true(i / (len(stops) - 1))[:3]]
            found = [int(stop[j : j + 2], 16) for j in (0, 2, 4)]
            assert max(abs(a - b) for a, b in zip(found, expected, strict=True)) <= 2
