"""Example biases for ALiBi and for schemes that learn their biases, with made-up table entries."""

import math

from rope_edu.encodings import alibi_slopes, t5_bucket

SCHEMES = ("alibi", "t5_causal", "t5_bidirectional", "shaw")
N_HEADS = 8


def table_entry(
    scheme: str, relative: int, *, num_buckets: int = 32, max_distance: int = 128, clip: int = 4
) -> int:
    """Return the index of a scheme's table entry for the relative position j − i: T5's bucket or Shaw's row.

    >>> table_entry("shaw", -9), table_entry("t5_causal", -3)
    (0, 3)

    Chapter 3.
    """
    if scheme == "shaw":
        return min(clip, max(-clip, relative)) + clip
    both = scheme == "t5_bidirectional"
    buckets = t5_bucket([relative], bidirectional=both, num_buckets=num_buckets, max_distance=max_distance)
    return int(buckets[0])


def example_value(head: int, relative: int) -> float:
    r"""Return a plausible value for a learned bias: lower at larger distances, halved for keys to the right.

        −2 · 2^{−(head − 1)/2} · ln(1 + |j − i|)

    >>> round(example_value(1, -1), 4), round(example_value(1, 1), 4)
    (-1.3863, -0.6931)

    Chapter 3.
    """
    return -2 * 2 ** (-(head - 1) / 2) * math.log1p(abs(relative)) * (0.5 if relative > 0 else 1)


def bias_curve(scheme: str, head: int, length: int, **table: int) -> list[float]:
    """Return the biases at relative positions from −(length − 1) to 0 for causal schemes, or to length − 1.

    Positions that share a table entry all get the example value for their smallest distance.

    >>> bias_curve("alibi", 1, 3)
    [-1.0, -0.5, 0.0]

    Chapter 3.
    """
    if scheme == "alibi":
        return [float(alibi_slopes(N_HEADS)[head - 1] * relative) for relative in range(1 - length, 1)]
    sides = (-1,) if scheme == "t5_causal" else (-1, 1)
    values: dict[int, float] = {}
    for relative in (side * distance for distance in range(length) for side in sides):
        values.setdefault(table_entry(scheme, relative, **table), example_value(head, relative))
    last = 0 if scheme == "t5_causal" else length - 1
    return [values[table_entry(scheme, relative, **table)] for relative in range(1 - length, last + 1)]
