"""Chapter A2: a fixed-size state compared with a growing cache."""

from ._rules import AtMost
from ._traits import Slider, Toggle
from .base import LiveFigure


class StateSteps(LiveFigure):
    """Read a text, and compare how much of it a cache and linear attention remember.

    After ``step`` tokens the cache holds a column of 8 key and 8 value features per token. The state of linear
    attention is a matrix of 8 · 8 numbers (and a vector of 8), drawn after division by the number of tokens. A
    query at the last token, 3 times the key of token ``query``, reads both: bars show its share of every token's
    value, by a softmax over the cache and through the state. With ``turned``, the query and keys are rotated by
    their positions (RoPE, head width 8, base 10,000); for the state, φ(x) = elu(x) + 1 is applied first. Keys are
    normal random numbers, and so are values, with mean 1.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> StateSteps(step=40, turned=False)
    StateSteps(step=40, turned=False)

    Source: Su et al. 2021, arXiv 2104.09864, equation 19; Katharopoulos et al. 2020, arXiv 2006.16236. Chapter A2.
    """

    step = Slider(24, 1, 64, label="Tokens read, n", unit="")
    query = Slider(5, 0, 63, label="Query like the key of token", unit="").under(AtMost("step", plus=-1))
    turned = Toggle(True, label="Turned by their positions")
