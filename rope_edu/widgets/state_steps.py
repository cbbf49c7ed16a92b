"""Chapter A2: a sum of fixed size beside a cache that grows."""

from ._traits import Slider, Toggle
from .base import LiveFigure


class StateSteps(LiveFigure):
    """Read a text and see what a cache and what linear attention remember of it.

    After ``step`` tokens the cache holds a column of 8 key and 8 value features for each of them. The state
    of linear attention is a sum of 8 · 8 numbers (and a vector of 8), drawn divided by the number of tokens.
    With ``turned`` the key features are rotated by their positions (RoPE, head width 8, base 10,000) before they
    are added. Keys are made-up normal numbers, values likewise with mean 1; φ(x) = elu(x) + 1.

    Values out of range raise TraitError with a sentence.

    >>> StateSteps(step=40, turned=False)
    StateSteps(step=40, turned=False)

    Source: Su et al. 2021, arXiv 2104.09864, equation 19; Katharopoulos et al. 2020, arXiv 2006.16236. Chapter A2.
    """

    step = Slider(24, 1, 64, label="Tokens read, n", unit="")
    turned = Toggle(True, label="Keys turned by their positions")
