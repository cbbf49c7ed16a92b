"""`Table`, and functions that draw a figure on an `ax` and return the `ax`. None of them computes anything."""

from rope_book.plots.figures import (
    angle_chart,
    attention_matrix,
    bands,
    bars,
    curves,
    heatmap,
    vectors,
)
from rope_book.plots.style import (
    DIVERGING,
    KEY,
    NEUTRAL,
    POSITION,
    QUERY,
    RULES,
    SCORE,
    SEQUENTIAL,
    SMALL,
    VALUE,
)
from rope_book.plots.tables import Table

__all__ = [
    "DIVERGING",
    "KEY",
    "NEUTRAL",
    "POSITION",
    "QUERY",
    "RULES",
    "SCORE",
    "SEQUENTIAL",
    "SMALL",
    "VALUE",
    "Table",
    "angle_chart",
    "attention_matrix",
    "bands",
    "bars",
    "curves",
    "heatmap",
    "vectors",
]
