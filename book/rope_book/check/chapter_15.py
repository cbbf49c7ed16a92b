"""Chapter 15 exercises: stretch the frequencies."""

import numpy as np

from rope_book.check.answers import Answer, array, number, of_function
from rope_book.check.exercise import Known, Verdict, against, close, judges, of_cases, slip_of
from rope_edu.encodings import (
    abf,
    apply_rope,
    completes_turn,
    dynamic_ntk,
    inv_freq,
    ntk_aware,
    position_interpolation,
    reach,
    rope_angles,
)


@judges("15.1")
@of_cases(((10_000.0, 8.0, 128), (500_000.0, 3.0, 64), (10_000.0, 2.0, 4)), ratio=True)
def _stretches_the_base(result: float, base: float, s: float, d: int) -> Known:
    """Judge exercise 15.1 with three combinations of base, factor and width."""
    slips = {
        "Nearly: with b · s the last pair is slowed down by less than s.": base * s,
        "The exponent is upside down.": base * s ** ((d - 2) / d),
        "The last pair is number d/2 − 1, not d/2: its exponent is (d − 2)/d.": base * s ** (d / (d - 1)),
        "That multiplies the base by s as often as there are features.": base * s**d,
    }
    asked = f"For base {base:,.0f}, s = {s:g}, d = {d} the last pair is not slowed down by {s:g}."
    return base * s ** (d / (d - 2)), slips, asked


@judges("15.2")
@of_function
def _finds_the_factor(factor_for: Answer) -> Verdict:
    """Judge exercise 15.2: the factor at which NTK-aware scaling reaches a given length."""
    for length, trained, d, base in ((120_000, 8192, 128, 500_000.0), (16_384, 4096, 128, 10_000.0)):
        result = number(factor_for(length, trained, d, base), "It must return one number.")
        first = int(completes_turn(inv_freq(d, base), trained).sum())  # index of the first incomplete turn
        last, s = d // 2 - 1, length / trained
        expected = s ** (last / first)
        if close(result / expected, 1, 0.02):
            continue
        slips = {
            "That is L′/L: enough for the last pair alone.": s,
            "Upside down: the first slow pair gets less than the whole factor, so the factor must be larger.": s
            ** (first / last),
            "That is the new base; the question asks for the factor.": base * expected ** (d / (d - 2)),
            "The last pair is number d/2 − 1, not d/2.": s ** ((last + 1) / first),
            "You took the last fast pair; the first slow one is the next.": s ** (last / (first - 1)),
        }
        asked = f"From {trained:,} to {length:,} with base {base:,.0f} it is not {result:,.1f}."
        return slip_of(result, slips, asked, tol=0.005, ratio=True)
    return True


@judges("15.4")
@of_function
def _finds_the_reach(reach_of: Answer) -> Verdict:
    """Judge exercise 15.4 with three rules."""
    trained = inv_freq(128)
    rules = {
        "NTK-aware, s = 8": ntk_aware(128, 8),
        "PI, s = 4": position_interpolation(128, 4),
        "ABF": abf(128, 500_000.0),
    }
    for name, spec in rules.items():
        now = spec.inv_freq
        result = number(reach_of(now.copy(), trained.copy(), 4096), "It must return one number of tokens.")
        slower = trained / now
        slow, slow_now = slower[~completes_turn(trained, 4096)], slower[~completes_turn(now, 4096)]
        slips = {
            "Fast pairs may leave their old range: they have seen the whole circle.": 4096 * slower.min(),
            "That is where the last slow pair leaves, not the first.": 4096 * slow.max(),
            "Which pairs are slow was decided in training: ask trained_inv_freq.": 4096 * slow_now.min(),
            "Upside down: a pair that is slowed down gets farther.": 4096 * (1 / slow).min(),
            "That is how much slower; times L it is a distance.": slow.min(),
        }
        asked = f"Under {name} the first new angle does not come at {result:,.0f} tokens."
        if (
            verdict := against(result, reach(now, 4096, trained), slips, asked, tol=1e-3, ratio=True)
        ) is not True:
            return verdict
    return True


@judges("15.5")
@of_function
def _scores_by_the_rule(scores_now: Answer) -> Verdict:
    """Judge exercise 15.5 with texts up to the trained length and beyond it."""
    rng = np.random.default_rng(3)

    def rule(length: int) -> np.ndarray:
        return dynamic_ntk(8, 10, length=length, factor=3.0).inv_freq

    for n in (1, 10, 25):
        q, keys = rng.normal(size=8), rng.normal(size=(n, 8))
        many = f"{n} key{'s' * (n > 1)}"
        result = scores_now(q.copy(), keys.copy(), rule)
        result = array(result, (n,), f"For {many} it must return {n} numbers.")
        turned = apply_rope(keys, rope_angles(range(n), rule(n)))
        stale = np.stack([apply_rope(key, rope_angles(i, rule(i + 1))) for i, key in enumerate(keys)])
        here, ahead = (apply_rope(q, rope_angles(at, rule(n))) for at in (n - 1, n))
        root = np.sqrt(8)
        slips = {
            "Almost: divide by √d.": turned @ here,
            "The query is at the last position, n − 1, and is turned as well.": turned @ q / root,
            "The query is the newest of the n tokens: its position is n − 1.": turned @ ahead / root,
            "Neither the keys nor the query are turned.": keys @ q / root,
            "These are stale keys, each turned by the rule in force when it was stored.": stale @ here / root,
        }
        asked = f"With {many} the scores differ from those of the whole text."
        if (verdict := against(result, turned @ here / root, slips, asked)) is not True:
            return verdict
    return True
