"""Five words on a rail, each with an arrow that turns with its position: the picture on the first page.

The arrow of "dog" is its query and the arrow of "pig" its key; both are made up and have length 1. They turn by
a twelfth of a turn per word, like an hour hand, and the score at distance 3 is 0.8.
"""

import math

import numpy as np

from rope_edu.encodings import rotate_pair

THETA = math.pi / 6  # radians per word
PLACES = 8  # places on the rail, numbered from 0
APART = 3  # distance from dog to pig in "the dog chases the pig"
ARROWS = {"dog": [0.6, 0.8], "pig": [1.0, 0.0], "the": [0.8, 0.6], "chases": [0.0, 1.0]}
STAY = 4.0  # an unlocked pig rests for this many words of text, then walks for as many
PACE = 0.75  # places walked per word


def other_places(dog: float, pig: float) -> list[int]:
    """Return the places of "the", "chases" and "the": the first three at least one place away from both animals.

    >>> other_places(1, 4), other_places(4, 1), other_places(0.5, 4)
    ([0, 2, 3], [0, 2, 3], [2, 3, 5])

    Chapter 12.
    """
    free = (place for place in range(PLACES) if abs(place - dog) >= 1 and abs(place - pig) >= 1)
    return [place for place, _ in zip(free, range(3), strict=False)]


def turned_arrow(word: str, position: float) -> list[float]:
    """Return a word's arrow, rotated by its position in the text.

    >>> [round(part, 12) for part in turned_arrow("pig", 3)]
    [0.0, 1.0]

    Chapter 12.
    """
    return rotate_pair(np.array(ARROWS[word]), position * THETA).tolist()


def rail_score(distance: float) -> float:
    """Return the dog–pig score with the pig ``distance`` places after the dog.

    >>> round(rail_score(3), 12), round(rail_score(0), 12), rail_score(6) < 0
    (0.8, 0.6, True)

    Chapter 12.
    """
    return float(np.dot(turned_arrow("dog", 0), turned_arrow("pig", distance)))


def strolled(dog: float, pig: float, start: float, words: float) -> float:
    """Return the pig's place after ``words`` more words, always on its side of the dog.

    >>> [strolled(1, 4, start, 1) for start in (0, 4, 8, 12)], strolled(1, 6.9, 5, 1), strolled(5, 3, 13, 20)
    ([4.0, 4.75, 4.0, 3.25], 7.0, 0.0)

    Chapter 12.
    """
    way = (0, 1, 0, -1)[int(start // STAY) % 4]
    low, high = (dog + 1, PLACES - 1) if pig > dog or dog < 1 else (0, dog - 1)
    return float(min(high, max(low, pig + way * PACE * words)))


def passed(moved: float, before: float, other: float) -> float:
    """Return the place for a word moved onto another: just past it, or just before it at the end of the rail.

    >>> passed(4, 3, 4), passed(4, 5, 4), passed(7, 1, 7), passed(2, 1, 4)
    (5.0, 3.0, 6.0, 2.0)

    Chapter 12.
    """
    if abs(moved - other) >= 1:
        return float(moved)
    way = 1 if before < other else -1
    beyond = other + way
    return float(beyond if 0 <= beyond <= PLACES - 1 else other - way)


def kept_apart(moved: float, other: float) -> list[float]:
    """Return the places of a moved word and the other word, ``APART`` places apart and in unchanged order.

    >>> kept_apart(1, 4), kept_apart(6, 4), kept_apart(4, 6.3), kept_apart(6, 7)
    ([1.0, 4.0], [6.0, 3.0], [4.0, 7.0], [4.0, 7.0])

    Chapter 12.
    """
    way = 1 if other > moved else -1
    low, high = (0, PLACES - 1 - APART) if way > 0 else (APART, PLACES - 1)
    place = min(high, max(low, math.floor(moved + 0.5)))
    return [float(place), float(place + way * APART)]
