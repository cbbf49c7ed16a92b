"""Place five words on a rail, each with an arrow that turns with its position, as on the first page.

The arrow of "dog" is its query, and the arrow of "pig" is its key. All arrows are made up, have length 1, and turn
by a twelfth of a turn per word, like an hour hand. The score at distance 3 is 0.8.
"""

import math

import numpy as np

from rope_edu.encodings import rotate_pair

THETA = math.pi / 6  # radians per word
PLACES = 7  # number of positions for dog and pig in the sentence
ROOM = 3  # number of words before the sentence that fit into the picture
BEFORE = ("day", "one", "so", "and")  # words before the sentence, nearest first
SENTENCE = {"dog": [0.6, 0.8], "pig": [1.0, 0.0], "the": [0.8, 0.6], "chases": [0.0, 1.0]}
ARROWS = SENTENCE | {"day": [0.8, -0.6], "one": [-0.6, 0.8], "so": [0.6, -0.8], "and": [-0.8, 0.6]}


def other_places(dog: float, pig: float) -> list[int]:
    """Return the positions of "the", "chases" and "the": the first three at least 1 away from both animals.

    >>> other_places(1, 4), other_places(4, 1), other_places(0.5, 4)
    ([0, 2, 3], [0, 2, 3], [2, 3, 5])

    Chapter 12.
    """
    free = (place for place in range(PLACES) if abs(place - dog) >= 1 and abs(place - pig) >= 1)
    return [place for place, _ in zip(free, range(3), strict=False)]


def turned_arrow(word: str, position: float) -> list[float]:
    """Return a word's arrow, rotated according to the word's position.

    >>> [round(part, 12) for part in turned_arrow("pig", 3)]
    [0.0, 1.0]

    Chapter 12.
    """
    return rotate_pair(np.array(ARROWS[word]), position * THETA).tolist()


def rail_score(distance: float) -> float:
    """Return the score of dog and pig when the pig is `distance` positions after the dog.

    >>> round(rail_score(3), 12), round(rail_score(0), 12), rail_score(6) < 0
    (0.8, 0.6, True)

    Chapter 12.
    """
    return float(np.dot(turned_arrow("dog", 0), turned_arrow("pig", distance)))


def passed(moved: float, before: float, other: float) -> float:
    """Return where a dragged word ends up, given its previous position and the position of the other word.

    If the words would overlap, the dragged word jumps past the other or, at the end of the rail, stops before it.

    >>> passed(4, 3, 4), passed(4, 5, 4), passed(6, 1, 6), passed(2, 1, 4)
    (5.0, 3.0, 5.0, 2.0)

    Chapter 12.
    """
    if abs(moved - other) >= 1:
        return float(moved)
    way = 1 if before < other else -1
    beyond = other + way
    return float(beyond if 0 <= beyond <= PLACES - 1 else other - way)
