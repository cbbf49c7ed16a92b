"""Chapter 12 exercises: count positions."""

import numpy as np

from rope_book.check.answers import Answer, array, number, of_function, row
from rope_book.check.exercise import Verdict, against, close, judges, slip_of
from rope_edu.encodings import apply_rope, inv_freq, rope_angles

BATCHES = (
    ((0, 0, 1, 1, 1), (1, 1, 1, 1, 1), (0, 0, 0, 0, 1)),  # left padding
    ((1, 1, 1, 0, 0), (1, 0, 0, 0, 0), (1, 1, 1, 1, 1)),  # right padding
    ((1, 1), (0, 1)),
)
TEXTS = (  # stored tokens, prompt tokens, and the number of keys to keep
    ((5, 3, 8, 1), (5, 3, 9, 1, 2), 2),
    ((5, 3, 8), (5, 3, 8, 7, 7), 3),
    ((5, 3, 8, 7, 7), (5, 3, 8), 2),
    ((5, 3, 8), (5, 3, 8), 2),
    ((4, 3, 8), (5, 3, 8), 0),
    ((), (5, 3), 0),
    ((5, 3), (5,), 0),
)
PACKED = ((0, 0, 0, 1, 1), (0, 1, 2, 2, 2, 2), (0, 0), (3, 3, 7, 7, 7, 9))  # document number of each token


@judges("12.1")
@of_function
def _numbers_texts(positions_of: Answer) -> Verdict:
    """Judge exercise 12.1 with left and right padding; padding tokens may have any position ≥ 0."""
    for rows in BATCHES:
        is_text = np.array(rows, dtype=bool)
        result = array(
            positions_of(is_text.copy()), is_text.shape, "It must return one position for each token."
        )
        counted = np.cumsum(is_text, axis=-1) - 1
        if close(result[is_text], counted[is_text] + 1):
            return "The first token of a text is at 0, not at 1."
        if not close(result[is_text], counted[is_text]):
            if close(result, np.broadcast_to(np.arange(is_text.shape[1]), is_text.shape)):
                return "The padding on the left is counted as well."
            if close(result[is_text], (np.cumsum(is_text).reshape(is_text.shape) - 1)[is_text]):
                return "Each row is counted separately."
            return f"For the rows {rows} the text's tokens are not at 0, 1, 2 …"
        if not np.all(result >= 0):
            return "Padding gets a position below 0, and a table of positions has none there."
    return True


@judges("12.2")
@of_function
def _packs(packed: Answer) -> Verdict:
    """Judge exercise 12.2: positions must restart, and the mask must keep documents apart."""
    for row_of in PACKED:
        document = np.array(row_of)
        n = len(document)
        positions, mask = row(packed(document.copy()), 2, "It must return two things: (positions, mask).")
        positions = array(positions, (n,), "positions has one number for each token.")
        seen = 1.0 * array(mask, (n, n), "mask is (seq, seq): a row for each query, a column for each key.")
        places, same = np.arange(n), document[:, None] == document
        if close(positions, places) and n > 1 and len(set(row_of)) > 1:
            return "The positions run on; each document starts again at 0."
        if not close(positions, places - np.searchsorted(document, document)):
            return f"For the documents {row_of} the positions are not 0, 1, 2 … in each."
        before = places[:, None] >= places
        if close(seen, 1.0 * (same & before)):
            continue
        slips = {
            "Within a document a token sees itself and what came before, not what comes after.": same,
            "A later document still sees the earlier ones: restarting the positions masks nothing.": before,
            "Rows are queries, columns are keys: the mask is transposed.": same & before.T,
        }
        otherwise = f"For the documents {row_of} the mask is wrong."
        return slip_of(seen, {sentence: 1.0 * mistake for sentence, mistake in slips.items()}, otherwise)
    return True


@judges("12.3")
@of_function
def _moves(moved: Answer) -> Verdict:
    """Judge exercise 12.3: move stored keys by rotating them once more."""
    keys = np.random.default_rng(11).normal(size=(9, 16))
    positions = np.array([0, 3, 4, 50, 51, 52, 400, 4000, 4001])
    for by, theta in ((3, inv_freq(16)), (-7, inv_freq(16, 500.0)), (0, inv_freq(16))):
        there, back, stored = (apply_rope(keys, rope_angles(positions + n, theta)) for n in (by, -by, 0))
        result = moved(stored.copy(), by, theta)
        result = array(result, stored.shape, "The keys keep their shape, here (9, 16).")
        layout = "That is the layout half_split; these keys are interleaved, as apply_rope is."
        per_key = (
            "You turned each key by a different angle; they are rotated already, and all move by the same."
        )
        slips = {
            "They have not moved.": stored,
            layout: apply_rope(stored, rope_angles(by, theta), layout="half_split"),
            "They moved the other way.": back,
            per_key: apply_rope(stored, rope_angles(np.arange(9) + by, theta)),
        }
        unknown = (
            f"Moved by {by}, they are not what the model would store there: all turn by one angle per pair."
        )
        if (verdict := against(result, there, slips, unknown)) is not True:
            return verdict
    return True


@judges("12.4")
@of_function
def _keeps_keys(keys_to_keep: Answer) -> Verdict:
    """Judge exercise 12.4 on stored texts and prompts that differ early, late or not at all, or are empty."""
    for stored, prompt, expected in TEXTS:
        result = number(keys_to_keep(list(stored), list(prompt)), "It must return one number.")
        if close(result, expected):
            continue
        if close(result, expected + 1) and stored[: len(prompt)] == prompt:
            return "If the whole prompt is stored, its last token still has to be run again."
        equal = sum(a == b for a, b in zip(stored, prompt[:-1], strict=False))
        if close(result, equal) and equal > expected:
            return "A token after the first difference has a different key, even if it is the same token."
        return f"For stored = {list(stored)} and prompt = {list(prompt)} it is {expected}, not {result}."
    return True
