"""Chapter 6: the clocks of a head, with all hands at one position."""

import numpy as np

from rope_edu.encodings import completes_turn, inv_freq

from ._results import result
from ._traits import Choice, Slider
from .base import LiveFigure


class Clocks(LiveFigure):
    """See every pair of a head as the hand of a clock.

    ``position`` (tokens) turns hand i counter-clockwise from three o'clock by position · θ_i, where θ_i = ``base``
    ** (−2i / ``head_dim``) radians per token. Under each face is its wavelength, the number of tokens in a full
    turn. The coloured part of a face is the reach of its hand within ``context`` tokens; a face whose hand
    completes a turn within ``context`` is coloured all the way round.

    Parts of the picture, for ``only``: "faces", and "reach" for the faces' coloured parts.

    Its results are ``fastest`` and ``slowest``, the turns that the first and the last hand have made, and
    ``complete``, the number of pairs that complete a turn within ``context``.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> Clocks(position=1000, head_dim=8)
    Clocks(position=1000, head_dim=8)

    Source: Su et al. 2021, arXiv 2104.09864, section 3.2.2. Chapter 6.
    """

    parts = ("faces", "reach")
    lead = ("position", "context", "base")

    position = Slider(100, 0, 4096, label="Position, m", unit="tokens")
    head_dim = Choice(64, {d: f"{d} ({d // 2} pairs)" for d in (4, 8, 16, 32, 64)}, label="Head width, d")
    base = Slider(10_000.0, 100.0, 100_000_000.0, log=True, label="Base, b")
    context = Choice(
        4096,
        {512: "512", 2048: "2,048", 4096: "4,096", 8192: "8,192", 32768: "32,768", 131072: "131,072"},
        label="Context, L (tokens)",
    )

    @result("turns")
    def fastest(self):
        """Number of turns made by pair 0 at the position."""
        return self.position * inv_freq(self.head_dim, self.base)[0] / (2 * np.pi)

    @result("turns")
    def slowest(self):
        """Number of turns made by the last pair at the position."""
        return self.position * inv_freq(self.head_dim, self.base)[-1] / (2 * np.pi)

    @result("pairs")
    def complete(self):
        """Number of pairs that complete a turn within the context."""
        return int(completes_turn(inv_freq(self.head_dim, self.base), self.context).sum())
