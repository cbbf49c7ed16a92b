r"""Compare a server's answers token by token."""

import math
from collections.abc import Sequence

import numpy as np

from rope_doctor.probes.endpoint import Place, plain

RUN = 4  # number of neighbouring tokens over which distances are averaged


def apart(one: Place, other: Place) -> float:
    r"""Return a lower bound, from 0 to 1, on the total variation distance between two distributions of a token.

    Only the listed tokens have known probabilities. If a token is listed in only one distribution, its probability
    in the other is at most the smallest listed there. NaN if either list is empty.

    >>> one, other = Place("a", None, {"a": -0.1, "b": -3.0}), Place("a", None, {"a": -0.1, "c": -3.0})
    >>> apart(one, one), apart(one, other)
    (0.0, 0.0)
    >>> round(apart(Place("a", -0.1), Place("a", -3.0)), 3)
    0.428
    """
    p, q = _listed(one), _listed(other)
    if not p or not q:
        return math.nan
    both = sum(abs(p[token] - q[token]) for token in p.keys() & q.keys())
    return (both + _alone(p, q) + _alone(q, p)) / 2


def _listed(place: Place) -> dict[str, float]:
    """Return the probabilities listed for a token."""
    logs = place.top or ({} if place.logprob is None else {place.token: place.logprob})
    return {token: math.exp(min(log, 0.0)) for token, log in logs.items()}


def _alone(p: dict[str, float], q: dict[str, float]) -> float:
    """Return the total by which probabilities listed only in p exceed the largest that q can have."""
    most = min(q.values())
    return sum(max(0.0, p[token] - most) for token in p.keys() - q.keys())


def distances(ones: Sequence[Place], others: Sequence[Place]) -> np.ndarray:
    """Return the distance between two answers for each token, up to and including the first token that differs."""
    pairs = list(zip(ones, others, strict=False))
    same = [plain(one.token) == plain(other.token) for one, other in pairs]
    stop = same.index(False) + 1 if False in same else len(same)
    return np.array([apart(*pair) for pair in pairs[:stop]])


def worst(values: np.ndarray, bound: float) -> tuple[float, int | None]:
    """Return the largest mean of four neighbouring distances, and the index of the first mean above `bound`."""
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return math.nan, None
    width = min(RUN, len(known))
    means = np.convolve(values[known], np.ones(width) / width, "valid")
    over = np.flatnonzero(means > bound)
    return float(means.max()), int(known[over[0]]) if len(over) else None


def moved(places: Sequence[Place], by: int) -> tuple[Place, ...]:
    """Give each token the distribution found `by` tokens later, and its log probability in that distribution.

    The log probability is None if the distribution does not list the token.
    """
    tops = [places[at + by].top if 0 <= at + by < len(places) else {} for at in range(len(places))]
    return tuple(
        Place(place.token, top.get(place.token), top) for place, top in zip(places, tops, strict=True)
    )


def losses(places: Sequence[Place]) -> np.ndarray:
    """Return the loss of each token, in nats, or NaN if it is unknown.

    An unlisted token gets the loss of the least likely listed one, which is a lower bound.
    """

    def loss(place: Place) -> float:
        if place.logprob is not None:
            return -place.logprob
        return -min(place.top.values()) if place.top else math.nan

    return np.array([loss(place) for place in places])


def tail_length(places: Sequence[Place], rest: str) -> int:
    """Return the number of trailing tokens that spell out `rest`, or 0 if no run of trailing tokens matches it.

    >>> tail_length([Place("A"), Place(" boat"), Place(" sank")], " boat sank")
    2
    """
    wanted, text = plain(rest), ""
    for count, place in enumerate(reversed(places), 1):
        text = plain(place.token) + text
        if len(text) >= len(wanted):
            return count if text == wanted else 0
    return 0
