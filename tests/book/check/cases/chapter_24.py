"""Known mistakes, and more right answers, of chapter 24."""

import numpy as np
from solutions import answers_of

SOLUTION = answers_of("chapter_24")


def by_loop(whole, stepped, bound):
    for token, (one, other) in enumerate(zip(whole, stepped, strict=True)):
        if max(abs(one - other)) > bound:
            return token
    return None


def without_sizes(whole, stepped, bound):
    apart = (stepped - whole).max(axis=1) > bound
    return int(apart.argmax()) if apart.any() else None


def where_largest(whole, stepped, bound):
    size = np.abs(whole - stepped).max(axis=1)
    return int(size.argmax()) if size.max() > bound else None


def by_mean(whole, stepped, bound):
    apart = np.abs((whole - stepped).mean(axis=1)) > 0.5
    return int(apart.argmax()) if apart.any() else None


def row_by_row(decoder, rows):
    both = decoder(rows)[0]
    return max(np.abs(both[i] - decoder(rows[i : i + 1])[0][0]).max() for i in range(len(rows)))


def signed(decoder, rows):
    alone = np.concatenate([decoder(row[None])[0] for row in rows])
    return (decoder(rows)[0] - alone).max()


def by_mean_of_rows(decoder, rows):
    alone = np.concatenate([decoder(row[None])[0] for row in rows])
    return np.abs(decoder(rows)[0] - alone).mean()


def all_tokens(whole, stepped, bound):
    return np.flatnonzero((np.abs(whole - stepped) > bound).any(axis=1)).tolist() or None


def row_by_row_apart(decoder, rows):
    both = decoder(rows)[0]
    return [np.abs(both[i] - decoder(rows[i : i + 1])[0][0]).max() for i in range(len(rows))]


ALSO_RIGHT = {"24.1": [by_loop], "24.2": [row_by_row], "24.3": [["A", "C", "E"], ("E", "C", "A")]}
WRONG = {
    "24.1": [
        (without_sizes, "Token 0 differs by 0.5 in one word, and it returned None"),
        (by_mean, "look at sizes, word by word"),
        (where_largest, "Token 0 is the first that differs; it returned"),
        (lambda whole, stepped, bound: 0, "it must return None, it returned 0"),
        (
            lambda whole, stepped, bound: (lambda n: None if n is None else n + 1)(
                by_loop(whole, stepped, bound)
            ),
            "Token 0 is the first that differs; it returned 1.",
        ),
        (all_tokens, "It must return a token's number, or None."),
    ],
    "24.2": [
        (signed, "Take the size of the differences, in every row."),
        (by_mean_of_rows, "For a decoder that is wrong it must be 0.25, not 0.0833."),
        (lambda decoder, rows: 1.0, "For a decoder that is right it must be 0.0, not 1."),
        (row_by_row_apart, "It must return one number."),
    ],
    "24.3": [
        ({"A", "B", "C", "E"}, "B: a different base turns the whole text"),
        ({"A", "C", "D", "E"}, "D: doubled positions"),
        ({"A", "C"}, "E: the same text"),
        ("A", "The answer is a set of letters."),
        ({"C", "E"}, "A: the stored keys turn further"),
        ({"A", "E"}, "C: the row alone has no padding to see."),
    ],
}
