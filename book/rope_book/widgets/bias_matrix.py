"""Chapter 3: bias by distance."""

import numpy as np

from ._results import result
from ._rules import AtMost, OnlyIf
from ._traits import Choice, Slider
from .base import LiveFigure
from .maths.example_bias import table_entry

_T5 = ("t5_causal", "t5_bidirectional")


def seen_by(now):
    """Return the relative positions j − i of the keys that the query sees."""
    last = now.query if now.scheme in ("alibi", "t5_causal") else now.length - 1
    return np.arange(last + 1) - now.query


class BiasMatrix(LiveFigure):
    """Show the bias that distance adds to every query–key score, and follow one query's row.

    ``scheme`` turns a relative position j − i into a number: ALiBi's fixed slope, T5's learned bucket
    (``num_buckets``, ``max_distance``), or Shaw's clipped row (``clip``, K). ``head``, 1 to 8, sets ALiBi's slope
    and the steepness of the made-up values for the other two. ``length`` is the number of tokens; ``query``, which
    must be below it, is the row to follow.

    Its results are ``seen``, the number of keys that the query sees; ``farthest``, the distance to the farthest of
    them; and ``biases``, the number of different biases that they have.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> BiasMatrix(scheme="t5_causal", query=12)
    BiasMatrix(scheme='t5_causal', query=12)

    Source: Press 2022, arXiv 2108.12409, §3; Raffel 2020, arXiv 1910.10683, §2.1; Shaw 2018, arXiv 1803.02155,
    §3.2. Chapter 3.
    """

    scheme = Choice(
        "alibi",
        {
            "alibi": "ALiBi (causal)",
            "t5_causal": "T5, decoder (causal)",
            "t5_bidirectional": "T5, encoder (both sides)",
            "shaw": "Shaw (both sides)",
        },
        label="Scheme",
    )
    query = Slider(20, 0, 47, label="Query position i", unit="tokens").under(AtMost("length", plus=-1))
    head = Slider(3, 1, 8, label="Head", unit="of 8")
    length = Slider(32, 8, 48, label="Sequence length", unit="tokens")
    num_buckets = Slider(32, 8, 64, label="T5 table", unit="buckets").under(OnlyIf("scheme", _T5))
    max_distance = Slider(128, 40, 256, label="T5 max distance", unit="tokens").under(OnlyIf("scheme", _T5))
    clip = Slider(4, 1, 24, label="Shaw's clip K", unit="tokens").under(OnlyIf("scheme", ("shaw",)))

    @result("keys")
    def seen(self):
        """Number of keys that the query sees."""
        return len(seen_by(self))

    @result("tokens")
    def farthest(self):
        """Distance of the farthest key that the query sees."""
        return int(abs(seen_by(self)).max())

    @result()
    def biases(self):
        """Number of table entries that the keys use; under ALiBi each distance has its own bias."""
        if self.scheme == "alibi":
            return self.query + 1
        table = {"num_buckets": self.num_buckets, "max_distance": self.max_distance, "clip": self.clip}
        return len({table_entry(self.scheme, int(relative), **table) for relative in seen_by(self)})
