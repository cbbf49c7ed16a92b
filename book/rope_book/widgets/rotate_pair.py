"""Chapter 4: rotate one pair."""

from typing import Any

import numpy as np
import traitlets

from rope_book.errors import short
from rope_edu.encodings import rotate_pair

from ._results import result
from ._traits import Point, Slider, Toggle
from .base import LiveFigure
from .maths.pair_angle import angle_between


class RotatePair(LiveFigure):
    """Turn a query pair and a key pair by position × θ and read their score.

    ``position`` m and ``key_position`` n (tokens) turn ``q`` and ``k`` counter-clockwise by m·θ and n·θ, where θ is
    ``inv_freq`` (radians per token); the score is the dot product of the turned pairs. With ``lock``, moving one
    position moves the other too, so that the distance m − n stays the same.

    Parts of the picture, for ``only``: "arrows" and "rail" (only those of q, unless "key" is listed too), and
    "score", the score's curve.

    Its results are ``distance`` (tokens), ``angle``, from the turned key to the turned query (rad), and ``score``.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> round(RotatePair().score, 3)
    1.254
    >>> RotatePair(position=12, key_position=8, lock=True)
    RotatePair(position=12, key_position=8, lock=True)

    Source: Su et al. 2021, arXiv 2104.09864, section 3.2.1, equations 11–13. Chapter 4.
    """

    parts = ("arrows", "key", "rail", "score")

    position = Slider(6, 0, 64, label="Position of q, m", unit="tokens")
    key_position = Slider(2, 0, 64, label="Position of k, n", unit="tokens")
    lock = Toggle(False, label="Lock the distance m − n")
    inv_freq = Slider(0.25, 0.0, 1.0, step=0.01, label="Angle per token, θ", unit="rad/token")
    q = Point([1.2, 0.3], 1.5, label="Query pair q")
    k = Point([0.8, 0.8], 1.5, label="Key pair k")

    def along(self, name: str, value: Any) -> dict[str, Any]:
        """Keep the distance if it is locked."""
        other = {"position": "key_position", "key_position": "position"}.get(name)
        if other is None or not self.lock:
            return {}
        control, apart = self.controls()[name], getattr(self, other) - getattr(self, name)
        low, high = max(control.low, control.low - apart), min(control.high, control.high - apart)
        if not low <= value <= high:
            message = f"RotatePair.{name} must be from {low:g} to {high:g} while lock is True, got {value!r}."
            raise short(traitlets.TraitError(message))
        return {other: value + apart}

    @result("tokens")
    def distance(self):
        """Distance m − n from the key to the query."""
        return self.position - self.key_position

    @result("rad")
    def angle(self):
        """Angle φ + (m − n)θ from the turned key to the turned query, including whole turns."""
        return angle_between(self.q, self.k, self.position - self.key_position, self.inv_freq)

    @result()
    def score(self):
        """Dot product of the turned pairs."""
        q, k = (
            rotate_pair(z, at * self.inv_freq)
            for z, at in ((self.q, self.position), (self.k, self.key_position))
        )
        return float(np.dot(q, k))
