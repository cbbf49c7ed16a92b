"""Chapter 1: see attention miss word order."""

from ._rules import AtMost
from ._traits import Choice, Sentence, Slider, Toggle
from .base import LiveFigure


class OrderBlindness(LiveFigure):
    """Compare the outputs of self-attention for the same words in two orders.

    Every word of ``sentence`` and ``rearranged`` (1 to 6 words) has a vector of two numbers, made from its letters;
    all words share small query, key and value matrices. Positions are not used. ``look`` selects a word by its
    index in the first sentence, counted from 1. With ``causal`` a word attends only to itself and the words before
    it; ``layers`` is the number of layers, 1 or 2.

    Parts of the picture, for ``only``: "sentences", "outputs" and "weights".

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> OrderBlindness(rearranged="chases the dog the pig", causal=True, layers=2)
    OrderBlindness(rearranged='chases the dog the pig', layers=2, causal=True)

    Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.5; Lee et al. 2018, arXiv 1810.00825. Chapter 1.
    """

    parts = ("sentences", "outputs", "weights")
    lead = ("rearranged", "look", "causal")

    sentence = Sentence("the dog chases the pig", 6, label="Sentence 1, up to 6 words")
    rearranged = Sentence("the pig chases the dog", 6, label="Sentence 2: the same words in another order")
    look = Slider(2, 1, 6, label="Look at word number").under(AtMost("sentence"))
    layers = Choice(1, {1: "one", 2: "two, one after the other"}, label="Attention layers")
    causal = Toggle(False, label="Causal mask: no word sees the words after it")
