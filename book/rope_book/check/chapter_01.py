"""Exercises of chapter 1: see attention miss the order."""

import math
from collections.abc import Callable

import numpy as np

from rope_book.check.answers import Answer, numbers, of_function, plain, truth
from rope_book.check.exercise import Verdict, close, judges
from rope_edu.attention import attention, causal_mask

WORDS = ("we", "saw", "a", "big", "dog")

Layer = Callable[[np.ndarray], np.ndarray]


def _layers() -> list[tuple[str, Layer, bool]]:
    """Return layers to be tested: what they are, the layer, whether it is blind to order."""
    w_q, w_k, w_v = np.random.default_rng(5).normal(size=(3, 3, 3))

    def plain(x: np.ndarray) -> np.ndarray:
        return attention(x @ w_q, x @ w_k, x @ w_v)[0]

    def masked(x: np.ndarray) -> np.ndarray:
        return attention(x @ w_q, x @ w_k, x @ w_v, mask=causal_mask(len(x), len(x)))[0]

    def special_at(place: int) -> Layer:
        return lambda x: plain(x) + 0.5 * (np.arange(len(x)) == place)[:, None]

    return [
        ("plain attention", plain, True),
        ("attention with a causal mask", masked, False),
        ("two layers of plain attention", lambda x: plain(plain(x)), True),
        (
            "attention plus 0.1 times the position",
            lambda x: plain(x) + 0.1 * np.arange(len(x))[:, None],
            False,
        ),
        *(
            (f"a layer that treats only the row at position {n} differently", special_at(n), False)
            for n in range(4)
        ),
        (
            "a layer that sorts its rows, and so forgets whose row is whose",
            lambda x: np.sort(x, axis=0),
            False,
        ),
        ("a layer that gives every word the mean", lambda x: np.zeros_like(x) + x.mean(axis=0), True),
        ("a layer that mixes each row with the one before", lambda x: x + 0.1 * np.roll(x, 1, axis=0), False),
        (
            "a layer that mixes each row with both its neighbours, on a ring",
            lambda x: x + 0.1 * (np.roll(x, 1, axis=0) + np.roll(x, -1, axis=0)),
            False,
        ),
    ]


@judges("1.1")
@of_function
def _finds_blindness(is_order_blind: Answer) -> Verdict:
    """Judge exercise 1.1 on twelve layers, each with several inputs of 4 to 6 rows."""
    rng = np.random.default_rng(11)
    for what, layer, blind in _layers():
        for rows in (4, 5, 6):
            x = rng.normal(size=(rows, 3))
            seen = truth(
                is_order_blind(layer, x.copy()), "It must return True or False, for all rows at once."
            )
            if seen != blind:
                why = " Its outputs move with their rows." if what == "plain attention" else ""
                return f"It takes this for {'blind' if seen else 'not blind'} to order: {what}.{why}"
    return True


@judges("1.2")
def _by_hand(outputs: object) -> Verdict:
    """Judge exercise 1.2: shares 1 : 2 of (0, 4) and of (8, 4)."""
    outputs = numbers(outputs, 2, "The answer is two numbers, the output in a b c and that in c b a.")
    if close(outputs, (4.0, 4.0)):
        return "That is without the mask: then b sees all three words."
    if close(outputs, (16 / 3, 8 / 3)):
        return "These are the two numbers, the other way round."
    if close(outputs, (8.0, 16.0)):
        return "The shares must sum to 1: divide by 1 + 2."
    if close(outputs, (8 / 3, 16 / 3), 0.05):
        return close(outputs, (8 / 3, 16 / 3)) or "Right, but rounded: write both as fractions."
    first, second = close(outputs[0], 8 / 3), close(outputs[1], 16 / 3)
    if first or second:
        return f"The {'first' if first else 'second'} is right; the other is not."
    return "Each is a mean of two of the values 0, 4 and 8, in unequal shares."


@judges("1.3")
def _counts(counts: object) -> Verdict:
    """Judge exercise 1.3: the bags of words before, and the orders of them."""
    counts = numbers(counts, 2, "The answer is two numbers: after one layer, after two.")
    bags = 2**4
    ordered = sum(math.perm(4, before) for before in range(5))
    if close(counts, (5, 5)) or close(counts, (5, ordered)):
        return "Not only how many words come before counts, but which."
    if close(counts, (bags, 120)):
        return "The first is right. For the second: does dog see the order of the words after it?"
    if close(counts, (bags, bags)):
        return "The first is right. The second layer sees more than the bag."
    if close(counts[0], 120):
        return "One masked layer does not see in which order the words before dog stand."
    if close(counts, (bags, ordered)):
        return True
    return (
        "The first is right, the second is not."
        if close(counts[0], bags)
        else "Start with one layer: 2 · 2 · …"
    )


@judges("1.4")
def _changes_two(sentence: object) -> Verdict:
    """Judge exercise 1.4: exactly two words have another set of words before them."""
    sentence = plain(sentence)
    if not isinstance(sentence, str | list):
        return "The answer is a sentence, in quotes."
    words = [
        str(word).strip(" .").lower()
        for word in (sentence.split() if isinstance(sentence, str) else sentence)
    ]
    if sorted(words) != sorted(WORDS):
        return f"The answer is a sentence of these five words, each once: {' '.join(WORDS)}."
    changed = [w for w in WORDS if set(words[: words.index(w)]) != set(WORDS[: WORDS.index(w)])]
    if len(changed) == 2:
        return True
    return f"In that order {len(changed)} outputs change" + (f": {', '.join(changed)}." if changed else ".")
