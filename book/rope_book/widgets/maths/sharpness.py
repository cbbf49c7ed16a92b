"""Attention with one matching key among many others: the matching key's share, and the entropy."""

import math


def matching_share(keys: float, match: float, spread: float, scale: float = 1.0) -> float:
    r"""Compute the attention weight of the matching key.

        p = e^{t·g} / (e^{t·g} + (n − 1) e^{t²σ²/2})

    The other scores are normal with mean 0; a sum of many e^{t·score} is close to its expectation.

    Args:
        keys: n, the number of keys.
        match: g, the matching key's score before scaling.
        spread: σ, standard deviation of the other scores.
        scale: t, the factor on all scores: a² under YaRN.

    >>> matching_share(2, 0.0, 0.0)  # two equal scores
    0.5

    Chapter 16.
    """
    return math.exp(scale * match - _log_total(keys, match, spread, scale))


def attention_entropy(keys: float, match: float, spread: float, scale: float = 1.0) -> float:
    r"""Compute the entropy of the attention weights, in nats; the arguments are as for `matching_share`.

        H = ln Z − E[t·score] = ln Z − p·t·g − (1 − p)·t²σ²,   Z the denominator of p

    Weighted by e^{t·score}, the normal scores have mean tσ².

    >>> round(attention_entropy(100, 0.0, 0.0), 6) == round(math.log(100), 6)  # all scores alike
    True

    Chapter 16.
    """
    share = matching_share(keys, match, spread, scale)
    mean = share * scale * match + (1 - share) * (scale * spread) ** 2
    return _log_total(keys, match, spread, scale) - mean


def sharing_keys(keys: float, match: float, spread: float, scale: float = 1.0) -> float:
    r"""Compute e^H, the number of equal keys whose attention weights have that entropy.

    >>> round(sharing_keys(100, 0.0, 0.0), 6)
    100.0

    Chapter 16.
    """
    return math.exp(attention_entropy(keys, match, spread, scale))


def _log_total(keys: float, match: float, spread: float, scale: float) -> float:
    """Return ln Z, without overflow."""
    logs = [scale * match, math.log(max(keys - 1, 1e-300)) + (scale * spread) ** 2 / 2]
    return max(logs) + math.log(sum(math.exp(value - max(logs)) for value in logs))
