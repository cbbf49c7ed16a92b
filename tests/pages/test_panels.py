"""Panels hold what the figure shows, in the colours of the page, the same on every run."""

import base64
import io
import re
from xml.etree import ElementTree

import nbformat
import numpy as np
import panels
import pytest
from matplotlib.figure import Figure
from PIL import Image

from rope_book import plots

from .conftest import ROOT

SVG = "{http://www.w3.org/2000/svg}"
FIELD = np.arange(12.0).reshape(3, 4)


def figure() -> Figure:
    """A field beside two curves, as a chapter draws them."""
    drawn = Figure(figsize=(8, 4), layout="constrained")
    left, right = drawn.subplots(1, 2)
    plots.heatmap(
        left, FIELD, x_label="key (token)", y_label="query (token)", value_label="score", annotate=True
    )
    lines = {"q": [1, 2, 3], "k": [3, 2, 1]}
    colours = {"q": plots.QUERY, "k": plots.KEY}
    plots.curves(right, [1, 2, 3], lines, x_label="distance (tokens)", y_label="score", colours=colours)
    left.set_title("a field")
    return drawn


@pytest.fixture(scope="module")
def made() -> list[str]:
    return panels.panels(figure())


def test_every_axes_with_its_colour_bar_is_a_panel_of_a_phones_width(made):
    assert len(made) == 2
    for panel in made:
        _, _, width, height = map(float, ElementTree.fromstring(panel).get("viewBox").split())
        assert width == pytest.approx(72 * panels.WIDTH)
        assert 72 * panels.FLAT * panels.WIDTH <= height + 0.1 <= 72 * panels.TALL * panels.WIDTH


def test_text_stays_text_and_is_as_large_as_can_be_read(made):
    words = {text.text for panel in made for text in ElementTree.fromstring(panel).iter(SVG + "text")}
    assert {"a field", "key (token)", "score", "distance (tokens)", "q", "k", "11.00"} <= words
    sizes = [float(size) for panel in made for size in re.findall(r'font-size="([\d.]+)px"', panel)]
    assert min(sizes) / (72 * panels.WIDTH) * 320 >= 11
    assert "font-family" not in "".join(made)


def test_exponents_and_indices_are_as_large_as_can_be_read_and_make_room():
    drawn = Figure()
    ax = drawn.subplots()
    ax.plot([1, 10], [1e-8, 1e-2])
    ax.set(yscale="log", title="$a_{ij}b$")
    (panel,) = panels.panels(drawn)
    sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)px"', panel)]
    assert min(sizes) / (72 * panels.WIDTH) * 320 >= 11
    lines = [list(text.iter(SVG + "tspan")) for text in ElementTree.fromstring(panel).iter(SVG + "text")]
    (title,) = (
        [(float(g.get("x")), g.text) for g in line] for line in lines if "a" in {g.text for g in line}
    )
    letters = [letter for _, letter in sorted(title)]
    assert letters == ["a", "i", "j", "b"]


def test_colours_with_a_meaning_are_the_pages(made):
    field, curves = made
    assert {"var(--rl-q)", "var(--rl-k)", "var(--rl-text)"} <= set(re.findall(r'stroke="([^"]+)"', curves))
    for panel in made:
        fixed = set(re.findall(r"#[0-9a-f]{6}", re.sub(r'href="data:[^"]*"', "", panel)))
        assert fixed <= {"#101010", "#f8f8f8"}  # numbers on the field
    assert "#f8f8f8" in field


def test_field_is_one_pixel_a_cell_in_the_colours_of_its_map(made):
    picture = ElementTree.fromstring(made[0]).find(f".//{SVG}image[@width='4']")
    data = base64.b64decode(picture.get("href").partition(",")[2])
    image = Image.open(io.BytesIO(data))
    assert image.size == (4, 3)
    assert image.mode == "P"
    assert len(set(image.convert("RGB").get_flattened_data())) == FIELD.size


def test_panels_are_the_same_on_every_run_and_every_reference_leads_somewhere(made):
    assert panels.panels(figure()) == made
    for panel in made:
        pointed = set(re.findall(r'(?:href="#|url\(#)([\w-]+)', panel))
        assert pointed == set(re.findall(r'\bid="([^"]+)"', panel))


def test_greys_without_a_role_are_shares_of_the_pages_ink():
    assert panels.of_the_theme("#808080") == "color-mix(in srgb, var(--rl-text) 50%, var(--rl-paper))"
    assert panels.of_the_theme(plots.NEUTRAL.lower()) == "var(--rl-muted)"
    assert panels.of_the_theme("#123456") == "#123456"


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_every_plot_of_a_notebook_has_panels_beside_it(path):
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data and "image/svg+xml" not in data:  # no still of a figure
                assert data.get(panels.PANELS), f"{cell.id}: run `make notebooks`"
                assert all(ElementTree.fromstring(panel).tag == SVG + "svg" for panel in data[panels.PANELS])
