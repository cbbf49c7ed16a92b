"""Chapter 5 exercises: derive the rotation with complex numbers."""

import cmath
import math
from collections.abc import Callable

import numpy as np

from rope_book.check.answers import (
    Answer,
    Reply,
    array,
    complex_number,
    function,
    native,
    number,
    of_function,
    row,
)
from rope_book.check.exercise import Verdict, close, judges
from rope_book.check.rows import judge_row

RADIANS_PER_TOKEN = 0.25
HALF_LIFE = 10  # the distance, in tokens, over which the score halves in exercise 5.3


def _rope(x: list[float], position: int, inv_freq: list[float]) -> list[float]:
    """Rotate each pair (x[2i], x[2i+1]) by position · inv_freq[i], as a complex number."""
    out: list[float] = []
    for i, frequency in enumerate(inv_freq):
        turned = complex(x[2 * i], x[2 * i + 1]) * cmath.exp(1j * position * frequency)
        out += [turned.real, turned.imag]
    return out


@judges("5.1")
@of_function
def _is_rope(rope: Answer) -> Verdict:
    """Judge exercise 5.1 on vectors of one to three pairs, at near and far positions."""
    cases = [
        ([1.0, 0.0], 1, [math.pi / 2]),
        ([0.3, -1.2, 2.0, 0.5, -0.7, 1.1], 3, [1.0, 0.1, 0.01]),
        ([0.3, -1.2, 2.0, 0.5], 1000, [0.7, 0.05]),
    ]
    for x, position, inv_freq in cases:
        got = array(
            rope(np.array(x), position, np.array(inv_freq)), None, "It must return an array of real numbers."
        )
        if np.iscomplexobj(got):
            return "The result is complex: a model needs the pairs back as real numbers."
        if got.shape != (len(x),):
            return f"For {len(x)} numbers it must return {len(x)}, in one row; its shape is {got.shape}."
        if close(got, _rope(x, -position, inv_freq)):
            return "It turns clockwise: (1, 0) by π/2 should become (0, 1)."
        if len(x) > 2 and (slip := _slip_of_order(got, x, position, inv_freq)):
            return slip
        if not close(got, _rope(x, position, inv_freq)):
            return f"x = {x}, position {position}, inv_freq {inv_freq} gives something else."
    return True


def _slip_of_order(got: np.ndarray, x: list[float], position: int, inv_freq: list[float]) -> str:
    """Return a sentence about a known mistake in the order of the numbers, or "" if none explains the answer."""
    half = np.array(x).reshape(2, -1).T.ravel()  # pairs (i, i + d/2), side by side
    turned = np.array(_rope(x, position, inv_freq))
    if close(got, np.concatenate([turned[0::2], turned[1::2]])):
        return "These are all the first numbers, then all the second ones: put the pairs side by side again."
    if close(got, np.array(_rope(list(half), position, inv_freq)).reshape(-1, 2).T.ravel()):
        return "It pairs numbers half a row apart; here the pairs are side by side."
    return ""


@judges("5.3")
def _halves_every_ten(answer: object) -> Verdict:
    """Judge exercise 5.3: with f_q and f_k, the score must halve every ten tokens of distance."""
    f_q, f_k = map(_turner, row(answer, 2, "The answer is two functions, (f_q, f_k)."))
    q, k = 1.2 + 0.3j, -0.4 + 0.8j
    if not (close(f_q(q, 0), q) and close(f_k(k, 0), k)):
        return "At position 0 both must return their pair unchanged."

    def score(m: int, n: int) -> float:
        return (f_q(q, m) * f_k(k, n).conjugate()).real

    def slipped(power: float, sense: int) -> bool:
        factor = {d: 2 ** (-power * d / HALF_LIFE) for d in (10, 3)}
        return all(
            close(
                score(m, n),
                (q * k.conjugate() * cmath.exp(sense * 1j * (m - n) * RADIANS_PER_TOKEN)).real
                * factor[m - n],
            )
            for m, n in [(10, 0), (7, 4)]
        )

    if slipped(0, 1):
        return "It turns but does not fade: at distance 10 the score should swing half as far."
    if slipped(-1, 1):
        return "It grows with distance: exchange the two factors."
    if slipped(1, -1):
        return "It fades as it should, but it turns the other way: the angle is +0.25 per token for both."
    if not close(score(7, 4), score(57, 54)):
        return "The score at (7, 4) differs from the score at (57, 54): it sees more than the distance."
    for m, n in [(0, 0), (10, 0), (7, 4), (33, 12), (5, 9)]:
        turned = (q * k.conjugate() * cmath.exp(1j * (m - n) * RADIANS_PER_TOKEN)).real
        if not close(score(m, n), turned * 2 ** (-(m - n) / HALF_LIFE)):
            return f"At distance {m - n} the score is {score(m, n):.4f}."
    return True


def _turner(answer: object) -> Callable[[complex, int], complex]:
    """Wrap one of the reader's two functions for exercise 5.3 so that its results are complex."""
    if not callable(answer):
        raise Reply("The answer is two functions, (f_q, f_k), without parentheses.")
    turn = function(answer)
    return lambda z, position: complex(
        complex_number(turn(z, position), "Each must return one complex number.")
    )


def _complex(answer: object) -> complex:
    """Return a complex number, which may be given as a pair (x, y)."""
    ask = "The answer is two complex numbers, (q, k)."
    if isinstance(native(answer), list | np.ndarray):
        return complex(*(float(number(part, ask)) for part in row(answer, 2, ask)))
    return complex(complex_number(answer, ask))


@judges("5.4")
def _hides_the_sign(answer: object) -> Verdict:
    """Judge exercise 5.4: find q and k whose score stays the same if the wrong vector is conjugated."""
    q, k = map(_complex, row(answer, 2, "The answer is two complex numbers, (q, k)."))
    return judge_row("5.4", q.real, q.imag, k.real, k.imag)
