"""Known mistakes, and more right answers, of chapter 11."""

import numpy as np
from solutions import answers_of

from rope_edu import apply_rope, rope_angles

SOLUTION = answers_of("chapter_11")


tokens_that_fit = SOLUTION["11.1"]


moved = SOLUTION["11.2"]


def each_by_its_own(keys, by, frequencies):
    return apply_rope(keys, rope_angles(np.arange(len(keys)) + by, frequencies))


keys_to_keep = SOLUTION["11.4"]


def same_tokens(stored, prompt):
    return sum(old == new for old, new in zip(stored, prompt[:-1], strict=False))


WRONG = {
    "11.1": [
        (lambda *a: 2 * tokens_that_fit(*a), "There is a value beside every key."),
        (lambda free, n, h, kv, d, each: free // (2 * n * d * each), "Only key heads are stored"),
        (lambda free, n, h, kv, d, each: tokens_that_fit(free, n, h, kv, d, 1), "Count bytes, not numbers."),
        (lambda free, n, h, kv, d, each: tokens_that_fit(free, 1, h, kv, d, each), "Every layer has keys"),
        (lambda *a: tokens_that_fit(*a) + 0.5, "Whole tokens only"),
    ],
    "11.2": [
        (lambda k, by, f: moved(k, -by, f), "They moved the other way."),
        (each_by_its_own, "You turned each key by another angle"),
        (lambda k, by, f: k, "They stand where they stood."),
        (
            lambda k, by, f: apply_rope(k, rope_angles(by, f), layout="half_split"),
            "That is the layout half_split",
        ),
        (lambda k, by, f: k[0], "The keys keep their shape"),
    ],
    "11.3": [
        (lambda t: np.cumsum(t, axis=-1), "The first token of a text stands at 0, not at 1."),
        (
            lambda t: np.tile(np.arange(t.shape[1]), (len(t), 1)),
            "The padding on the left is counted as well.",
        ),
        (lambda t: np.cumsum(t, axis=-1) - 1, "Padding gets a position below 0"),
        (lambda t: np.maximum(np.cumsum(t) - 1, 0).reshape(t.shape), "Each row counts for itself."),
        (lambda t: np.arange(t.shape[1]), "It must return one position for each token."),
    ],
    "11.4": [
        (lambda s, p: keys_to_keep(s, [*p, None]), "its last token has to be run again"),
        (same_tokens, "A token behind the first difference has other keys"),
        (lambda s, p: len(s), "For stored ="),
        (lambda s, p: (1, 2), "It must return one number."),
    ],
}
