"""Draw the book's figures: each function draws numbers on an `ax` and returns the `ax`.

Axis labels are required and end with the unit in parentheses, except for counts, shares and names. Numbers may be
NumPy arrays, torch tensors or lists. Only the layout is computed here.
"""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from rope_book.plots.style import (
    DARK_INK,
    DIVERGING,
    FONT,
    HATCHES,
    LIGHT_INK,
    NEUTRAL,
    POSITION,
    SEQUENTIAL,
    SERIES,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME_WIDTH = 20  # maximum characters per line in a bar's name
Numbers = Any  # NumPy array, torch tensor or sequence of numbers


def heatmap(
    ax: "Axes",
    matrix: Numbers,
    *,
    x_label: str,
    y_label: str,
    value_label: str,
    x_ticks: Sequence[object] | None = None,
    y_ticks: Sequence[object] | None = None,
    annotate: bool = False,
    limits: tuple[float, float] | None = None,
    diverging: bool = False,
) -> "Axes":
    """Draw a matrix as a heatmap, with row 0 on top and a labelled colour bar.

    `x_ticks` and `y_ticks` name the columns and rows. `annotate` writes each number into its cell, for matrices up
    to about 8 × 8; with more than five columns, the zero before the decimal point is omitted. `limits` sets the
    ends of the colour bar, so that figures can be compared. If `diverging`, the colour bar is centred on a blank
    zero.
    """
    matrix = _numbers(matrix)
    if matrix.ndim != 2:
        raise ValueError(f"matrix must have 2 axes (rows, columns), got shape {matrix.shape}")
    low, high = limits or (None, None)
    if diverging:
        most = float(np.abs(matrix if limits is None else np.asarray(limits)).max())
        low, high = -most, most
    image = ax.imshow(matrix, cmap=DIVERGING if diverging else SEQUENTIAL, vmin=low, vmax=high, aspect="auto")
    bar = ax.figure.colorbar(image, ax=ax)
    bar.set_label(value_label, fontsize=FONT)
    bar.ax.tick_params(labelsize=FONT)
    if x_ticks is not None:
        _name_ticks(ax.xaxis, "x_ticks", x_ticks, matrix.shape[1])
        ax.tick_params(axis="x", rotation=45 if _is_long(x_ticks) else 0)
    if y_ticks is not None:
        _name_ticks(ax.yaxis, "y_ticks", y_ticks, matrix.shape[0])
    if annotate:
        for (row, column), value in np.ndenumerate(matrix):
            red, green, blue, _ = image.cmap(image.norm(value))
            ink = DARK_INK if 0.3 * red + 0.6 * green + 0.1 * blue > 0.5 else LIGHT_INK
            number = f"{value:.2f}" if matrix.shape[1] <= 5 else f"{value:.2f}".replace("0.", ".", 1)
            ax.text(column, row, number, ha="center", va="center", color=ink, fontsize=FONT)
    return _label(ax, x_label, y_label)


def attention_matrix(ax: "Axes", weights: Numbers, tokens: Sequence[str], *, annotate: bool = True) -> "Axes":
    """Draw attention weights `(q_len, k_len)`: one row per query token, one column per key token.

    If there are fewer queries than tokens, as in decoding, the queries are the last tokens. The colour bar always
    ranges from 0 to 1.
    """
    weights = _numbers(weights)
    if weights.ndim != 2 or weights.shape[1] != len(tokens) or weights.shape[0] > len(tokens):
        raise ValueError(
            f"weights must be (q_len, {len(tokens)}) for {len(tokens)} tokens, got shape {weights.shape}"
        )
    return heatmap(
        ax,
        weights,
        x_label="key (token)",
        y_label="query (token)",
        value_label="attention weight (share of 1)",
        x_ticks=tokens,
        y_ticks=tokens[len(tokens) - weights.shape[0] :],
        annotate=annotate,
        limits=(0.0, 1.0),
    )


def curves(
    ax: "Axes",
    x: Numbers,
    ys: Mapping[str, Numbers],
    *,
    x_label: str,
    y_label: str,
    colours: Mapping[str, str] | None = None,
    log_x: bool = False,
    log_y: bool = False,
) -> "Axes":
    """Draw one line per label over the same `x`, each with a distinct style.

    `colours` maps labels to the colours of their roles, as in `{"query": QUERY}`; other lines have colours that
    stand for no role. There may be at most eight lines.
    """
    x = _numbers(x)
    if len(ys) > len(SERIES):
        raise ValueError(f"ys must have at most {len(SERIES)} lines to stay readable, got {len(ys)}")
    for (label, y), (colour, dashes, marker) in zip(ys.items(), SERIES, strict=False):
        y = _numbers(y)
        if y.shape != x.shape:
            raise ValueError(f"the values of {label!r} must have the shape of x, {x.shape}, got {y.shape}")
        colour = (colours or {}).get(label, colour)
        every = max(1, len(x) // 8)  # about eight markers, so that the line remains visible
        ax.plot(x, y, color=colour, ls=dashes, marker=marker, markevery=every, ms=4, lw=1.5, label=label)
    ax.set_xscale("log" if log_x else "linear")
    ax.set_yscale("log" if log_y else "linear")
    if len(ys) > 1:
        columns = 2 if max(map(len, ys)) <= 18 else 1
        above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}  # to keep the legend off the lines
        ax.legend(fontsize=FONT, handlelength=3.5, ncols=columns, frameon=False, **above)
    return _label(ax, x_label, y_label)


def bands(
    ax: "Axes",
    series: Mapping[str, Numbers],
    *,
    x_label: str,
    y_label: str,
    colours: Mapping[str, str] | None = None,
) -> "Axes":
    """Draw a line and a band for each label, from an array `(4, points)` with the rows x, low, middle and high.

    Each line has a distinct style. Bands are pale, so that up to three may overlap.
    """
    if len(series) > len(SERIES):
        raise ValueError(f"series must have at most {len(SERIES)} bands to stay readable, got {len(series)}")
    for (label, rows), (colour, dashes, marker) in zip(series.items(), SERIES, strict=False):
        rows = _numbers(rows)
        if rows.ndim != 2 or rows.shape[0] != 4:
            raise ValueError(f"the rows of {label!r} must be x, low, middle, high, got shape {rows.shape}")
        x, low, middle, high = rows
        colour = (colours or {}).get(label, colour)
        ax.fill_between(x, low, high, color=colour, alpha=0.2, lw=0)
        every = max(1, len(x) // 8)
        ax.plot(x, middle, color=colour, ls=dashes, marker=marker, markevery=every, ms=4, lw=1.5, label=label)
    above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
    ax.legend(fontsize=FONT, handlelength=3.5, ncols=2, frameon=False, **above)
    return _label(ax, x_label, y_label)


def angle_chart(ax: "Axes", positions: Numbers, angles: Numbers) -> "Axes":
    """Draw the angles of all pairs, one line per position: `angles` `(seq, pairs)`, radians.

    For consecutive positions, the lines are equally spaced at each pair. All lines have the position colour and are
    labelled at the start.
    """
    positions, angles = _numbers(positions), _numbers(angles)
    if positions.ndim != 1 or angles.ndim != 2 or angles.shape[0] != len(positions):
        raise ValueError(
            f"angles must be (seq, pairs) with one row for each of the positions {positions.shape}, "
            f"got shape {angles.shape}"
        )
    pairs = np.arange(angles.shape[1])
    for n, (position, row) in enumerate(zip(positions, angles, strict=True)):
        _, dashes, marker = SERIES[n % len(SERIES)]
        ax.plot(pairs, row, color=POSITION, ls=dashes, marker=marker, ms=4, lw=1.2, label=f"{position:g}")
        beside = {"xytext": (-5, 0), "textcoords": "offset points", "ha": "right", "va": "center"}
        ax.annotate(f"{position:g}", (0, row[0]), fontsize=FONT, **beside)
    ax.margins(x=0.1)
    return _label(ax, "pair i", "angle of position (radians)")


def vectors(ax: "Axes", arrows: Mapping[str, Numbers], colours: Mapping[str, str] | None = None) -> "Axes":
    """Draw vectors in the plane as arrows from the origin, with names at the tips and equal axis scales.

    `arrows` maps names to (x, y), and `colours` maps names to the colours of their roles; other arrows are grey.
    """
    tips = {name: _numbers(tip) for name, tip in arrows.items()}
    for n, (name, tip) in enumerate(tips.items()):
        if tip.shape != (2,):
            raise ValueError(f"vector {name!r} must be (x, y), got shape {tip.shape}")
        colour = (colours or {}).get(name, NEUTRAL)
        style = {"arrowstyle": "-|>", "color": colour, "ls": SERIES[n % len(SERIES)][1], "lw": 1.5}
        ax.annotate("", tip, xytext=(0, 0), arrowprops={**style, "shrinkA": 0, "shrinkB": 0})
        right, up = tip[0] >= 0, tip[1] >= 0
        outward = {"ha": "left" if right else "right", "va": "bottom" if up else "top"}
        beside = {"xytext": (3 if right else -3, 3 if up else -3), "textcoords": "offset points"}
        ax.annotate(name, tip, color=colour, fontsize=FONT + 1, **outward, **beside)
    reach = 1.25 * max((float(np.abs(tip).max()) for tip in tips.values()), default=1.0) or 1.0
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    ax.axhline(0, color=NEUTRAL, lw=0.5)
    ax.axvline(0, color=NEUTRAL, lw=0.5)
    return _label(ax, "first feature of the pair", "second feature")


def bars(
    ax: "Axes",
    labels: Sequence[str],
    values: Numbers,
    *,
    value_label: str,
    group_label: str,
    colours: Sequence[str] | None = None,
    log: bool = False,
) -> "Axes":
    """Draw one horizontal bar per label, from top to bottom, with the value at the bar's end.

    Bars are horizontal so that long labels remain readable on a phone, and hatched to be distinct in greyscale.
    """
    values = _numbers(values)
    if values.shape != (len(labels),):
        raise ValueError(f"values must have shape ({len(labels)},), one for each label, got {values.shape}")
    drawn = ax.barh(
        range(len(labels)),
        values,
        color=list(colours) if colours else NEUTRAL,
        edgecolor="white",
        hatch=[HATCHES[n % len(HATCHES)] for n in range(len(labels))],
        log=log,
    )
    ax.bar_label(drawn, fmt="%.3g", fontsize=FONT, padding=2)
    ax.margins(x=0.18)
    _name_ticks(ax.yaxis, "labels", [fill(label, NAME_WIDTH) for label in labels], len(values))
    ax.invert_yaxis()
    return _label(ax, value_label, group_label)


def _numbers(values: Numbers) -> np.ndarray:
    """Return numbers as a NumPy array; torch tensors are detached and copied to the CPU."""
    return np.asarray(values.detach().cpu().numpy() if hasattr(values, "detach") else values)


def _label(ax: "Axes", x_label: str, y_label: str) -> "Axes":
    """Write both axis labels, large enough to read at 360 px."""
    ax.set_xlabel(x_label, fontsize=FONT)
    ax.set_ylabel(y_label, fontsize=FONT)
    ax.tick_params(labelsize=FONT)
    return ax


def _name_ticks(axis: Any, name: str, ticks: Sequence[object], count: int) -> None:
    """Put one named tick at each cell along an axis."""
    if len(ticks) != count:
        raise ValueError(f"{name} must name all {count} cells, got {len(ticks)}")
    axis.set_ticks(range(count), labels=[str(tick) for tick in ticks])


def _is_long(ticks: Sequence[object]) -> bool:
    """Return whether horizontal tick labels would overlap on a small figure."""
    return sum(len(str(tick)) + 1 for tick in ticks) > 30
