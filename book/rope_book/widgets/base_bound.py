"""Chapter 17: the base that a context needs."""

from rope_book.results import MODELS
from rope_book.results.base_search import first_negative_distance
from rope_edu.encodings import inv_freq, mean_cosine

from ._results import result
from ._rules import Preset
from ._traits import Choice, Slider
from .base import LiveFigure

SEARCHED = 294_912  # in tokens; every state's first negative distance is smaller
_NUMBERS = {m.name: {"base": m.base, "head_dim": m.rotary_dim, "context": m.context} for m in MODELS}


class BaseBound(LiveFigure):
    """Plot where the expected score of similar vectors turns negative, and which bases keep it positive.

    One chart shows the mean of cos(r · θ) over all pairs at each distance r, with the negative part filled. The
    other shows the first negative distance for each base; a ``context`` (tokens) below that curve is safe.
    ``model`` loads base, width and context from a model's config; changing any of these sets ``model`` to "own".

    Its results are ``first_negative`` (tokens) and ``at_context``, the mean cosine at the context.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> BaseBound(base=500_000.0, context=8192)
    BaseBound(base=500000.0, context=8192, model='own')

    Source: Men et al. 2024, arXiv 2405.14591. Chapter 17.
    """

    lead = ("base", "context", "model")

    base = Slider(10_000.0, 1000.0, 10_000_000.0, log=True, label="Base, b")
    context = Slider(4096, 256, 1_048_576, log=True, label="Context", unit="tokens")
    head_dim = Choice(128, {d: f"{d} ({d // 2} pairs)" for d in (64, 96, 128, 256)}, label="Rotated width, d")
    model = Choice(
        "Llama 2 7B", {name: name for name in _NUMBERS} | {"own": "as chosen above"}, label="Model"
    ).under(Preset(_NUMBERS))

    @result("tokens")
    def first_negative(self):
        """First distance at which the mean cosine is negative."""
        return first_negative_distance(inv_freq(self.head_dim, self.base), SEARCHED) or SEARCHED

    @result()
    def at_context(self):
        """Mean cosine at the context."""
        return float(mean_cosine(inv_freq(self.head_dim, self.base), [self.context])[0])
