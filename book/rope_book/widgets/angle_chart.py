"""Chapter 6: unroll a clock into its angle against position."""

from rope_edu.encodings import inv_freq

from ._results import result
from ._rules import AtMost
from ._traits import Choice, Slider
from .base import LiveFigure


class AngleChart(LiveFigure):
    """Unroll a clock to see the angle m · θ_i of pair i, position by position, as a straight line.

    The upper rows show the head's clocks at ``position`` m, with each hand turned by m · θ_i, where θ_i = ``base``
    ** (−2i / ``head_dim``). Below them is the clock of ``pair``, with its total angle wound around it like a
    thread. Beside this clock, the thread is unrolled over the positions 0 … ``n``. ``axis`` selects how the angle
    (radians) is drawn: unrolled, wrapped to one turn like the hand, or on logarithmic axes. If the head has no such
    ``pair``, its last pair is shown.

    Its result is ``angle``, m · θ_i for the selected pair.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> AngleChart(axis="turn", pair=1)
    AngleChart(pair=1, axis='turn')

    Source: Su et al. 2021, arXiv 2104.09864, section 3.2.2. Chapter 6.
    """

    pair = Slider(2, 0, 63, label="Clock unrolled, pair i").under(AtMost("head_dim", times=0.5, plus=-1))
    position = Slider(25, 0, 64, label="Position, m", unit="tokens").under(AtMost("n", either=True))
    axis = Choice(
        "linear",
        {"linear": "unrolled", "turn": "within one turn", "log": "logarithmic"},
        label="Vertical axis",
    )
    n = Slider(64, 1, 64, label="Positions drawn, 0 … n", unit="tokens")
    head_dim = Choice(32, {d: f"{d} ({d // 2} pairs)" for d in (8, 16, 32, 64, 128)}, label="Head width, d")
    base = Slider(10_000.0, 100.0, 100_000_000.0, log=True, label="Base, b")

    @result("rad")
    def angle(self):
        """Angle m · θ_i of the selected pair, including whole turns."""
        return float(self.position * inv_freq(self.head_dim, self.base)[self.pair])
