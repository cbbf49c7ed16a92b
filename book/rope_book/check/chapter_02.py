"""Chapter 2 exercises: add a position."""

import numpy as np

from rope_book.check.answers import Answer, array, names, number, of_function
from rope_book.check.exercise import Verdict, close, judges
from rope_edu.encodings import inv_freq, sinusoidal, wavelength

TERMS = {"word-word", "word-place", "place-word", "place-place"}
MOVING = {
    "word-place",
    "place-word",
}  # terms that change when the sentence moves, even if place · W · place depends only on the distance


@judges("2.1")
@of_function
def _encodes(encode: Answer) -> Verdict:
    """Judge exercise 2.1 on small and large positions, widths and bases."""
    for position, d_model, base in [(0, 4, 100.0), (1, 4, 10_000.0), (7, 8, 10_000.0), (5000, 64, 500_000.0)]:
        expected = sinusoidal([position], d_model, base)[0]
        ask = f"For d = {d_model} the answer is {d_model} numbers in one row."
        result = array(encode(position, d_model, base), (d_model,), ask)
        if close(result, expected):
            continue
        if close(result, np.concatenate([expected[0::2], expected[1::2]])):
            return (
                "These are all the sines, then all the cosines: the right numbers, but pairs stay together."
            )
        if close(result, np.stack([expected[1::2], expected[0::2]], axis=1).ravel()):
            return "Each pair is the wrong way round: the sine comes first."
        if close(result[0::2], np.sin(position * float(base) ** (-np.arange(d_model // 2) / d_model))):
            return "The exponent of pair i is −2i/d, not −i/d."
        return f"Position {position}, d = {d_model}, base {base:g} comes out wrong."
    return True


@judges("2.2")
@of_function
def _finds_the_pair(first_slow_pair: Answer) -> Verdict:
    """Judge exercise 2.2: the first pair whose full turn takes more than `tokens`."""
    cases = [(64, 10_000.0, 1000), (128, 10_000.0, 4096), (64, 500_000.0, 1000), (16, 100.0, 5)]
    results = [number(first_slow_pair(*case), "It must return the number of one pair.") for case in cases]
    right = [_first_slow_pair(*case) for case in cases]
    if results == right:
        return True
    slips = {
        "Those are features, not pairs: pair i holds features 2i and 2i + 1.": [2 * i for i in right],
        "Pairs are counted from 0.": [i + 1 for i in right],
        "That is the last pair that does complete a turn; you want the next one.": [i - 1 for i in right],
    }
    at = next(n for n, i in enumerate(results) if i != right[n])
    d_model, base, tokens = cases[at]
    if results[at] % 1:
        return f"A pair's number is whole: round {results[at]:.2f} up."
    case = f"For d = {d_model}, base {base:g} and {tokens} tokens it says {results[at]}."
    return next((why for why, slip in slips.items() if results == slip), case)


def _first_slow_pair(d_model: int, base: float, tokens: float) -> int:
    """Return the first pair whose full turn takes more than `tokens`."""
    return int((wavelength(inv_freq(d_model, base)) <= tokens).sum())


def _pairs(frequency: float, moved_by: float) -> np.ndarray:
    """Return the (sine, cosine) pairs of a few positions, each shifted by `moved_by` tokens, as columns `(2,
    4)`."""
    angles = (np.array([0.0, 1.0, 5.0, 77.0]) + moved_by) * frequency
    return np.stack([np.sin(angles), np.cos(angles)])


@judges("2.3")
@of_function
def _moves(move: Answer) -> Verdict:
    """Judge exercise 2.3: a 2 × 2 matrix that maps (sin pθ, cos pθ) to (sin (p+k)θ, cos (p+k)θ) for every p."""
    for k, frequency in [(12, 0.1), (1, 1.0), (-3, 0.7), (1000, 0.01)]:
        matrix = array(move(k, frequency), (2, 2), "The answer is a 2 × 2 matrix.")
        start, end, back = (_pairs(frequency, by) for by in (0, k, -k))
        if not close(matrix @ start, end):
            if close(matrix @ start, back):
                return "It moves by k tokens back. A pair here is (sine, cosine): the first axis is the sine."
            if close(matrix @ _pairs(1.0, 0), _pairs(1.0, k)):
                return "It turns by k; a step of k tokens turns by k times the frequency."
            return f"With k = {k} and θ = {frequency} it does not carry the pair of p to the pair of p + k."
    return True


@judges("2.4")
def _looks_back(matrix: object) -> Verdict:
    """Judge exercise 2.4: PE(m) · W PE(n) must be greatest at n = m − 1 for every m from 1 to 199."""
    matrix = array(matrix, (64, 64), "W is a 64 × 64 matrix.")
    table = sinusoidal(range(200), 64)
    best = (table @ matrix @ table.T).argmax(axis=1)[1:]
    offsets = best - np.arange(1, 200)
    if np.all(offsets == -1):
        return True
    values, counts = np.unique(offsets, return_counts=True)
    usual, share = int(values[counts.argmax()]), counts.max() / 199
    if usual != -1 and share > 0.9:
        where = "at itself" if usual == 0 else f"{abs(usual)} token{'s' * (abs(usual) > 1)} "
        where += "" if usual == 0 else "ahead" if usual > 0 else "back"
        return f"This head looks {where}."
    hits = int(np.sum(offsets == -1))
    return f"{hits} of 199 positions score their predecessor highest."


@judges("2.5")
def _names_terms(terms: object) -> Verdict:
    """Judge exercise 2.5: the terms that still change when the sentence moves."""
    result = names(terms, TERMS, 'The answer is a set of names, such as {"word-word"}.')
    if result == TERMS - MOVING:
        return "These two no longer change; you want the others."
    if "word-word" in result:
        return "Two words carry no position: word-word never changes."
    if "place-place" in result:
        return "That holds for a random W. What does PE(m) · W_back PE(n) depend on?"
    return result == MOVING or "One more: a word may be on either side of W."
