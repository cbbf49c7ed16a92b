"""Known mistakes, and more right answers, of chapter 12."""

import numpy as np
from solutions import answers_of

from rope_edu import apply_rope, inv_freq, rope_angles

SOLUTION = answers_of("chapter_12")


packed = SOLUTION["12.2"]


def in_order(document):
    return np.tri(len(document), dtype=bool)


def apart(document):
    return document[:, None] == document


moved = SOLUTION["12.3"]


def each_by_its_own(keys, by, frequencies):
    return apply_rope(keys, rope_angles(np.arange(len(keys)) + by, frequencies))


keys_to_keep = SOLUTION["12.4"]


def same_tokens(stored, prompt):
    return sum(old == new for old, new in zip(stored, prompt[:-1], strict=False))


def from_the_end(is_text):
    return np.maximum(np.cumsum(is_text[:, ::-1], axis=-1)[:, ::-1] - 1, 0)


WRONG = {
    "12.1": [
        (lambda t: np.cumsum(t, axis=-1), "The first token of a text is at 0, not at 1."),
        (
            lambda t: np.tile(np.arange(t.shape[1]), (len(t), 1)),
            "The padding on the left is counted as well.",
        ),
        (lambda t: np.cumsum(t, axis=-1) - 1, "Padding gets a position below 0"),
        (lambda t: np.maximum(np.cumsum(t) - 1, 0).reshape(t.shape), "Each row is counted separately."),
        (lambda t: np.arange(t.shape[1]), "It must return one position for each token."),
        (from_the_end, "For the rows ((0, 0, 1, 1, 1), (1, 1, 1, 1, 1), (0, 0, 0, 0, 1)) the text's tokens"),
    ],
    "12.2": [
        (lambda d: (np.arange(len(d)), packed(d)[1]), "The positions run on"),
        (lambda d: (packed(d)[0], in_order(d)), "A later document still sees the earlier ones"),
        (lambda d: (packed(d)[0], apart(d)), "not what comes after"),
        (lambda d: (packed(d)[0], packed(d)[1].T), "the mask is transposed"),
        (lambda d: (packed(d)[0] + 1, packed(d)[1]), "the positions are not 0, 1, 2"),
        (lambda d: (packed(d)[0], ~packed(d)[1]), "the mask is wrong"),
        (lambda d: packed(d)[0], "It must return two things"),
        (lambda d: (packed(d)[0][None], packed(d)[1]), "positions has one number for each token."),
        (lambda d: (packed(d)[0], d == d[-1]), "mask is (seq, seq)"),
    ],
    "12.3": [
        (lambda k, by, f: moved(k, -by, f), "They moved the other way."),
        (each_by_its_own, "You turned each key by a different angle"),
        (lambda k, by, f: k, "They have not moved."),
        (
            lambda k, by, f: apply_rope(k, rope_angles(by, f), layout="half_split"),
            "That is the layout half_split",
        ),
        (lambda k, by, f: k[0], "The keys keep their shape"),
        (
            lambda k, by, f: moved(k, by, inv_freq(k.shape[1])),
            "Moved by -7, they are not what the model would store there",
        ),
    ],
    "12.4": [
        (lambda s, p: keys_to_keep(s, [*p, None]), "its last token still has to be run again"),
        (same_tokens, "A token after the first difference has a different key"),
        (lambda s, p: len(s), "For stored ="),
        (lambda s, p: (1, 2), "It must return one number."),
    ],
}
