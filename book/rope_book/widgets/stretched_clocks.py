"""Chapter 15: how far each hand turns under each rule, and which angles training covered."""

from rope_edu.encodings import inv_freq, meets_new_angle, reach

from ._results import result
from ._rules import AtMost, OnlyIf
from ._traits import Choice, Slider
from .base import LiveFigure
from .maths.stretch import RULES, stretched


def speeds(now):
    """Return the head's frequencies with and without the rule."""
    spec = stretched(now.rule, now.head_dim, now.base, now.trained, now.wanted, now.abf_base)
    return spec.inv_freq, inv_freq(now.head_dim, now.base)


class StretchedClocks(LiveFigure):
    """Show each pair as a bar: the share of a turn seen in training, and how far a rule lets the hand turn.

    ``rule`` stretches a head that was trained on ``trained`` tokens to texts of ``wanted`` tokens. The lower part
    of a bar covers the angles up to ``trained``, and the upper part covers the additional angles in a text up to
    ``position``. A dot marks the hand at this position, or a diamond if its angle was never seen in training. A
    pair that does not complete a turn in training must be slowed by at least ``wanted`` / ``trained``; the thin
    chart shows the actual factor. The clock shows ``pair``. ``abf_base`` is the larger base of ABF.

    Its results are ``new_hands``, the number of pairs at an angle never seen in training, and ``reach``, the first
    position at which a pair reaches such an angle (infinite if there is none).

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> StretchedClocks(rule="pi", wanted=16_384, position=16_384)
    StretchedClocks(rule='pi', wanted=16384, position=16384)

    Source: Chen et al. 2023, arXiv 2306.15595; Peng et al. 2023, arXiv 2309.00071. Chapter 15.
    """

    rule = Choice("ntk-aware", dict(RULES), label="Rule")
    wanted = Slider(32_768, 512, 2**20, log=True, label="Wanted length, L′", unit="tokens")
    position = Slider(32_768, 1, 2**20, log=True, label="Position of the hands, m", unit="tokens").under(
        AtMost("wanted")
    )
    pair = Slider(54, 0, 63, label="Pair of the clock, i").under(AtMost("head_dim", times=0.5, plus=-1))
    trained = Slider(4096, 64, 2**17, log=True, label="Trained length, L", unit="tokens")
    base = Slider(10_000.0, 100.0, 100_000_000.0, log=True, label="Base, b")
    abf_base = Slider(500_000.0, 100.0, 100_000_000.0, log=True, label="Base that ABF takes").under(
        OnlyIf("rule", ("abf",))
    )
    head_dim = Choice(128, {d: f"{d} ({d // 2} pairs)" for d in (16, 32, 64, 128)}, label="Head width, d")

    @result("pairs")
    def new_hands(self):
        """Number of pairs whose hand points at an angle never seen in training."""
        changed, plain = speeds(self)
        return int(meets_new_angle([self.position], changed, self.trained, plain).sum())

    @result("tokens")
    def reach(self):
        """First position with an angle never seen in training."""
        changed, plain = speeds(self)
        return float(reach(changed, self.trained, plain))
