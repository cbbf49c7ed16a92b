"""Chapter 3: biases by distance."""

import numpy as np

from rope_edu import alibi_bias, softmax, t5_bucket
from rope_edu.encodings import shaw_scores


def _weights(head):
    return softmax(alibi_bias(8, 32, 32)[head - 1][-1])


def row():
    bias = alibi_bias(8, 32, 32)[0]
    slid = np.allclose(bias[-1, 1:], bias[-2, :-1])
    return {"Each row reads": slid, "has a separate bias": not slid}


def heads():
    near, far = (_weights(head)[-21] > 0.01 for head in (1, 8))
    return {
        "Head 8": far and not near,
        "Head 1": near and not far,
        "Both": near and far,
        "Neither": not (near or far),
    }


def buckets():
    return len({int(t5_bucket(-distance, bidirectional=False)) for distance in range(32)})


def clip():
    q, table = np.ones((32, 8)), np.random.default_rng(0).normal(size=(9, 8))
    scores = shaw_scores(q, q, table)[-1]
    one_row = np.isclose(scores[-6], scores[-16])
    return {
        "read the same row": one_row,
        "know every distance": not one_row,
        "are masked": not np.isfinite(scores[-16]),
    }
