"""Chapter 20: turn in more dimensions."""

from ._rules import OnlyIf
from ._traits import Choice, Slider
from .base import LiveFigure


class PatchScores(LiveFigure):
    """Show how one image patch scores all others, and which coordinates turn each pair.

    ``scheme`` divides the frequencies between height and width: "axial" gives both the same list, "mixed"
    rotates the two axes by ``direction`` (degrees), and "contiguous" and "interleaved" cut one list into two
    sections. Query and key are all ones, so that a score is a sum of cosines of position alone, regardless of the
    image behind the patches. The query is the patch at ``row`` and ``column`` of 21 × 21, from 0 at the upper left;
    click any patch to make it the query.

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
