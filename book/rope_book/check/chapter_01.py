"""Chapter 1 exercises: see attention miss the order."""

from collections.abc import Callable

import numpy as np

from rope_book.check.answers import Answer, native, of_function, truth
from rope_book.check.exercise import Verdict, judges
from rope_edu.attention import attention, causal_mask

WORDS = ("we", "saw", "a", "big", "dog")

Layer = Callable[[np.ndarray], np.ndarray]


def _layers() -> list[tuple[str, Layer, bool]]:
    """Return the layers for exercise 1.1, as (description, layer, whether the layer is blind to order)."""
    w_q, w_k, w_v = np.random.default_rng(5).normal(size=(3, 3, 3))

    def unmasked(x: np.ndarray) -> np.ndarray:
        return attention(x @ w_q, x @ w_k, x @ w_v)[0]

    def masked(x: np.ndarray) -> np.ndarray:
        return attention(x @ w_q, x @ w_k, x @ w_v, mask=causal_mask(len(x), len(x)))[0]

    def special_at(place: int) -> Layer:
        return lambda x: unmasked(x) + 0.5 * (np.arange(len(x)) == place)[:, None]

    return [
        ("plain attention", unmasked, True),
        ("attention with a causal mask", masked, False),
        ("two layers of plain attention", lambda x: unmasked(unmasked(x)), True),
        (
            "attention plus 0.1 times the position",
            lambda x: unmasked(x) + 0.1 * np.arange(len(x))[:, None],
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
                return f"It calls this {'blind' if seen else 'not blind'} to order: {what}.{why}"
    return True


@judges("1.4")
def _changes_two(sentence: object) -> Verdict:
    """Judge exercise 1.4: the set of earlier words must change for exactly two words."""
    sentence = native(sentence)
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
