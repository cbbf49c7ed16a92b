"""Chapter 15: what each rule does to each pair's speed."""

from ._rules import OnlyIf
from ._traits import Choice, Slider
from .base import LiveFigure
from .maths.stretch import RULES


class StretchedClocks(LiveFigure):
    """See the wavelength of each pair before and after a rule, and by how much it is slowed down.

    The rule stretches a head that was trained on ``trained`` tokens for texts of ``wanted``. A pair that completes
    no turn in training must be slowed by at least ``wanted`` / ``trained``, or it meets new angles within the text:
    such pairs are marked. ``abf_base`` is the larger base that ABF takes.

    Values out of range raise TraitError with a sentence.

    >>> StretchedClocks(rule="pi", wanted=16_384)
    StretchedClocks(rule='pi', wanted=16384)

    Source: Chen et al. 2023, arXiv 2306.15595; Peng et al. 2023, arXiv 2309.00071. Chapter 15.
    """

    rule = Choice("ntk-aware", {name: words for name, words in RULES.items() if name != "rope"}, label="Rule")
    wanted = Slider(32_768, 512, 2**20, log=True, label="Wanted length, L′", unit="tokens")
    trained = Slider(4096, 64, 2**17, log=True, label="Trained length, L", unit="tokens")
    base = Slider(10_000.0, 100.0, 100_000_000.0, log=True, label="Base, b")
    abf_base = Slider(500_000.0, 100.0, 100_000_000.0, log=True, label="Base that ABF takes").under(
        OnlyIf("rule", ("abf",))
    )
    head_dim = Choice(128, {d: f"{d} ({d // 2} pairs)" for d in (16, 32, 64, 128)}, label="Head width, d")
