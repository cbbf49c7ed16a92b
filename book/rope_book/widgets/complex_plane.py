"""Chapter 5: derive rotation with complex numbers."""

from ._results import result
from ._traits import Choice, Point, Slider
from .base import LiveFigure
from .maths.derivation import HOLDS, breaks, encoder


class ComplexPlane(LiveFigure):
    """Follow the derivation of RoPE line by line in the complex plane, with the right f or a wrong one.

    ``line`` selects one of the six lines, and ``candidate`` selects the function f that encodes a pair's position.
    The query pair ``q`` is at ``position`` m, and the key pair ``k`` is at ``key_position`` n (tokens);
    ``inv_freq`` is θ (radians per token). Six marks show which lines hold for this f at positions 0 to 8, and the
    readout shows by how much the selected line fails.

    Its result is ``excess``, the amount by which the selected line fails (0 if it holds).

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> ComplexPlane(line=5, candidate="square")
    ComplexPlane(line=5, candidate='square')

    Source: Su et al. 2021, arXiv 2104.09864, section 3.4.1, equations 20–33. Chapter 5.
    """

    line = Choice(
        2,
        {
            1: "1: position 0",
            2: "2: the product",
            3: "3: lengths where m = n",
            4: "4: angles where m = n",
            5: "5: neighbours, equal steps",
            6: "6: the score",
        },
        label="Line of the derivation",
    )
    candidate = Choice(
        "turn",
        {
            "turn": "turn: by mθ",
            "head_start": "head start: by mθ + 0.5",
            "grow": "grow: turn and stretch",
            "content": "content: by mθ|q|",
            "square": "square: by m²θ/8",
            "add": "add: a turning arrow",
            "mirror": "mirror: at odd m",
        },
        label="Candidate for f(q, m)",
    )
    position = Slider(5, 0, 8, label="Position of q, m", unit="tokens")
    key_position = Slider(2, 0, 8, label="Position of k, n", unit="tokens")
    inv_freq = Slider(0.3, 0.0, 1.0, step=0.01, label="Angle per token, θ", unit="rad/token")
    q = Point([1.2, 0.3], 1.5, label="Query pair q")
    k = Point([0.8, 0.8], 1.5, label="Key pair k")

    @result()
    def excess(self):
        """Largest violation of the selected line, in radians for lines 4 and 5."""
        f = encoder(self.candidate, self.inv_freq)
        amount = breaks(f, complex(*self.q), complex(*self.k))[self.line - 1]
        return amount if amount > HOLDS else 0.0
