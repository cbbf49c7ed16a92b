"""Chapter 16 exercises: blend by wavelength."""

import math

from rope_book.check.answers import Answer, array, of_function
from rope_book.check.exercise import Known, Verdict, against, judges, of_cases
from rope_edu.encodings import inv_freq, llama3, ntk_aware, yarn

CASES = ((0.5, 16.0, 4096), (0.02, 16.0, 4096), (0.01, 4.0, 4096), (0.0016, 8.0, 4096), (1e-4, 16.0, 4096))


def _blended(theta: float, s: float, share: float) -> float:
    """Blend θ/s with θ, where `share` is the weight of θ."""
    return (1 - share) * theta / s + share * theta


@judges("16.1")
@of_cases(
    [(*case, *turns) for turns in ((1.0, 32.0), (2.0, 16.0)) for case in CASES],
    "It must return one frequency.",
    tol=1e-9,
)
def _blends(result: float, theta: float, s: float, length: float, slow: float, fast: float) -> Known:
    """Judge exercise 16.1 with frequencies that are kept, blended or divided."""
    turns, tokens = length * theta / (2 * math.pi), 2 * math.pi / theta
    share, by_radians, by_tokens = ((x - slow) / (fast - slow) for x in (turns, length * theta, tokens))
    kept, by_radians, by_tokens = (min(max(x, 0), 1) for x in (share, by_radians, by_tokens))
    right = _blended(theta, s, kept)
    slips = {
        "The share that is kept multiplies θ, the rest θ/s: yours are exchanged.": _blended(
            theta, s, 1 - kept
        ),
        "The share must stay between 0 and 1: clip it.": _blended(theta, s, share),
        "L · θ are radians; a turn has 2π of them.": _blended(theta, s, by_radians),
        "The interpolated frequency is θ/s, not θ · s.": _blended(theta, 1 / s, kept),
        "That blends by the wavelength; the share follows from how many turns it makes in L tokens.": _blended(
            theta, s, by_tokens
        ),
    }
    case = f"by_parts({theta}, {s:g}, {length}, {slow:g}, {fast:g}) gave {result:.6g}, not {right:.6g}."
    return right, {f"{case} {why}": slip for why, slip in slips.items()}, case


@judges("16.5")
@of_function
def _lists_divisors(divisors: Answer) -> Verdict:
    """Judge exercise 16.5 with three rules."""
    specs = ((yarn(128, 16, 4096), 1e4), (llama3(64, 32, 8192), 5e5), (ntk_aware(32, 4, base=1e3), 1e3))
    for spec, base in specs:
        pairs = len(spec.inv_freq)
        result = array(divisors(spec, base), (pairs,), f"One divisor for each pair, ({pairs},).")
        right, usual = (inv_freq(spec.rotary_dim, b) / spec.inv_freq for b in (base, 10_000))
        slips = {
            "That is what θ is multiplied by; a divisor is the inverse.": 1 / right,
            "Does the base reach inv_freq?": usual,
            "These are the frequencies; what must θ be divided by to give them?": spec.inv_freq,
        }
        first = right[:3].round(3).tolist()
        asked = f"For the {spec.kind} spec the first divisors should be {first}."
        if (verdict := against(result, right, slips, asked)) is not True:
            return verdict
    return True
