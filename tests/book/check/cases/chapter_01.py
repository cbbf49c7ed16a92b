"""Known mistakes, and more right answers, of chapter 1."""

import itertools

import numpy as np


def some_orders(layer, x):
    orders = itertools.islice(itertools.permutations(range(len(x))), 1, 24)
    rows = [list(order[::-1]) for order in orders]  # the reader may take all of them; these move every row
    return all(np.allclose(layer(x[order]), layer(x)[order]) for order in rows)


def two_orders(layer, x):
    """Tries one roll and a reversal, which leave neighbours on a ring neighbours."""
    orders = [np.roll(np.arange(len(x)), 1), np.arange(len(x))[::-1]]
    return all(np.allclose(layer(x[order]), layer(x)[order]) for order in orders)


def invariant(layer, x):
    return np.allclose(layer(x[::-1]), layer(x))


def row_by_row(layer, x):
    return np.isclose(layer(x[::-1]), layer(x)[::-1])


ALSO_RIGHT = {
    "1.1": [some_orders],
    "1.4": [["we", "a", "saw", "big", "dog"], "We saw a dog big."],
}
WRONG = {
    "1.1": [
        (two_orders, "both its neighbours"),
        (invariant, "not blind to order: plain attention. Its outputs move with their rows."),
        (row_by_row, "It must return True or False, for all rows at once."),
        (lambda layer, x: True, "blind to order: attention with a causal mask"),
        (True, "The answer is a function"),
    ],
    "1.2": [
        ((4, 4), "That is without the mask"),
        ((16 / 3, 8 / 3), "the other way round"),
        ((2.67, 5.33), "write both as fractions"),
        ((8, 16), "The shares must sum to 1"),
        (8 / 3, "The answer is two numbers"),
    ],
    "1.3": [
        ((5, 65), "but which"),
        ((16, 120), "does dog see the order of the words after it"),
        ((16, 16), "The second layer sees more than the bag"),
        ((120, 120), "does not see in which order"),
    ],
    "1.4": [
        ("we saw a big dog", "0 outputs change."),
        ("dog we saw a big", "5 outputs change: we, saw, a, big, dog."),
        ("we saw a big", "these five words"),
        (5, "The answer is a sentence, in quotes."),
    ],
}
