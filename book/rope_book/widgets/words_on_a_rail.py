"""The first page and chapter 12: words that turn with their positions."""

from ._results import result
from ._traits import Slider
from .base import LiveFigure
from .maths.rail import rail_score


class WordsOnARail(LiveFigure):
    """Move the words of "the dog chases the pig", each of which has an arrow that turns with its position.

    ``dog`` and ``pig`` are places in the sentence, 0 to 6; the other three words take the first free places.
    ``start`` words come in from the left and push the sentence along the rail, so the position of a word is
    ``start`` plus its place, and its arrow is turned by 30° per position. Three of the ``start`` words fit into the
    picture, which then follows the sentence. The needle shows the score: the dot product of the arrows of dog, a
    query, and pig, a key.

    Its results are the ``distance`` and the ``score`` of dog and pig.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> WordsOnARail(pig=6, start=12)
    WordsOnARail(pig=6.0, start=12.0)

    Source: Su et al. 2021, arXiv 2104.09864, section 3.2.1, equations 11–13. Chapter 12.
    """

    lead = ("pig", "start", "dog")

    pig = Slider(4.0, 0.0, 6.0, step=1.0, label="Place of pig in the sentence")
    start = Slider(0.0, 0.0, 48.0, step=1.0, label="Words in front")
    dog = Slider(1.0, 0.0, 6.0, step=1.0, label="Place of dog in the sentence")

    @result("tokens")
    def distance(self):
        """Number of words from pig to dog."""
        return abs(self.dog - self.pig)

    @result()
    def score(self):
        """Dot product of the turned arrows of dog and pig."""
        return rail_score(self.pig - self.dog)
