"""Exercises of chapter 4: rotate one pair."""

import math

from rope_book.check.answers import Answer, array, number, numbers, of_function
from rope_book.check.exercise import Verdict, against, close, judges
from rope_book.check.ruled import ruled
from rope_edu.plain import rotate_pair

RADIANS_PER_TOKEN = math.pi / 6  # a twelfth of a turn a token, as on a clock face


def _score(q: tuple[float, float], m: int, k: tuple[float, float], n: int) -> float:
    """Rotate q by +m·θ and k by +n·θ, and take their dot product."""
    (a, b), (c, d) = rotate_pair(q, m * RADIANS_PER_TOKEN), rotate_pair(k, n * RADIANS_PER_TOKEN)
    return a * c + b * d


@judges("4.1")
@of_function
def _rotates(rotate: Answer) -> Verdict:
    """Judge exercise 4.1 on a quarter turn, both senses, a skew angle and more than a turn."""
    ask = "It must return the new pair, two numbers."
    across, up = (array(rotate(pair, 0.7), (2,), ask) for pair in ((1.0, 0.0), (0.0, 1.0)))
    c, s = math.cos(0.7), math.sin(0.7)
    if close(across, (c, -s)) and close(up, (s, c)):
        return "It turns clockwise: (1, 0) by π/2 should become (0, 1)."
    if close(across, rotate_pair((1.0, 0.0), math.radians(0.7))):
        return "It takes the angle for degrees; here angles are in radians."
    if close(across, (c, s)) and close(up, (s, -c)):
        return "It mirrors: (1, 0) goes where it should, but (0, 1) must go to (−sin, cos)."
    if close(across, (1, 0)):
        return "It leaves (1, 0) as it is."
    cases = [((1.0, 0.0), math.pi / 2), ((0.0, 1.0), -math.pi / 2), ((3.0, -2.0), 0.7), ((0.5, 2.0), 9.0)]
    for pair, angle in cases:
        if not close(rotate(pair, angle), rotate_pair(pair, angle)):
            return f"{pair} turned by {angle:.2f} comes out wrong."
    return True


@judges("4.2")
def _is_half(score: object) -> Verdict:
    """Judge exercise 4.2: q = (1, 0) at 5 and k = (0, 1) at 4 score sin(π/6) = 1/2."""
    score, expected = number(score), _score((1.0, 0.0), 5, (0.0, 1.0), 4)
    slips = {
        "The size is right, the sign is not.": -expected,
        "That is their score without positions: q and k turn by different angles.": 0,
        "That would be q against itself one token away; k stands at a right angle to it.": math.cos(
            math.pi / 6
        ),
    }
    return against(
        score, expected, slips, f"{score:g} it is not: one sine, of the angle that one token turns."
    )


@judges("4.3")
def _keeps_the_score(pair: object) -> Verdict:
    """Judge exercise 4.3: another (m, n) with the score of (9, 4), whatever q and k hold."""
    return ruled("4.3", *numbers(pair, 2, "The answer is two positions, (m, n)."))
