"""Chapters 15 and 16: the score against distance, under every rule."""

from ._results import Result, result
from ._rules import OnlyIf
from ._traits import Choice, Slider, Toggle
from .base import LiveFigure
from .maths.stretch import RULES, score_trend, stretched

SPREAD = 0.1  # a smoothed curve averages over distances within this fraction of each distance


def score_under(rule: str) -> Result:
    """Make the result for the score under a rule."""

    def score(now):
        rotation = stretched(rule, now.head_dim, now.base, now.trained, now.wanted, now.abf_base)
        distance = min(now.distance, max(now.wanted, now.trained))
        spread = SPREAD if now.smooth else 0.0
        return score_trend(rotation.inv_freq, rotation.attention_factor, distance, spread)

    score.__doc__ = f"Score of equal vectors at the cursor with {RULES[rule]}."
    return result("of plain RoPE's at distance 0")(score)


class ScoreUnderRules(LiveFigure):
    """Compare the score of equal vectors at every distance, under several rules.

    Each rule has a switch: ``plain`` (no rule), ``pi``, ``abf``, ``ntk_aware``, ``by_parts``, ``yarn``, ``llama3``.
    They stretch a head that was trained on ``trained`` tokens to texts of ``wanted`` tokens. Scores are relative to
    plain RoPE's at distance 0; YaRN's include its squared attention factor. With ``smooth`` a curve is the mean
    over distances ± 10 %, which shows the trend; ``distance`` is the cursor.

    Its results are the scores at the cursor under every rule, switched on or not: ``score_plain``, ``score_pi``,
    ``score_ntk_aware``, ``score_abf``, ``score_by_parts``, ``score_yarn`` and ``score_llama3``.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> ScoreUnderRules(pi=False, yarn=True)
    ScoreUnderRules(pi=False, yarn=True)

    Source: Su et al. 2021, arXiv 2104.09864, section 3.4.3, for the sum of cosines. Chapters 15 and 16.
    """

    lead = ("distance", "wanted", "smooth")

    plain = Toggle(True, label="No rule")
    pi = Toggle(True, label="PI")
    ntk_aware = Toggle(True, label="NTK-aware")
    abf = Toggle(False, label="ABF")
    by_parts = Toggle(False, label="By parts")
    yarn = Toggle(False, label="YaRN")
    llama3 = Toggle(False, label="Llama 3")
    distance = Slider(100, 1, 2**20, log=True, label="Distance, r", unit="tokens")
    wanted = Slider(32_768, 512, 2**20, log=True, label="Wanted length, L′", unit="tokens")
    trained = Slider(4096, 64, 2**17, log=True, label="Trained length, L", unit="tokens")
    base = Slider(10_000.0, 100.0, 100_000_000.0, log=True, label="Base, b")
    abf_base = Slider(500_000.0, 100.0, 100_000_000.0, log=True, label="Base that ABF takes").under(
        OnlyIf("abf", (True,))
    )
    head_dim = Choice(128, {d: f"{d} ({d // 2} pairs)" for d in (16, 32, 64, 128)}, label="Head width, d")
    smooth = Toggle(True, label="Smooth: mean over distances ± 10 %")

    score_plain = score_under("rope")
    score_pi = score_under("pi")
    score_ntk_aware = score_under("ntk-aware")
    score_abf = score_under("abf")
    score_by_parts = score_under("ntk-by-parts")
    score_yarn = score_under("yarn")
    score_llama3 = score_under("llama3")
