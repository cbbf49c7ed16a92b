"""Chapter 4 exercises: rotate one pair."""

import math

from rope_book.check.answers import Answer, array, of_function
from rope_book.check.exercise import Verdict, close, judges
from rope_edu.plain import rotate_pair


@judges("4.1")
@of_function
def _rotates(rotate: Answer) -> Verdict:
    """Judge exercise 4.1 with a quarter turn, both directions, an oblique angle and more than a full turn."""
    ask = "It must return the new pair, two numbers."
    across, up = (array(rotate(pair, 0.7), (2,), ask) for pair in ((1.0, 0.0), (0.0, 1.0)))
    c, s = math.cos(0.7), math.sin(0.7)
    if close(across, (c, -s)) and close(up, (s, c)):
        return "It turns clockwise: (1, 0) by π/2 should become (0, 1)."
    if close(across, rotate_pair((1.0, 0.0), math.radians(0.7))):
        return "It reads the angle as degrees; angles here are in radians."
    if close(across, (c, s)) and close(up, (s, -c)):
        return "It is a reflection: (1, 0) goes where it should, but (0, 1) must go to (−sin, cos)."
    if close(across, (1, 0)):
        return "It leaves (1, 0) as it is."
    cases = [((1.0, 0.0), math.pi / 2), ((0.0, 1.0), -math.pi / 2), ((3.0, -2.0), 0.7), ((0.5, 2.0), 9.0)]
    for pair, angle in cases:
        if not close(rotate(pair, angle), rotate_pair(pair, angle)):
            return f"{pair} turned by {angle:.2f} comes out wrong."
    return True
