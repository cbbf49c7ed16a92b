"""Chapter 20: turn in more dimensions."""

import numpy as np

from rope_edu.encodings import axial_frequencies, inv_freq, mixed_frequencies, section_frequencies

from ._results import result
from ._rules import OnlyIf
from ._traits import Choice, Slider
from .base import LiveFigure

SIDE = 21  # patches along a side
AWAY = 5  # distance, in patches, at which scores are reported


def frequencies_of(now):
    """Return the frequencies for height and width, (2, pairs)."""
    if now.scheme == "axial":
        return axial_frequencies(now.head_dim, 2, now.base)
    if now.scheme == "mixed":
        return mixed_frequencies(now.head_dim, np.radians(now.direction), now.base)
    return section_frequencies(inv_freq(now.head_dim, now.base), [now.head_dim // 4] * 2, now.scheme)


def score_of(now, down, right):
    """Return the score of the patch at this offset; near the lower or right edge, the offset points up or left."""
    down, right = (by if at + by < SIDE else -by for at, by in ((now.row, down), (now.column, right)))
    by_height, by_width = frequencies_of(now)
    return float(np.cos(down * by_height + right * by_width).mean())


class PatchScores(LiveFigure):
    """Show how one image patch scores all others, and which coordinates turn each pair.

    ``scheme`` divides the frequencies between height and width: "axial" gives both the same list, "mixed"
    rotates the two axes by ``direction`` (degrees), and "contiguous" and "interleaved" cut one list into two
    sections. Query and key are all ones, so that a score is a sum of cosines that depends only on position and not
    on the image behind the patches. The query is the patch at ``row`` and ``column`` of 21 × 21, from 0 at the
    upper left; click any patch to make it the query.

    Its results are ``in_row``, ``in_column`` and ``in_both``, the scores of the patches at a distance of 5.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> PatchScores(scheme="mixed", direction=30)
    PatchScores(scheme='mixed', direction=30)

    Source: RoPE-Mixed, arXiv 2403.13298, §3.2; M-RoPE, arXiv 2409.12191, §2.1. Chapter 20.
    """

    scheme = Choice(
        "axial",
        {
            "axial": "axial",
            "mixed": "mixed",
            "contiguous": "sections, contiguous",
            "interleaved": "sections, interleaved",
        },
        label="Scheme",
    )
    row = Slider(10, 0, 20, label="Row of the query", unit="")
    column = Slider(10, 0, 20, label="Column of the query", unit="")
    direction = Slider(45, 0, 90, label="Direction, φ", unit="degrees").under(OnlyIf("scheme", ("mixed",)))
    head_dim = Choice(64, {d: f"{d} ({d // 2} pairs)" for d in (16, 32, 64, 128)}, label="Head width, d")
    base = Slider(100.0, 2.0, 1_000_000.0, log=True, label="Base, b")

    @result("of the query's own")
    def in_row(self):
        """Score of the patch at a distance of 5 in the query's row."""
        return score_of(self, 0, AWAY)

    @result("of the query's own")
    def in_column(self):
        """Score of the patch at a distance of 5 in the query's column."""
        return score_of(self, AWAY, 0)

    @result("of the query's own")
    def in_both(self):
        """Score of the patch at a distance of 5 in both directions."""
        return score_of(self, AWAY, AWAY)
