"""Exercises of chapter 16: blend by wavelength."""

import math

from rope_book.check.answers import Answer, array, number, numbers, of_function
from rope_book.check.exercise import Known, Verdict, against, close, judges, of_cases
from rope_edu.encodings import inv_freq, llama3, ntk_aware, yarn

CASES = ((0.5, 16.0, 4096), (0.02, 16.0, 4096), (0.01, 4.0, 4096), (0.0016, 8.0, 4096), (1e-4, 16.0, 4096))


def _blended(theta: float, s: float, share: float) -> float:
    """Return a frequency of which so much is kept."""
    return (1 - share) * theta / s + share * theta


@judges("16.1")
@of_cases(
    [(*case, 1.0, fast) for fast in (32.0, 4.0) for case in CASES], "It must return one frequency.", tol=1e-9
)
def _blends(found: float, theta: float, s: float, length: float, slow: float, fast: float) -> Known:
    """Judge exercise 16.1 on pairs that are kept, blended and divided."""
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
        "That blends by the wavelength; asked is how many turns it makes in L tokens.": _blended(
            theta, s, by_tokens
        ),
    }
    case = f"by_parts({theta}, {s:g}, {length}, {slow:g}, {fast:g}) gave {found:.6g}, not {right:.6g}."
    return right, {f"{case} {why}": slip for why, slip in slips.items()}, case


@judges("16.2")
def _squares_the_factor(times: object) -> Verdict:
    """Judge exercise 16.2: a² for s = 8."""
    found, a = number(times, "The answer is one number."), 0.1 * math.log(8) + 1
    slips = {
        "That is a, on cos and sin: the query has it, and the key.": a,
        "The logarithm of the rule is the natural one.": (0.1 * math.log10(8) + 1) ** 2,
        "That is with the logarithm to base 2; the rule has the natural one.": (0.1 * math.log2(8) + 1) ** 2,
        "Add 1 to 0.1 ln s before you square.": (0.1 * math.log(8)) ** 2,
    }
    return against(found, a * a, slips, f"Scores are not multiplied by {found:.4g}.", tol=2e-3)


@judges("16.3")
def _doubles_scores(stretch: object) -> Verdict:
    """Judge exercise 16.3: (0.1 ln s + 1)² = 2, to a percent."""
    found = number(stretch, "The answer is one stretch.")
    if found <= 0:
        return "A stretch is above 0."
    right = math.exp(10 * (math.sqrt(2) - 1))
    if close(found / right, 1, 0.01):
        return True
    if close(found / math.exp(10), 1, 0.01):
        return "With that stretch a is 2, and scores grow by a² = 4."
    if close(found / 10 ** (10 * (math.sqrt(2) - 1)), 1, 0.01):
        return "ln is the natural logarithm: undo it with e, not with 10."
    if close(found, 10 * (math.sqrt(2) - 1), 0.05):
        return "That is ln s."
    return f"With s = {found:g} the scores grow by {(0.1 * math.log(found) + 1) ** 2:.3f}."


@judges("16.4")
def _counts_parts(answer: object) -> Verdict:
    """Judge exercise 16.4: Llama 3.2 1B."""
    found = numbers(answer, 3, "The answer is three numbers: kept, blended, divided.")
    by = llama3(64, 32, 8192).inv_freq / inv_freq(64, 500_000)
    right = [int((by > 1 - 1e-9).sum()), 0, int((by < 1 / 32 + 1e-9).sum())]
    right[1] = 32 - right[0] - right[2]
    if found == right:
        return True
    if sum(found) == 64:
        return "A head of 64 has 32 pairs."
    if found == right[::-1]:
        return "Kept come first: short wavelengths are the ones that stay."
    if sum(found) != 32:
        return f"The three must add up to the 32 pairs; yours add up to {sum(found):g}."
    return "Together they are 32, but they are divided otherwise."


@judges("16.5")
@of_function
def _lists_divisors(divisors: Answer) -> Verdict:
    """Judge exercise 16.5 on three rules."""
    specs = ((yarn(128, 16, 4096), 1e4), (llama3(64, 32, 8192), 5e5), (ntk_aware(32, 4, base=1e3), 1e3))
    for spec, base in specs:
        pairs = len(spec.inv_freq)
        found = array(divisors(spec, base), (pairs,), f"One divisor for each pair, ({pairs},).")
        right, usual = (inv_freq(spec.rotary_dim, b) / spec.inv_freq for b in (base, 10_000))
        slips = {
            "That is what θ is multiplied by; a divisor is the inverse.": 1 / right,
            "Does the base reach inv_freq?": usual,
            "These are the frequencies; what must θ be divided by to give them?": spec.inv_freq,
        }
        first = right[:3].round(3).tolist()
        asked = f"For the {spec.kind} spec the first divisors should be {first}."
        if (verdict := against(found, right, slips, asked)) is not True:
            return verdict
    return True
