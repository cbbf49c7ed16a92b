"""Chapter 1: see attention miss word order."""

import math

import numpy as np

from ._results import result
from ._rules import AtMost
from ._traits import Choice, Sentence, Slider, Toggle
from .base import LiveFigure
from .maths.order import read_words

STILL = 1e-9  # outputs closer than this count as equal


def named(words):
    """Return a unique name for each word: the word and the number of its earlier occurrences."""
    lower = [word.lower() for word in words]
    return [(word, lower[:place].count(word)) for place, word in enumerate(lower)]


def shifts(now):
    """Return how far each output of the first sentence moves in the second, or NaN for a word that the second
    lacks."""
    first, second = (text.split() for text in (now.sentence, now.rearranged))
    before, after = (read_words(words, causal=now.causal, layers=now.layers)[1] for words in (first, second))
    place = {name: n for n, name in enumerate(named(second))}
    return [
        float(np.linalg.norm(after[place[name]] - before[m])) if name in place else math.nan
        for m, name in enumerate(named(first))
    ]


class OrderBlindness(LiveFigure):
    """Compare the outputs of self-attention for the same words in two orders.

    Every word of ``sentence`` and ``rearranged`` (1 to 6 words) has a vector of two numbers, made from its letters;
    all words share small query, key and value matrices. Positions are not used. ``look`` selects a word by its
    index in the first sentence, counted from 1. With ``causal`` a word attends only to itself and the words before
    it; ``layers`` is the number of layers, 1 or 2.

    Its results are ``shared``, the number of words that both sentences have; ``moved``, the number of these whose
    output differs; and ``shift``, how far the output of the selected word has moved.

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

    @result("words")
    def shared(self):
        """Number of the first sentence's words that also occur in the second."""
        return sum(not math.isnan(shift) for shift in shifts(self))

    @result("outputs")
    def moved(self):
        """Number of words whose output differs between the two sentences."""
        return sum(shift >= STILL for shift in shifts(self))

    @result()
    def shift(self):
        """Distance that the selected word's output has moved, or NaN if the second sentence lacks the word."""
        shift = shifts(self)[self.look - 1]
        return 0.0 if shift < STILL else shift
