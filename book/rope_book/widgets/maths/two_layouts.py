"""One head's query and key, trained interleaved, and their score when code rotates them in the other layout."""

import numpy as np

from rope_edu.encodings import apply_rope, inv_freq, layout_permutation, rope_angles

BASE = 100.0  # low enough that every pair visibly rotates
DISTANCE = 4  # tokens from the key to the query
# one query and one key, interleaved; narrower heads use the first features
QUERY = [-0.8, -1.3, 0.6, 0.7, -0.3, 0.4, 1.7, 1.1, 0.7, 0.7, -0.9, 1, -1.6, -0.3, -0.4, -1.7]
KEY = [-0.1, 1.6, -0.3, -1.2, -0.1, 0.9, 0.2, 0.3, -1.4, 0.5, 0.5, 1.3, 1.5, 0.7, -1.6, -1.4]
RUNS = {  # (query's layout, key's layout) for each run
    "trained": ("interleaved", "interleaved"),
    "converted": ("half_split", "half_split"),  # after the features are permuted
    "unconverted": ("half_split", "half_split"),
    "mixed": ("interleaved", "half_split"),
}


def score_of(run: str, head_dim: int, position: int) -> float:
    """Return the score of the query at `position` and the key 4 tokens before it.

    >>> round(score_of("trained", 8, 16) - score_of("converted", 8, 40), 9)
    0.0

    Chapter 8.
    """
    order = layout_permutation(head_dim) if run == "converted" else np.arange(head_dim)
    frequencies = inv_freq(head_dim, BASE)
    query, key = (
        apply_rope(np.array(x[:head_dim])[order][None], rope_angles([m], frequencies), layout=layout)[0]
        for x, m, layout in zip((QUERY, KEY), (position, position - DISTANCE), RUNS[run], strict=True)
    )
    return float(query @ key)
