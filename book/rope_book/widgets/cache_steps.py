"""Chapter 11: a key cache, step by step."""

from ._results import result
from ._traits import Choice, Slider
from .base import LiveFigure
from .maths.decoding import decoding_work, held_keys

VISIBLE = 0.005  # in radians; smaller errors are not visible


class CacheSteps(LiveFigure):
    """Decode token by token to see what each step adds to the key cache and what it changes.

    ``step`` tokens have been read; each row of the picture is one step. ``store`` chooses the kind of keys in the
    cache: "rotated", "unrotated" (turned again at every step), or "dynamic", which are rotated with frequencies
    that follow the length (dynamic NTK, trained on 8 tokens, factor 4), so that stored keys become stale. A cache
    that exceeds its ``capacity`` evicts the oldest key. Bars show the work of all steps and the size of the cache
    in bytes, with 2 · 8 numbers of 16 bits per token. All keys have the same content. The hands show one ``pair``
    of a head with width 8 and base 100.

    Its results are ``held``, the number of keys in the cache; ``bytes_held``, its size; and ``stale``, the number
    of keys that the newest query sees at a wrong angle.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> CacheSteps(step=12, store="dynamic")
    CacheSteps(step=12, store='dynamic')

    Source: Su et al. 2021, arXiv 2104.09864, equation 16; dynamic NTK: Peng et al. 2023, arXiv 2309.00071, section
    3.3. Chapter 11.
    """

    step = Slider(10, 1, 16, label="Tokens read, t", unit="")
    store = Choice(
        "rotated",
        {
            "rotated": "rotated keys",
            "unrotated": "unrotated keys",
            "dynamic": "rotated keys, dynamic NTK",
        },
        label="The cache holds",
    )
    capacity = Slider(16, 2, 16, label="Capacity", unit="keys")
    pair = Choice(
        1,
        {0: "0 (1 rad/token)", 1: "1 (0.32 rad/token)", 2: "2 (0.1 rad/token)", 3: "3 (0.03 rad/token)"},
        label="Pair shown, i",
    )

    @result("keys")
    def held(self):
        """Number of keys in the cache, which is also the number of dot products in the step."""
        return min(self.step, self.capacity)

    @result("bytes")
    def bytes_held(self):
        """Size of the keys and values in the cache."""
        return decoding_work(self.store, self.capacity, self.step)["bytes"][0]

    @result("keys")
    def stale(self):
        """Number of keys that the newest query sees at a wrong angle in the selected pair."""
        keys = held_keys(self.store, self.pair, self.capacity, self.step)
        return sum(abs(key["used"] - key["wanted"]) > VISIBLE for key in keys)
