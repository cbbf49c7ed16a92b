"""Chapter 6: the angle of every pair, position by position."""

from ._rules import AtMost
from ._traits import Choice, Slider
from .base import LiveFigure


class AngleChart(LiveFigure):
    """See the angle m · θ_i of every pair i, one line for each position m = 1 … ``n``.

    ``axis`` shows the angles (radians) on a logarithmic or a linear scale, or what is left of them after whole
    turns. ``position`` is drawn thick. Below, ``pair`` stands on a scale of its own, where each further token
    adds the same θ_i = ``base`` ** (−2i / ``head_dim``). A ``pair`` that the head lacks is shown as its last.

    Values out of range raise TraitError with a sentence.

    >>> AngleChart(axis="linear", pair=2)
    AngleChart(axis='linear', pair=2)

    Source: Su et al. 2021, arXiv 2104.09864, section 3.2.2. Chapter 6.
    """

    lead = ("position", "axis", "pair")

    n = Slider(7, 1, 12, label="Positions drawn, 1 … n", unit="tokens")
    position = Slider(3, 1, 12, label="Thick line, position m", unit="tokens").under(AtMost("n", either=True))
    axis = Choice(
        "log",
        {"log": "logarithmic", "linear": "linear", "turn": "within one turn"},
        label="Vertical axis",
    )
    pair = Slider(4, 0, 63, label="Pair on its own scale, i").under(AtMost("head_dim", times=0.5, plus=-1))
    head_dim = Choice(32, {d: f"{d} ({d // 2} pairs)" for d in (8, 16, 32, 64, 128)}, label="Head width, d")
    base = Slider(10_000.0, 100.0, 100_000_000.0, log=True, label="Base, b")
