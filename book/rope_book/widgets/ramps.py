"""Chapter 16: which pairs a by-parts rule leaves alone, which it blends and which it divides."""

import numpy as np

from rope_edu.encodings import inv_freq, yarn

from ._results import result
from ._rules import AtMost
from ._traits import Choice, Slider, Toggle
from .base import LiveFigure


class Ramps(LiveFigure):
    """Draw how much of each pair's frequency three rules keep: YaRN's code, YaRN's paper, and Llama 3's thresholds.

    A pair that turns ``beta_fast`` times or more in ``trained_length`` (tokens) keeps its frequency; one that turns
    ``beta_slow`` times or less has it divided by ``factor``. Llama 3's thresholds are 4 and 1 turns. ``truncate``
    rounds the ends of the code's ramp to whole pairs. ``shown`` selects the share kept or the multiplier of the
    frequency, and ``across`` plots it against the pair's index or its number of turns. ``pair`` is the cursor,
    limited to the head's pairs.

    Its results are the pair's ``wavelength`` and ``turns``, and its ``multiplier`` under YaRN's code.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> Ramps(factor=8.0, trained_length=8192, base=500_000.0)
    Ramps(factor=8.0, trained_length=8192, base=500000.0)

    Source: Peng et al. 2023, arXiv 2309.00071, section 3.2, and its released code. Chapter 16.
    """

    lead = ("pair", "factor", "shown")

    pair = Slider(34, 0, 127, label="Pair, i").under(AtMost("head_dim", times=0.5, plus=-1))
    factor = Slider(16.0, 1.0, 64.0, log=True, label="Stretch, s")
    trained_length = Slider(4096, 32, 131_072, log=True, label="Trained length, L", unit="tokens")
    base = Slider(10_000.0, 1000.0, 10_000_000.0, log=True, label="Base, b")
    head_dim = Choice(128, {d: f"{d} ({d // 2} pairs)" for d in (64, 128, 256)}, label="Head width, d")
    beta_fast = Slider(32.0, 2.5, 64.0, step=0.5, label="β fast", unit="turns")
    beta_slow = Slider(1.0, 0.1, 2.0, step=0.1, label="β slow", unit="turns")
    shown = Choice(
        "kept",
        {"kept": "share kept, γ", "multiplier": "what θ is multiplied by"},
        label="Vertical axis",
    )
    across = Choice("pair", {"pair": "pair i", "turns": "turns in L"}, label="Horizontal axis")
    truncate = Toggle(True, label="Ends of the code's ramp at whole pairs (truncate)")

    @result("tokens")
    def wavelength(self):
        """Number of tokens in which the pair turns once."""
        return float(2 * np.pi / inv_freq(self.head_dim, self.base)[self.pair])

    @result("turns")
    def turns(self):
        """Number of turns that the pair makes in the trained length."""
        return self.trained_length * float(inv_freq(self.head_dim, self.base)[self.pair]) / (2 * np.pi)

    @result()
    def multiplier(self):
        """Factor by which YaRN's code multiplies the pair's frequency."""
        betas = {"beta_fast": self.beta_fast, "beta_slow": self.beta_slow, "truncate": self.truncate}
        spec = yarn(self.head_dim, self.factor, self.trained_length, base=self.base, **betas)
        return float(spec.inv_freq[self.pair] / inv_freq(self.head_dim, self.base)[self.pair])
