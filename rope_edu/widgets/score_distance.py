"""Chapter 9: the score against the distance."""

from ._rules import AtLeast, AtMost, OnlyIf
from ._traits import Choice, Slider, Toggle
from .base import LiveFigure


class ScoreDistance(LiveFigure):
    """Draw the score of one query and one key at every distance, with two bounds on it.

    ``vectors`` chooses q and k: "constant" (all ones), "identical" (k = q, Gaussian), "independent" (both
    Gaussian) or "rotated" (k is q turned ``peak`` positions on). ``seed`` draws the Gaussian ones.
    ``distance`` (tokens, m − n) is the cursor; ``reach`` the distances shown, 100,000 on a logarithmic axis.
    Scores are not divided by √d; with ``bound`` their size is shown on a logarithmic axis.

    Parts of the picture, for ``only``: "curve", and in a small form "waves": above the curve those of (at most eight)
    pairs, each with its hand.

    Values out of range raise TraitError with a sentence.

    >>> ScoreDistance(vectors="rotated", peak=300, reach=1024)
    ScoreDistance(vectors='rotated', peak=300, reach=1024)

    Source: Su et al. 2021, arXiv 2104.09864, section 3.4.3, equations 35–37. Chapter 9.
    """

    parts = ("waves", "curve")
    lead = ("distance", "vectors", "reach")

    vectors = Choice(
        "constant",
        {
            "constant": "q = k = all ones",
            "identical": "k = q, Gaussian",
            "independent": "q, k independent Gaussian",
            "rotated": "k = q turned p positions",
        },
        label="Vectors",
    )
    distance = Slider(50, 0, 1024, label="Distance, m − n", unit="tokens").under(
        AtMost("reach", either=True), AtLeast(1, where="reach", value=100_000)
    )
    base = Slider(10_000.0, 100.0, 100_000_000.0, log=True, label="Base, b")
    head_dim = Choice(
        128, {d: f"{d} ({d // 2} pairs)" for d in (16, 32, 64, 128, 256)}, label="Head width, d"
    )
    peak = Slider(777, 0, 1024, label="Turn of the key, p", unit="positions").under(
        OnlyIf("vectors", ("rotated",))
    )
    seed = Slider(1, 0, 99, label="Gaussian draw").under(
        OnlyIf("vectors", ("independent", "identical", "rotated"))
    )
    reach = Choice(
        256,
        {256: "0 to 256", 1024: "0 to 1,024", 100_000: "1 to 100,000, logarithmic"},
        label="Distances shown (tokens)",
    )
    bound = Toggle(False, label="RoFormer bound")
    trivial = Toggle(False, label="Trivial bound")
