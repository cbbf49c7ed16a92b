"""The first page and chapter 12: words that turn with their positions."""

from ._traits import Slider, Toggle
from .base import LiveFigure


class WordsOnARail(LiveFigure):
    """Move the words of "the dog chases the pig", each of which has an arrow that turns with its position.

    ``dog`` and ``pig`` are places on the rail, 0 to 7; the other three words occupy the first free places.
    ``start`` words of other text come before the sentence, so the position of a word is ``start`` plus its place,
    and its arrow is turned by 30° times its position. The needle shows the score of dog (its arrow is a query) and
    pig (a key), their dot product. With ``lock``, moving one word by hand moves the other too, so that they stay 3
    places apart. Without it, the pig alternately rests and walks while Play adds text.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> WordsOnARail(pig=6, start=12)
    WordsOnARail(pig=6.0, start=12.0)

    Source: Su et al. 2021, arXiv 2104.09864, section 3.2.1, equations 11–13. Chapter 12.
    """

    lead = ("lock", "dog", "pig")

    lock = Toggle(False, label="Keep them 3 apart")
    dog = Slider(1.0, 0.0, 7.0, step=1.0, label="Place of dog")
    pig = Slider(4.0, 0.0, 7.0, step=1.0, label="Place of pig")
    start = Slider(0.0, 0.0, 48.0, step=1.0, label="Text before", unit="words")
