"""Chapter 19: tell variants apart."""

from rope_edu.encodings import completes_turn, inv_freq

from ._results import result
from ._rules import AtMost
from ._traits import Choice, Slider
from .base import LiveFigure


class WhatTurns(LiveFigure):
    """See which of a head's features turn under RoPE, partial rotary and p-RoPE, how fast and in which pairs.

    Each row shows the same head under one of these variants, with one cell per feature, coloured by speed or empty
    if the feature does not turn; features that turn together have one colour. A hand in each cell shows how far
    they have turned at ``position``. ``fraction`` is partial rotary's share of features and p-RoPE's share of
    pairs; ``pairing`` is the layout. ``feature`` is followed through all rows, with an arc to its partner. Below is
    the wavelength of each turning pair, compared with ``trained_length`` (tokens).

    Its result is ``complete``, the number of RoPE's pairs that complete a turn in training.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> WhatTurns(fraction=0.5, pairing="interleaved")
    WhatTurns(pairing='interleaved', fraction=0.5)

    Source: GPT-NeoX, arXiv 2204.06745, §2.1; p-RoPE, arXiv 2410.06205, §6. Chapter 19.
    """

    lead = ("position", "pairing", "fraction")

    position = Slider(6, 0, 512, label="Position, m", unit="tokens")
    feature = Slider(1, 0, 15, label="Feature to follow, j").under(AtMost("head_dim", plus=-1))
    pairing = Choice(
        "half_split",
        {"half_split": "half split: i with i + half", "interleaved": "interleaved: 2i with 2i + 1"},
        label="Layout",
    )
    fraction = Choice(0.25, {0.25: "a quarter", 0.5: "a half", 0.75: "three quarters"}, label="Fraction")
    head_dim = Choice(16, {8: "8 (4 pairs)", 16: "16 (8 pairs)"}, label="Head width, d")
    base = Slider(10_000.0, 10.0, 1_000_000.0, log=True, label="Base, b")
    trained_length = Slider(4096, 16, 131_072, log=True, label="Trained length, L", unit="tokens")

    @result("pairs")
    def complete(self):
        """Number of RoPE's pairs that complete a turn within the trained length."""
        return int(completes_turn(inv_freq(self.head_dim, self.base), self.trained_length).sum())
