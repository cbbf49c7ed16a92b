"""The figures draw the given numbers on the given axes, label every axis, and are readable in greyscale."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from rope_book import plots
from rope_book.plots import style

TOKENS = ["I", "love", "natural", "language", "processing"]
WEIGHTS = np.linspace(0, 1, 25).reshape(5, 5)
NAMES = {"x_label": "key (token)", "y_label": "query (token)"}


def new_ax():
    figure = Figure(figsize=style.SMALL, dpi=100, layout="constrained")
    FigureCanvasAgg(figure)  # draws in memory, without a window or pyplot's state
    return figure.add_subplot()


DRAWN = {
    "heatmap": lambda ax: plots.heatmap(ax, WEIGHTS, value_label="score", **NAMES),
    "curves": lambda ax: plots.curves(
        ax,
        [1, 2, 3],
        {"a": [1, 2, 3], "b": [3, 2, 1]},
        x_label="distance (tokens)",
        y_label="score",
    ),
    "bands": lambda ax: plots.bands(
        ax,
        {"a": [[0, 9], [1, 2], [2, 3], [4, 4]], "b": [[0, 5], [0, 0], [1, 1], [2, 2]]},
        x_label="steps",
        y_label="loss (nats)",
    ),
    "angle_chart": lambda ax: plots.angle_chart(ax, [1, 2, 3], np.outer([1, 2, 3], [1.0, 0.1])),
    "vectors": lambda ax: plots.vectors(ax, {"q": (1, 0), "k": (0, -2)}, {"q": plots.QUERY}),
    "attention_matrix": lambda ax: plots.attention_matrix(ax, WEIGHTS, TOKENS),
    "bars": lambda ax: plots.bars(ax, ["a", "b"], [1, 2], value_label="time (ms)", group_label="form (name)"),
}


@pytest.mark.parametrize("name", DRAWN)
def test_every_figure_returns_its_ax_names_both_axes_and_leaves_no_global_state(name):
    before = dict(mpl.rcParams)
    ax = new_ax()
    assert DRAWN[name](ax) is ax
    for label in (ax.get_xlabel(), ax.get_ylabel()):
        assert label
        assert "no unit" not in label
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    ("name", "x_label", "y_label"),
    [
        ("heatmap", *NAMES.values()),
        ("attention_matrix", *NAMES.values()),
        ("curves", "distance (tokens)", "score"),
        ("bands", "steps", "loss (nats)"),
        ("angle_chart", "pair i", "angle of position (radians)"),
        ("bars", "time (ms)", "form (name)"),
    ],
)
def test_the_labels_are_on_the_axes_that_they_name(name, x_label, y_label):
    ax = DRAWN[name](new_ax())
    assert (ax.get_xlabel(), ax.get_ylabel()) == (x_label, y_label)


@pytest.mark.parametrize("name", DRAWN)
def test_every_text_stays_inside_a_figure_of_360_pixels(name):
    ax = new_ax()
    DRAWN[name](ax)
    ax.figure.canvas.draw()
    width, height = ax.figure.canvas.get_width_height()
    assert width == 360
    for part in ax.figure.axes:  # the plot and its colour bar
        box = part.get_tightbbox()
        assert box.x0 >= -1
        assert box.y0 >= -1
        assert box.x1 <= width + 1
        assert box.y1 <= height + 1
        texts = [*part.texts, part.xaxis.label, part.yaxis.label, *part.get_xticklabels()]
        assert all(text.get_fontsize() >= 8 for text in texts)


def test_heatmap_shows_the_matrix_with_a_named_colour_bar_and_ticks():
    ax = plots.heatmap(
        new_ax(), torch.tensor(WEIGHTS), value_label="score", x_ticks=TOKENS, annotate=True, **NAMES
    )
    np.testing.assert_array_equal(ax.images[0].get_array(), WEIGHTS)
    assert ax.images[0].get_cmap().name == plots.SEQUENTIAL
    assert ax.figure.axes[1].get_ylabel() == "score"
    assert [t.get_text() for t in ax.get_xticklabels()] == TOKENS
    assert [t.get_text() for t in ax.texts][:3] == ["0.00", "0.04", "0.08"]
    assert {t.get_color() for t in ax.texts} == {style.DARK_INK, style.LIGHT_INK}


def test_numbers_of_a_wide_heatmap_omit_the_leading_zero():
    ax = plots.heatmap(new_ax(), np.full((1, 7), -0.25), value_label="score", annotate=True, **NAMES)
    assert {text.get_text() for text in ax.texts} == {"-.25"}


def test_long_names_of_bars_break_into_lines():
    ax = plots.bars(
        new_ax(), ["clone(): a copy in new memory"], [1], value_label="time (ms)", group_label="way"
    )
    assert [t.get_text() for t in ax.get_yticklabels()] == ["clone(): a copy in\nnew memory"]


def test_heatmap_uses_the_limits_and_the_diverging_map_when_asked():
    ax = plots.heatmap(new_ax(), WEIGHTS, value_label="difference", limits=(-2, 2), diverging=True, **NAMES)
    assert ax.images[0].get_clim() == (-2, 2)
    assert ax.images[0].get_cmap().name == plots.DIVERGING


def test_curves_differ_by_dashes_and_markers_and_take_role_colours():
    ys = {f"line {n}": torch.full((20,), float(n), requires_grad=True) for n in range(8)}
    ax = plots.curves(new_ax(), range(20), ys, x_label="x", y_label="y", colours={"line 2": plots.KEY})
    lines = ax.get_lines()
    assert [line.get_ydata()[0] for line in lines] == list(range(8))
    assert len({line.get_marker() for line in lines}) == 8
    assert len({str(line._unscaled_dash_pattern) for line in lines}) == 8
    assert lines[2].get_color() == plots.KEY
    roles = {plots.QUERY, plots.KEY, plots.POSITION, plots.SCORE, plots.VALUE}
    assert roles.isdisjoint(line.get_color() for n, line in enumerate(lines) if n != 2)


def test_curves_scale_their_axes_when_asked():
    names = {"x_label": "distance (tokens)", "y_label": "wavelength (tokens)"}
    ax = plots.curves(new_ax(), [1, 10], {"a": [1, 10]}, log_x=True, **names)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
    ax = plots.curves(new_ax(), [1, 10], {"a": [1, 10]}, log_y=True, **names)
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "log")


@pytest.mark.parametrize(("longest", "columns"), [("l" * 18, 2), ("l" * 19, 1)])
def test_a_long_label_has_a_line_of_the_legend_to_itself(longest, columns):
    ax = plots.curves(new_ax(), [1, 2], {"a": [1, 2], longest: [2, 1]}, x_label="x", y_label="y")
    assert ax.get_legend()._ncols == columns


def test_bands_draw_the_middle_over_the_span_each_over_its_own_x():
    rows = {"a": [[0, 1, 2], [1, 1, 1], [2, 3, 2], [5, 5, 5]], "b": torch.ones(4, 6)}
    ax = plots.bands(new_ax(), rows, x_label="steps", y_label="loss (nats)", colours={"b": plots.KEY})
    first, second = ax.get_lines()
    np.testing.assert_array_equal(first.get_ydata(), [2, 3, 2])
    assert len(second.get_xdata()) == 6
    assert second.get_color() == plots.KEY
    span = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (span.min(), span.max()) == (1, 5)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


def test_angle_chart_draws_a_named_line_for_each_position():
    angles = np.outer(np.arange(1, 8), [1.0, 0.1, 0.01])
    ax = plots.angle_chart(new_ax(), np.arange(1, 8), angles)
    np.testing.assert_array_equal([line.get_ydata() for line in ax.get_lines()], angles)
    assert {line.get_color() for line in ax.get_lines()} == {plots.POSITION}
    assert [t.get_text() for t in ax.texts] == list("1234567")


def test_vectors_have_equal_axes_that_include_every_tip():
    ax = plots.vectors(new_ax(), {"q": (3, 0), "k": (0, -4)}, {"q": plots.QUERY})
    assert ax.get_aspect() == 1.0
    assert ax.get_ylim()[0] < -4
    assert ax.get_xlim()[1] > 3
    named = {t.get_text(): t for t in ax.texts if t.get_text()}
    assert named["q"].xy == pytest.approx((3, 0))
    assert named["q"].get_color() == plots.QUERY
    assert named["k"].get_color() == plots.NEUTRAL
    thinner = min(arrow.arrow_patch.get_linewidth() for arrow in ax.texts if arrow.arrow_patch)
    assert all(axis.get_linewidth() < thinner for axis in ax.get_lines())


def test_attention_matrix_names_the_last_tokens_as_queries_and_fixes_the_scale():
    ax = plots.attention_matrix(new_ax(), WEIGHTS[:2] / 2, TOKENS)
    assert [t.get_text() for t in ax.get_yticklabels()] == TOKENS[-2:]
    assert [t.get_text() for t in ax.get_xticklabels()] == TOKENS
    assert ax.images[0].get_clim() == (0, 1)


def test_bars_are_hatched_and_run_from_the_top():
    ax = plots.bars(new_ax(), ["a", "b", "c"], [3, 1, 2], value_label="time (ms)", group_label="form (name)")
    assert [bar.get_width() for bar in ax.patches] == [3, 1, 2]
    assert len({bar.get_hatch() for bar in ax.patches}) == 3
    low, high = ax.get_ylim()
    assert low > high


def test_roles_have_different_colours_and_series_use_none_of_them():
    roles = [plots.QUERY, plots.KEY, plots.POSITION, plots.SCORE, plots.VALUE]
    assert len(set(roles)) == 5
    assert set(roles).isdisjoint(colour for colour, _, _ in style.SERIES)


def test_only_plots_needs_matplotlib():
    code = "import sys, rope_edu, rope_book.check; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (
            lambda ax: plots.heatmap(ax, [1, 2], value_label="v", **NAMES),
            r"matrix must have 2 axes .*got shape \(2,\)",
        ),
        (
            lambda ax: plots.heatmap(ax, WEIGHTS, value_label="v", x_ticks=["a"], **NAMES),
            r"x_ticks must name all 5 cells, got 1",
        ),
        (lambda ax: plots.attention_matrix(ax, WEIGHTS, TOKENS[:4]), r"\(q_len, 4\) for 4 tokens.*\(5, 5\)"),
        (
            lambda ax: plots.curves(ax, [1, 2], {"a": [1, 2, 3]}, x_label="x", y_label="y"),
            r"'a' must have the shape of x, \(2,\), got \(3,\)",
        ),
        (
            lambda ax: plots.curves(ax, [1], {str(n): [n] for n in range(9)}, x_label="x", y_label="y"),
            r"at most 8 lines to stay readable, got 9",
        ),
        (
            lambda ax: plots.bands(ax, {"a": [[1], [2], [3]]}, x_label="x", y_label="y"),
            r"rows of 'a' must be x, low, middle, high, got shape \(3, 1\)",
        ),
        (lambda ax: plots.angle_chart(ax, [1, 2], np.ones((3, 4))), r"one row for each .*got shape \(3, 4\)"),
        (lambda ax: plots.vectors(ax, {"q": (1, 2, 3)}), r"vector 'q' must be \(x, y\), got shape \(3,\)"),
        (
            lambda ax: plots.bars(ax, ["a"], [1, 2], value_label="time (ms)", group_label="form (name)"),
            r"shape \(1,\), one for each label, got \(2,\)",
        ),
    ],
)
def test_errors_name_the_value_and_the_allowed_ones(draw, message):
    with pytest.raises(ValueError, match=message):
        draw(new_ax())


def test_a_diverging_map_is_blank_at_zero_and_symmetric():
    for limits in (None, (-0.5, 1.0)):
        ax = plots.heatmap(
            new_ax(), [[-1.0, 0.0], [0.0, 3.0]], value_label="value", diverging=True, limits=limits, **NAMES
        )
        image = ax.images[0]
        assert image.norm.vmin == -image.norm.vmax
        assert min(image.cmap(image.norm(0.0))[:3]) > 0.93
