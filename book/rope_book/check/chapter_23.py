"""Chapter 23 exercises: test the claims."""

import numpy as np

from rope_book.check.answers import Answer, array, number, of_function, row, truth
from rope_book.check.exercise import Known, Verdict, close, judges, of_cases

Vector = list[float]


@judges("23.1")
@of_cases(
    (
        ([1.2, -0.5], [0.3, 2.0], [2.0, 1.0], [1.5, 0.5]),
        ([1.2, -0.5], [0.3, 2.0], [0.7, 1.6], [0.7, 1.6]),
        ([1.2, -0.5], [0.3, 2.0], [2.0, 1.0], [0.5, 1.0]),
        ([1.2, -0.5], [0.3, 2.0], [1.0, -1.0], [1.0, 1.0]),
    ),
    "It must return one number, 0 or more.",
)
def _swings(result: float, q: Vector, k: Vector, gain_q: Vector, gain_k: Vector) -> Known:
    """Judge exercise 23.1 on gains that differ, have equal products, or include a negative one."""
    half, (a, b) = np.hypot(*q) * np.hypot(*k) / 2, np.multiply(gain_q, gain_k)
    right, whole = half * abs(a - b), 2 * half * abs(a - b)
    slips = {
        "That is from the lowest to the highest score; it goes half as far to each side of the mean.": whole,
        "A swing has no sign: the score goes as far above the mean as below it.": half * (a - b),
        "That is the size of the part that stays, with a + b.": half * (a + b),
        "Gains meet in products: a is the query's first gain times the key's.": half
        * abs(gain_q[0] - gain_q[1]),
        "The lengths of q and k count too.": abs(a - b) / 2,
    }
    return (
        right,
        slips,
        f"For gains {gain_q} and {gain_k}, q = {q}, k = {k} it is {right:.3f}, not {result:.3f}.",
    )


@judges("23.2")
@of_function
def _keeps_relativity(stays_relative: Answer) -> Verdict:
    """Judge exercise 23.2 in both layouts, also for gains that are equal only as products or differ only in the
    last pair."""
    cases = (
        ([1.0, 1.0, 2.0, 2.0], [0.5, 0.5, 3.0, 3.0], "interleaved", True),
        ([1.0, 1.0, 2.0, 2.0], [0.5, 0.5, 3.0, 3.0], "half_split", False),
        ([1.0, 2.0, 1.0, 2.0], [3.0, 0.5, 3.0, 0.5], "half_split", True),
        ([1.0, 2.0, 1.0, 2.0], [3.0, 0.5, 3.0, 0.5], "interleaved", False),
        ([2.0, 1.0, 4.0, 1.0], [0.5, 1.0, 0.25, 1.0], "interleaved", True),
        ([2.0, 3.0, 1.0, 1.0], [1.0, 1.0, 2.0, 3.0], "half_split", True),
        ([1.0, 1.0, 1.0, 1.0, 1.0, 1.2], [1.0] * 6, "interleaved", False),
    )
    for gain_q, gain_k, layout, relative in cases:
        result = truth(stays_relative(list(gain_q), list(gain_k), layout), "It must return True or False.")
        if result == relative:
            continue
        said = f"It says {result} to {gain_q} and {gain_k} in {layout}."
        partners = gain_q[::2] != gain_q[1::2] if layout == "interleaved" else gain_q[:2] != gain_q[2:]
        if relative and partners:
            return (
                f"{said} A score has products of gains: the query's times the key's. Only these must agree."
            )
        if len(gain_q) == 6:
            return f"{said} One pair is enough to break it: look at all of them."
        return f"{said} Partners are neighbours in interleaved, and half a head apart in half_split."
    return True


@judges("23.3")
@of_function
def _packs(pack: Answer) -> Verdict:
    """Judge exercise 23.3 on three packed rows."""
    for lengths in ([3, 2], [1, 4, 2], [5]):
        positions, mask = row(pack(list(lengths)), 2, "It must return two things: positions, and the mask.")
        total = sum(lengths)
        positions = array(positions, (total,), f"positions is a row of {total} numbers for {lengths}.")
        mask = array(mask, (total, total), f"mask has {total} rows and {total} columns for {lengths}.")
        document = np.repeat(np.arange(len(lengths)), lengths)
        restarted = np.concatenate([np.arange(length) for length in lengths])
        same, causal = document[:, None] == document, np.tri(total, dtype=bool)
        if close(positions, np.arange(total)) and len(lengths) > 1:
            return "The positions run on: each document starts at 0."
        if close(positions, restarted + 1):
            return "The first token of a document is at 0, not at 1."
        if not close(positions, restarted):
            return f"For {lengths} the positions are {restarted.tolist()}."
        if np.array_equal(mask, same & causal):
            continue
        return _why_not_mask(mask, same, causal, lengths)
    return True


def _why_not_mask(mask: np.ndarray, same: np.ndarray, causal: np.ndarray, lengths: list[int]) -> str:
    """Return a sentence about keys that the mask wrongly allows or hides."""
    slips = {
        "Tokens see later ones of their document: it must be causal too.": same,
        "A document sees the ones before it: mask those too.": causal,
        "Rows are queries, columns are keys: yours is the other way round.": (same & causal).T,
        "True means that a query may see the key: yours says the reverse.": ~(same & causal),
        "A token sees itself too.": same & np.tri(len(same), k=-1, dtype=bool),
    }
    known = (why for why, slip in slips.items() if np.array_equal(mask, slip))
    return next(known, f"For {lengths} the mask must be True at {int((same & causal).sum())} places.")


@judges("23.4")
@of_function(or_none=True)
def _reads_the_base(base_of: Answer) -> Verdict:
    """Judge exercise 23.4 on configs that state the base at one level, at both levels or at neither, and on one
    that states two bases."""
    top, inside = {"rope_theta": 500_000.0}, {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}
    alike = {"rope_theta": 1e6} | inside
    for config, base in (
        (top, 500_000.0),
        (inside, 1e6),
        (alike, 1e6),
        ({"rope_parameters": {"rope_type": "default"}} | top, 500_000.0),
    ):
        result = base_of({"hidden_size": 64, **config})
        if result is None:
            return f"It returned None for {config}, which states a base."
        if not close(number(result, "It must return one number, or None."), base):
            return f"For {config} it returned {result:,}."
    for config in ({}, {"rope_parameters": {"rope_type": "default"}}):
        if (result := base_of({"hidden_size": 64, **config})) is not None:
            return (
                f"{config or 'An empty config'} states no base: it must return None, it returned {result!r}."
            )
    contradiction = top | inside
    try:
        result = base_of({"hidden_size": 64, **contradiction})
    except ValueError:
        return True
    return f"With 500,000 at the top and 1,000,000 inside it must raise ValueError, it returned {result!r}."
