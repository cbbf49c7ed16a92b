r"""Generate random text for a server: sentences combined from a few phrases.

The sentences are independent, so all parts of a text are equally difficult. A model that uses its context soon
learns to expect the phrases, so its loss falls and then stays level.
"""

import numpy as np

WHO = (
    "the young teacher|an old farmer|my neighbour|the tall doctor|a small child|the captain|her brother|"
    "the quiet painter|a stranger|the cook"
)
DOES = "carried|found|painted|sold|repaired|described|counted|forgot|borrowed|washed"
WHAT = (
    "the blue boat|a wooden chair|three letters|the broken lamp|a basket of apples|the old piano|two maps|"
    "a silver key|the garden wall|a long rope"
)
WHERE = (
    "near the river|before breakfast|in the winter|behind the church|on Monday|after the storm|at the market|"
    "without a word|for his sister|in the rain"
)
PHRASES = tuple(part.split("|") for part in (WHO, DOES, WHAT, WHERE))
TOKENS = 11  # approximate number of tokens per sentence


CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"


class Prose:
    """A generator of random texts, reproducible from a seed.

    >>> Prose(0).sentences(2)
    'A stranger counted the old piano in the winter. The tall doctor carried the blue boat near the river.'
    """

    def __init__(self, seed: int) -> None:
        self.draw = np.random.default_rng(seed)

    def sentences(self, count: int) -> str:
        """Return `count` sentences, separated by spaces."""
        return " ".join(self._sentence() for _ in range(count))

    def text(self, count: int) -> str:
        """Return a random name and `count` sentences; the name makes texts differ from their first token on."""
        letters = [letters[self.draw.integers(len(letters))] for letters in (CONSONANTS, VOWELS) * 3]
        return f"{''.join(letters).capitalize()}: {self.sentences(count)}"

    def _sentence(self) -> str:
        words = " ".join(phrases[self.draw.integers(len(phrases))] for phrases in PHRASES)
        return f"{words[0].upper()}{words[1:]}."
