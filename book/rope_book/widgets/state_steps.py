"""Chapter A2: a fixed-size state compared with a growing cache."""

import numpy as np

from rope_edu.attention import attention_scores, linear_attention, softmax
from rope_edu.encodings import apply_rope, inv_freq, rope_angles

from ._results import result
from ._rules import AtMost
from ._traits import Slider, Toggle
from .base import LiveFigure
from .maths.words import normals

TOKENS, WIDTH, LOUD = 64, 8, 3  # the query is LOUD times the key that it matches
KEYS = np.reshape(normals(12, 2 * TOKENS * WIDTH)[: TOKENS * WIDTH], (TOKENS, WIDTH))


def read(now):
    """Return queries that are zero except for the last, the keys read so far, and their angles."""
    keys = KEYS[: now.step]
    query = np.zeros_like(keys)
    query[-1] = LOUD * KEYS[now.query]
    return query, keys, rope_angles(np.arange(now.step) * now.turned, inv_freq(WIDTH))


class StateSteps(LiveFigure):
    """Read a text, and compare how much of it a cache and linear attention remember.

    After ``step`` tokens the cache holds a column of 8 key and 8 value features per token. The state of linear
    attention is a matrix of 8 · 8 numbers (and a vector of 8), drawn after division by the number of tokens. A
    query at the last token, 3 times the key of token ``query``, reads both. Bars on one scale show the share of
    each token's value in the answer: the softmax weight from the cache, and the factor from the state. With
    ``turned``, the query and keys are rotated by their positions (RoPE, head width 8, base 10,000); for the state,
    φ(x) = elu(x) + 1 is applied first. Keys are normal random numbers, and so are values, with mean 1.

    Its results are ``cached``, how many numbers the cache holds; ``weight``, the weight of the token's value in the
    answer from the cache; and ``factor``, its factor in the answer from the state.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> StateSteps().cached
    384
    >>> StateSteps(step=40, turned=False)
    StateSteps(step=40, turned=False)

    Source: Su et al. 2021, arXiv 2104.09864, equation 19; Katharopoulos et al. 2020, arXiv 2006.16236. Chapter A2.
    """

    step = Slider(24, 1, 64, label="Tokens read, n", unit="")
    query = Slider(5, 0, 63, label="Query like token", unit="").under(AtMost("step", plus=-1))
    turned = Toggle(True, label="Turned by their positions")

    @result("numbers")
    def cached(self):
        """How many numbers the cache holds."""
        return 2 * WIDTH * self.step

    @result()
    def weight(self):
        """Weight of the token's value in the answer from the cache."""
        query, keys, angles = read(self)
        scores = attention_scores(apply_rope(query, angles)[-1:], apply_rope(keys, angles))
        return float(softmax(scores)[0, self.query])

    @result()
    def factor(self):
        """Factor of the token's value in the answer from the state."""
        query, keys, angles = read(self)
        values = np.eye(self.step)[:, [self.query]]
        return float(linear_attention(query, keys, values, angles=angles)[-1, 0])
