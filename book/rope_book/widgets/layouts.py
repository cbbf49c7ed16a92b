"""Chapter 8: tell two layouts apart."""

from ._results import result
from ._rules import AtMost
from ._traits import Choice, Slider
from .base import LiveFigure
from .maths.two_layouts import DISTANCE, score_of


class Layouts(LiveFigure):
    """Arrange the pairs of one head in two layouts, turn them, and read the score at distance 4.

    The upper row is a query in its training layout, interleaved: features 2i and 2i + 1 are pair i. The lower row
    shows the query under a half_split rotation, which turns features i and i + d/2 together. ``run`` chooses the
    weights: "converted" (each pair moved to its new features), "unconverted" (q and k unchanged) or "mixed" (q
    rotated interleaved, k rotated unchanged by half_split). The base is 100, so that every pair visibly turns; the
    key is 4 tokens before the query.

    Its results are ``score``, the score of this run, and ``trained``, the score in training.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> Layouts(run="mixed", head_dim=16)
    Layouts(run='mixed', head_dim=16)

    Source: pairs (2i, 2i + 1), Su et al. 2021, arXiv 2104.09864, eq. 15; pairs (i, i + d/2), GPT-NeoX,
    arXiv 2204.06745. Chapter 8.
    """

    run = Choice(
        "converted",
        {
            "converted": "q and k, both converted",
            "unconverted": "q and k, not converted",
            "mixed": "k only, not converted",
        },
        label="Run half_split on",
    )
    position = Slider(16, 4, 64, label="Position of q, m", unit="tokens")
    pair = Slider(1, 0, 7, label="Pair to follow, i").under(AtMost("head_dim", times=0.5, plus=-1))
    head_dim = Choice(8, {4: "4", 8: "8", 12: "12", 16: "16"}, label="Width of the head, d")

    @result()
    def score(self):
        """Score of the query and the key 4 tokens before it, in the selected run."""
        return score_of(self.run, self.head_dim, self.position)

    @result()
    def trained(self):
        """Score of the query and the key 4 tokens before it, in training."""
        return score_of("trained", self.head_dim, DISTANCE)
