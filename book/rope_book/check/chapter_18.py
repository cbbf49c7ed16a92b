"""Chapter 18 exercises: break and mend a model."""

import numpy as np

from rope_book.check.answers import Answer, number, numbers, of_function
from rope_book.check.exercise import Verdict, close, judges
from rope_book.results.grid import sign_flip_p


@judges("18.1")
@of_function
def _unmixes(at_new_places: Answer) -> Verdict:
    """Judge exercise 18.1: solve overall = (at_trained + (times − 1) · new) / times for `new`."""
    for new, at_trained, times in ((0.5, 1.0, 2), (0.1, 0.9, 16), (0.25, 0.25, 4)):
        overall = (at_trained + (times - 1) * new) / times
        result = number(at_new_places(overall, at_trained, times), "It must return one share.")
        if not close(result, new):
            case = f"at_new_places({overall:.4g}, {at_trained:g}, {times})"
            mixed = (at_trained + (times - 1) * result) / times
            pieces = (
                f"a piece with {at_trained:g} and {times - 1} with {result:.4g} have {mixed:.4g} in the mean"
            )
            return f"{case} gave {result:.4g}: {pieces}, not {overall:.4g}."
    return True


@judges("18.3")
@of_function
def _reports_honestly(report: Answer) -> Verdict:
    """Judge exercise 18.3: choose by tuning loss, report the test loss, and compute the gain from peeking."""
    ask = "It must return three numbers: which setting, its test loss, and a difference."
    for tuning, test in (([1.0, 1.125, 1.25], [1.5, 1.25, 1.375]), ([2.0, 1.5], [2.5, 1.75])):
        chosen, peeked = int(np.argmin(tuning)), int(np.argmin(test))
        which, loss, gain = numbers(report(list(tuning), list(test)), 3, ask)
        case = f"For the tuning losses {tuning} and the test losses {test}"
        if which != chosen:
            why = " That looks at the test texts." if which == peeked else " First comes the setting, from 0."
            return f"{case} it chooses {which}.{why}"
        if not close(loss, test[chosen]):
            return f"{case} it states {loss}." + (" That is the tuning loss." * close(loss, tuning[chosen]))
        wanted = test[chosen] - test[peeked]
        if wanted and close(gain, -wanted):
            return "Peeking states less: the difference is at least 0."
        if not close(gain, wanted):
            return f"{case} peeking would state {wanted:g} less, not {gain}."
    return True


VERDICTS = (
    ([0.9, 0.8, 0.85, 0.9, 0.88, 0.87, 0.9, 0.91], [0.5, 0.6, 0.55, 0.5, 0.61, 0.6, 0.5, 0.6]),
    ([0.5, 0.6, 0.55, 0.5, 0.61, 0.6, 0.5, 0.6], [0.9, 0.8, 0.85, 0.9, 0.88, 0.87, 0.9, 0.91]),
    ([0.9, 0.8, 0.85, 0.9, 0.88], [0.5, 0.6, 0.55, 0.5, 0.61]),  # five seeds are too few to decide
    ([0.9, 0.8, 0.85, 0.4, 0.88, 0.87, 0.3, 0.91], [0.5, 0.6, 0.55, 0.9, 0.61, 0.6, 0.8, 0.6]),
    ([0.5] * 8, [0.5] * 8),
)


@judges("18.4")
@of_function
def _gives_a_verdict(verdict: Answer) -> Verdict:
    """Judge exercise 18.4 on results that are clear, mixed, equal or from too few seeds."""
    for a, b in VERDICTS:
        p, ahead = sign_flip_p(np.subtract(a, b)), float(np.median(a) - np.median(b))
        wanted = "open" if p >= 0.01 or not ahead else ("a" if ahead > 0 else "b")
        result = verdict(list(a), list(b))
        if not isinstance(result, str) or result not in ("a", "b", "open"):
            return 'It must return "a", "b" or "open".'
        if result != wanted:
            return f"For {a} and {b} it says {result!r}: the medians differ by {ahead:+.2f}, and p = {p:.3g}."
    return True
