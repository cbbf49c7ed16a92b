"""Chapter 23: test a claim about gains."""

from ._results import result
from ._traits import Choice, Slider
from .base import LiveFigure
from .maths.gained import K, Q, gained_score


class GainAndTurn(LiveFigure):
    """Apply a gain to each feature of a pair, before or after the turn, and follow the score along a text.

    The key is at ``position`` n, and the query is ``distance`` tokens later. Both turn by position × ``inv_freq``
    and have the gains ``first`` and ``second`` on their features, applied "after" or "before" the turn, as set by
    ``where``. The left chart shows the paths of the turned pairs' tips; the right chart shows the score at this
    distance for every position in the text.

    Its result is ``score``.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> GainAndTurn(where="before", position=30)
    GainAndTurn(where='before', position=30)

    Source: the norm with a gain after the rotation in HunYuan v1 (transformers, hunyuan_v1_dense). Chapter 23.
    """

    lead = ("where", "position", "distance")

    where = Choice("after", {"after": "after the turn", "before": "before the turn"}, label="The gains act")
    first = Slider(1.6, 0.2, 2.0, step=0.05, label="Gain of the first feature", unit="times")
    second = Slider(0.7, 0.2, 2.0, step=0.05, label="Gain of the second feature", unit="times")
    position = Slider(12, 0, 96, label="Position of the key, n", unit="tokens")
    distance = Slider(4, 0, 32, label="Distance of the query, m − n", unit="tokens")
    inv_freq = Slider(0.1, 0.01, 0.5, step=0.01, label="Angle per token, θ", unit="rad/token")

    @result()
    def score(self):
        """Score of the turned pairs with their gains."""
        gains, after = (self.first, self.second), self.where == "after"
        return gained_score(Q, K, self.position, self.distance, self.inv_freq, gains, after)
