"""Chapter 2: the sinusoidal encoding as a heatmap, and the dot product of two of its rows."""

from rope_edu.encodings import inv_freq, sinusoidal

from ._results import result
from ._rules import AtMost
from ._traits import Choice, Slider
from .base import LiveFigure
from .maths.words import random_matrix


class SinusoidHeatmap(LiveFigure):
    """See PE(p) and PE(p + k) as two rows of one heatmap, and their dot product for every offset k.

    ``position`` p and ``offset`` k (tokens) choose the rows. ``pair`` i is drawn next to the heatmap as an arrow
    that turns by k · θ_i from p to p + k, where θ_i = ``base`` ** (−2i / ``d_model``) radians per token; if there
    is no such pair, the last one is drawn. The curve below is PE(p) · PE(p + k) or, with ``between`` "projection",
    PE(p) · W PE(p + k) for one fixed random W. The thin curves are for other values of p.

    Its results are ``product``, the dot product of the rows, and ``turn``, the pair's angle from one row to the
    other.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> SinusoidHeatmap(position=7, between="projection")
    SinusoidHeatmap(position=7, between='projection')

    Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.5. Chapter 2.
    """

    position = Slider(40, 0, 95, label="Position, p", unit="tokens")
    offset = Slider(12, 0, 64, label="Offset, k", unit="tokens")
    between = Choice(
        "nothing",
        {"nothing": "nothing", "projection": "a fixed random matrix W"},
        label="Between the two rows",
    )
    pair = Slider(5, 0, 63, label="Pair beside the heat map, i").under(AtMost("d_model", times=0.5, plus=-1))
    d_model = Choice(64, {d: f"{d} ({d // 2} pairs)" for d in (8, 16, 32, 64, 128)}, label="Features, d")
    base = Slider(10_000.0, 100.0, 100_000_000.0, log=True, label="Base, b")

    @result()
    def product(self):
        """Dot product of the two rows, with W between them if ``between`` is "projection"."""
        first, second = sinusoidal([self.position, self.position + self.offset], self.d_model, self.base)
        if self.between == "projection":
            first = random_matrix(2, self.d_model) @ first
        return float(first @ second)

    @result("rad")
    def turn(self):
        """Angle k · θ_i of the selected pair, including whole turns."""
        return float(self.offset * inv_freq(self.d_model, self.base)[self.pair])
