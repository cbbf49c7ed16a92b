"""Chapter 9: score against distance."""

import numpy as np

from rope_edu.encodings import apply_rope, inv_freq, rope_angles, score_curve, trivial_bound

from ._results import result
from ._rules import AtLeast, AtMost, OnlyIf
from ._traits import Choice, Sketch, Slider, Toggle
from .base import LiveFigure
from .maths.words import normals

KNOTS = 16  # number of heights in a drawn guess
STEPS = 256  # number of distances over which rising steps are counted


def head_of(now):
    """Return the head's q and k, each `(head_dim,)`, and its frequencies for a state."""
    frequencies, drawn = inv_freq(now.head_dim, now.base), normals(1000 + now.seed, 2 * now.head_dim)
    q = np.ones(now.head_dim) if now.vectors == "constant" else np.array(drawn[: now.head_dim])
    if now.vectors == "independent":
        return q, np.array(drawn[now.head_dim :]), frequencies
    k = apply_rope(q[None], rope_angles([now.peak], frequencies))[0] if now.vectors == "rotated" else q
    return q, k, frequencies


class ScoreDistance(LiveFigure):
    """Add up the waves of a head's pairs to get the score of one query and one key at every distance.

    Above are the waves of eight pairs; below is the sum over all pairs. ``added`` adds the pairs in eighths,
    fastest first. With ``guess_first`` the sum stays hidden until you have drawn a ``guess`` of it: up to 16
    heights, evenly spaced from distance 0, as shares of the greatest possible score.

    ``vectors`` chooses q and k: "constant" (all ones), "identical" (k = q, Gaussian), "independent" (both
    Gaussian) or "rotated" (k is q turned by ``peak`` positions). ``seed`` is the seed of the Gaussian vectors.
    ``distance`` (tokens, m − n) is the cursor; ``reach`` is the range of distances shown, with 100,000 on a
    logarithmic axis. Scores are not divided by √d. With ``bound``, their absolute value is shown on a logarithmic
    axis.

    Its results are ``score``, the score of all pairs at the cursor; ``most``, the greatest score that these vectors
    could reach; and ``rises``, the number of the first 256 steps on which the score rises.

    Parts of the picture, for ``only``: "waves", of at most eight pairs, each with its hand, and "curve".

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> ScoreDistance(vectors="rotated", peak=300, reach=1024)
    ScoreDistance(vectors='rotated', peak=300, reach=1024)

    Source: Su et al. 2021, arXiv 2104.09864, section 3.4.3, equations 35–37. Chapter 9.
    """

    parts = ("waves", "curve")
    lead = ("added", "vectors", "guess")

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
    added = Slider(8, 0, 8, label="Waves added, the fastest first", unit="of 8")
    guess_first = Toggle(False, label="Hide the sum until I have drawn a guess")
    guess = Sketch(KNOTS, label="Your guess").under(OnlyIf("guess_first", (True,)))
    bound = Toggle(False, label="RoFormer bound")
    trivial = Toggle(False, label="Trivial bound")

    @result()
    def score(self):
        """Score of all pairs at the cursor."""
        return float(score_curve(*head_of(self), [self.distance])[0])

    @result()
    def most(self):
        """Trivial bound: the score if the contributions of all pairs pointed in the same direction."""
        q, k, _ = head_of(self)
        return float(trivial_bound(q, k))

    @result("steps of 256")
    def rises(self):
        """Number of steps within the first 256 tokens on which the score rises."""
        return int((np.diff(score_curve(*head_of(self), np.arange(STEPS + 1))) > 0).sum())
