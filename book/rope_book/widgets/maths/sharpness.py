"""Compute the attention weight of one matching key among many others, and the entropy of all weights."""

import math


def matching_share(keys: float, match: float, spread: float, scale: float = 1.0) -> float:
    r"""Compute the attention weight of the matching key.

        p = e^{t·g} / (e^{t·g} + (n − 1) e^{t²σ²/2})

    The other scores are normally distributed with mean 0, and the sum of their e^{t·score} is replaced with its
    expectation.

    Args:
        keys: n, the number of keys.
        match: g, the matching key's score before scaling.
        spread: σ, the standard deviation of the other scores before scaling.
        scale: t, the factor on all scores; a² under YaRN.

    >>> matching_share(2, 0.0, 0.0)  # two equal scores
    0.5

    Chapter 16.
    """
    return math.exp(scale * match - _log_total(keys, match, spread, scale))


def attention_entropy(keys: float, match: float, spread: float, scale: float = 1.0) -> float:
    r"""Return the entropy of the attention weights, in nats, for the arguments of `matching_share`.

        H = ln Z − E[t·score] = ln Z − p·t·g − (1 − p)·t²σ²,   Z: the denominator of p

    Weighted by e^{t·score}, the normally distributed scores have mean tσ².

    >>> round(attention_entropy(100, 0.0, 0.0), 6) == round(math.log(100), 6)  # all scores alike
    True

    Chapter 16.
    """
    share = matching_share(keys, match, spread, scale)
    mean = share * scale * match + (1 - share) * (scale * spread) ** 2
    return _log_total(keys, match, spread, scale) - mean


def sharing_keys(keys: float, match: float, spread: float, scale: float = 1.0) -> float:
    r"""Return e^H, the number of equally weighted keys with the same entropy.

    >>> round(sharing_keys(100, 0.0, 0.0), 6)
    100.0

    Chapter 16.
    """
    return math.exp(attention_entropy(keys, match, spread, scale))


def _log_total(keys: float, match: float, spread: float, scale: float) -> float:
    """Return ln Z, without overflow."""
    logs = [scale * match, math.log(max(keys - 1, 1e-300)) + (scale * spread) ** 2 / 2]
    return max(logs) + math.log(sum(math.exp(value - max(logs)) for value in logs))
