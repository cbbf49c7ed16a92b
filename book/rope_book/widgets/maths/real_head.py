r"""Run one head of SmolLM2 on a short text: attention weights, pairs' contributions, and how well it does its job.

This is the Python counterpart of `js/maths/real_head.js`; `rope_book.results.page_heads` loads the queries and
keys.
"""

import numpy as np

from rope_edu.attention import causal_mask, softmax
from rope_edu.encodings import RopeSpec, apply_rope, rope_angles

NEAR, FAR = 2, 8  # minimum distances in tokens for "near" and "far"
JOBS = {
    "previous": "reads the word before",
    "itself": "reads the word itself",
    "near": "reads 2 to 7 words back",
    "far": "reads over 7 words back",
    "same": "finds the same word earlier",
    "after_same": "finds what followed before",
    "mark": "reads punctuation",
    "first": "rests on the first word",
}


def targets(job: str, tokens: list[str]) -> np.ndarray:
    r"""Return which keys each query should attend to for a job, bool `(seq, seq)`.

    Args:
        job: one of `JOBS`.
        tokens: the text as tokens.

    Raises:
        KeyError: the job is unknown.

    >>> targets("same", ["a", "b", "a"]).astype(int).tolist()
    [[0, 0, 0], [0, 0, 0], [1, 0, 0]]

    Chapter 10.
    """
    at = np.arange(len(tokens))
    distance = at[:, None] - at
    equal = np.equal.outer(tokens, tokens) & (distance > 0)
    after = np.zeros_like(equal)
    after[:, 1:] = equal[:, :-1]
    marks = np.array([not any(map(str.isalnum, token)) for token in tokens])
    counts = {
        "previous": distance == 1,
        "itself": distance == 0,
        "near": (distance >= NEAR) & (distance < FAR),
        "far": (distance >= FAR) & (at > 0),
        "same": equal,
        "after_same": after & (distance > 0),
        "mark": marks & (distance > 0) & (at > 0),
        "first": at == 0,
    }[job]
    return counts & (distance >= 0) & (at[:, None] > 0)  # the first query sees only one key


def pair_shares(q: np.ndarray, k: np.ndarray, m: float, n: float, spec: RopeSpec) -> np.ndarray:
    r"""Return each pair's contribution to the score of a query at m and a key at n, `(pairs,)`, which add up to
    q·k/√d.

    >>> pair_shares(np.array([1.0, 0.0, 0.0, 2.0]), np.ones(4), 5, 5, RopeSpec([1.0, 0.1])).tolist()
    [0.5, 1.0]

    Chapter 10.
    """
    turned = [apply_rope(x, rope_angles(at, spec.inv_freq), layout=spec.layout) for x, at in ((q, m), (k, n))]
    products = turned[0] * turned[1]
    by_pair = products.reshape(-1, 2) if spec.layout == "interleaved" else products.reshape(2, -1).T
    return spec.attention_factor**2 * by_pair.sum(-1) / np.sqrt(len(q))


def head_weights(q: np.ndarray, k: np.ndarray, start: float, spec: RopeSpec) -> np.ndarray:
    r"""Return causal attention weights `(seq, seq)` for a text that begins at position `start`.

    Chapter 10.
    """
    angles = rope_angles(start + np.arange(len(q)), spec.inv_freq)
    turned = [
        apply_rope(x, angles, layout=spec.layout, attention_factor=spec.attention_factor) for x in (q, k)
    ]
    scores = turned[0] @ turned[1].T / np.sqrt(q.shape[-1])
    return softmax(np.where(causal_mask(len(q), len(k)), scores, -np.inf))


def job_done(weights: np.ndarray, counts: np.ndarray) -> float:
    r"""Return the total weight on the target keys, averaged over all queries that have targets, or NaN if none do.

    >>> job_done(np.array([[1.0, 0.0], [0.25, 0.75]]), np.array([[False, False], [True, False]]))
    0.25

    Chapter 10.
    """
    asked = counts.any(-1)
    return float((weights * counts).sum(-1)[asked].mean()) if asked.any() else float("nan")
