"""Chapter 14: the angles that each pair has seen in training, and where longer texts go beyond them."""

from rope_edu.encodings import completes_turn, inv_freq, meets_new_angle

from ._results import result
from ._traits import Choice, Slider, Toggle
from .base import LiveFigure


class TrainedTurns(LiveFigure):
    """See which pairs reach an angle that never occurred in training, and at which distances.

    Each column is a pair. The upper chart shows its angle at the selected distance, from 0 to a whole turn, with
    the angles at distances up to ``trained`` (tokens) shaded. The lower chart covers all distances up to eight
    times ``trained``; a column changes colour where the angle is new. ``times`` is the distance, as a multiple of
    ``trained``. With ``window``, distances are capped at ``trained``, as in ReRoPE.

    Parts of the picture, for ``only``: "turns", the upper chart, and "map", the lower one.

    Its results are ``new``, the number of pairs at an angle never seen in training, and ``complete``, the number
    that complete a turn in training.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> TrainedTurns(times=3.0, base=500_000)
    TrainedTurns(times=3.0, base=500000.0)

    Source: Liu et al. 2023, arXiv 2310.05209. Chapter 14.
    """

    parts = ("turns", "map")
    lead = ("times", "base", "window")

    times = Slider(1.5, 0.0, 8.0, step=0.01, label="Distance, r", unit="× L")
    trained = Choice(
        4096,
        {512: "512", 2048: "2,048", 4096: "4,096", 8192: "8,192", 32768: "32,768"},
        label="Trained length, L (tokens)",
    )
    base = Slider(10_000.0, 100.0, 100_000_000.0, log=True, label="Base, b")
    head_dim = Choice(128, {d: f"{d} ({d // 2} pairs)" for d in (16, 32, 64, 128)}, label="Head width, d")
    window = Toggle(False, label="ReRoPE: no distance counts as longer than L")

    @result("pairs")
    def new(self):
        """Number of pairs at an angle never seen in training."""
        distance = min(self.times, 1) * self.trained if self.window else self.times * self.trained
        return int(meets_new_angle([distance], inv_freq(self.head_dim, self.base), self.trained).sum())

    @result("pairs")
    def complete(self):
        """Number of pairs that complete a turn in training."""
        return int(completes_turn(inv_freq(self.head_dim, self.base), self.trained).sum())
