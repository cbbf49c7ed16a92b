"""Chapter 16: how a longer text blurs attention, and how YaRN's temperature sharpens it."""

from rope_edu.encodings import yarn_mscale

from ._results import result
from ._traits import Choice, Slider
from .base import LiveFigure
from .maths.sharpness import matching_share, sharing_keys


class Sharpness(LiveFigure):
    """See the attention on one matching key fade as the text grows, with and without YaRN's factor.

    One key scores ``match``; the scores of all others have mean 0 and standard deviation ``spread``. ``length``
    (tokens) is the cursor; the model was trained on 4,096. ``factor`` is YaRN's stretch s: all scores are
    multiplied by a² = (0.1 ln s + 1)². A static rule uses the same s at every length; a dynamic rule computes s
    from the length. ``shown`` selects the weight of the matching key, or the number of keys that share the
    attention (e to the entropy).

    Its results are ``share`` and ``sharing`` with YaRN's factor; ``share_plain`` and ``sharing_plain`` without it.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> Sharpness(length=16_384, factor=4.0)
    Sharpness(length=16384, factor=4.0)

    Source: Peng et al. 2023, arXiv 2309.00071, section 3.4. Chapter 16.
    """

    lead = ("length", "factor", "shown")

    length = Slider(65_536, 256, 262_144, log=True, label="Length of the text", unit="tokens")
    factor = Slider(16.0, 1.0, 64.0, log=True, label="YaRN's stretch, s")
    match = Slider(10.0, 0.0, 16.0, step=0.1, label="Score of the matching key")
    spread = Slider(1.0, 0.0, 2.0, step=0.05, label="Spread of the other scores")
    shown = Choice(
        "share",
        {"share": "weight of the match", "keys": "keys that share the attention"},
        label="Vertical axis",
    )

    @result("%")
    def share(self):
        """Weight of the matching key with YaRN's factor."""
        return 100 * matching_share(self.length, self.match, self.spread, yarn_mscale(self.factor) ** 2)

    @result("%")
    def share_plain(self):
        """Weight of the matching key without a factor."""
        return 100 * matching_share(self.length, self.match, self.spread)

    @result("keys")
    def sharing(self):
        """Number of keys that share the attention with YaRN's factor."""
        return sharing_keys(self.length, self.match, self.spread, yarn_mscale(self.factor) ** 2)

    @result("keys")
    def sharing_plain(self):
        """Number of keys that share the attention without a factor."""
        return sharing_keys(self.length, self.match, self.spread)
