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


def one_roll(layer, x):
    order = np.roll(np.arange(len(x)), 1)
    return np.allclose(layer(x[order]), layer(x)[order])


def two_words_swapped(layer, x, atol=1e-8):
    order = [1, 0, *range(2, len(x))]
    return np.allclose(layer(x[order]), layer(x)[order], atol=atol)


def a_little_is_nothing(layer, x):
    return two_words_swapped(layer, x, atol=0.15)


def or_invariant(layer, x):
    """Counts a layer as blind, too, whose output does not change at all."""
    return some_orders(layer, x) or invariant(layer, x)


def must_change(layer, x, atol=1e-8):
    """Wants to see the outputs move, which equal ones do not."""
    return some_orders(layer, x) and not np.allclose(layer(x[::-1]), layer(x), atol=atol)


def must_change_a_lot(layer, x):
    return must_change(layer, x, atol=0.5)


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
        (two_words_swapped, "blind to order: a layer that treats only the row at position 2 differently"),
        (a_little_is_nothing, "blind to order: attention plus 0.1 times the position"),
        (or_invariant, "blind to order: a layer that sorts its rows"),
        (must_change, "not blind to order: a layer that gives every word the mean"),
        (must_change_a_lot, "not blind to order: two layers of plain attention"),
        (one_roll, "blind to order: a layer that mixes each row with the one before"),
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
