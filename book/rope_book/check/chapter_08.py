"""Chapter 8 exercises: tell two layouts apart."""

from collections.abc import Callable

import numpy as np

from rope_book.check.answers import Answer, array, of_function
from rope_book.check.exercise import Verdict, close, judges
from rope_edu.encodings import apply_rope, convert_projection, inv_freq, layout_permutation, rope_angles

Rope = Callable[[np.ndarray, float], np.ndarray]


@judges("8.1")
@of_function
def _is_way_back(way_back: Answer) -> Verdict:
    """Judge exercise 8.1 on three widths; the most likely mistake is to return the forward permutation."""
    for d in (8, 4, 12):
        seats = array(way_back(d), (d,), f"For d = {d} it must return {d} features, one for each seat.")
        if close(seats, layout_permutation(d)) and d > 4:
            return "That is the way from interleaved to half_split, and you want the way back."
        if close(seats, np.arange(d)):
            return "That leaves every feature where it is."
        if sorted(seats.tolist()) == list(range(1, d + 1)):
            return "Features are counted from 0."
        if sorted(seats.tolist()) != list(range(d)):
            return f"For d = {d} each feature from 0 to {d - 1} must come once."
        if not close(seats, np.argsort(layout_permutation(d))):
            return (
                f"Seat 0 takes feature 0, seat 1 its partner, {d // 2}, and so on; you have {seats.tolist()}."
            )
    return True


@judges("8.2")
@of_function
def _converts_back(to_interleaved: Answer) -> Verdict:
    """Judge exercise 8.2 on weights and biases for one or more heads, fully and partly rotated."""
    rng = np.random.default_rng(8)
    for n_heads, head_dim, rotary_dim, columns in [
        (1, 8, 8, (5,)),
        (3, 8, 8, (5,)),
        (3, 8, 8, ()),
        (2, 12, 8, (5,)),
    ]:
        weight = rng.normal(size=(n_heads * head_dim, *columns))
        before = weight.copy()
        answer = array(
            to_interleaved(weight, n_heads, rotary_dim), weight.shape, "The shape must stay as it is."
        )
        if not np.array_equal(weight, before):
            return "It changes the weight that it was given: return a new one."
        if not close(answer, convert_projection(weight, n_heads, to="interleaved", rotary_dim=rotary_dim)):
            kind = "weight" if columns else "bias"
            part = f"{rotary_dim} of {head_dim} features rotated"
            case = f"The {kind} of {n_heads} head{'s' * (n_heads > 1)}, {part}, comes out wrong."
            return case + _why_not_converted(answer, weight, n_heads, rotary_dim)
    return True


def _why_not_converted(answer: np.ndarray, weight: np.ndarray, n_heads: int, rotary_dim: int) -> str:
    """Return a sentence that names the likely mistake behind a wrong conversion, or "" if it is unknown."""
    head_dim = len(weight) // n_heads
    slips = {
        " That is the way there, from interleaved to half_split.": ("half_split", n_heads, rotary_dim),
        " The rows of all heads were mixed: convert head by head.": ("interleaved", 1, n_heads * head_dim),
        " The tail of each head stays where it is.": ("interleaved", n_heads, head_dim),
        " Only the first head was converted.": ("interleaved", 1, rotary_dim),
    }
    for why, (to, heads, width) in slips.items():
        if close(answer, convert_projection(weight, heads, to=to, rotary_dim=width)):
            return why
    return " It is unchanged." if close(answer, weight) else ""


def _black_box(layout: str, base: float, sign: int, calls: list[int]) -> Rope:
    """Return a rotation with a hidden layout, base and sign; each call appends an item to `calls`."""

    def rope(x: np.ndarray, position: float) -> np.ndarray:
        calls.append(1)
        x = np.asarray(x, dtype=float)
        if x.shape != (8,):
            raise ValueError(f"x must be one vector of 8 numbers, got shape {x.shape}")
        return apply_rope(x, sign * rope_angles(position, inv_freq(8, base)), layout=layout)

    return rope


@judges("8.3")
@of_function
def _finds_layout(layout_of: Answer) -> Verdict:
    """Judge exercise 8.3 on black boxes of both layouts, both signs and three bases."""
    boxes = [
        (name, base, sign)
        for base in (1e4, 5e5, 100.0)
        for sign in (1, -1)
        for name in ("half_split", "interleaved")
    ]
    for layout, base, sign in boxes:
        calls: list[int] = []
        result = layout_of(_black_box(layout, base, sign, calls))
        if len(calls) != 1:
            return f"It called rope {len(calls)} times; once is allowed, and enough."
        if not isinstance(result, str) or result not in ("interleaved", "half_split"):
            return f"It must return 'interleaved' or 'half_split', and returned {result!r}."
        if result != layout:
            return f"It took {layout} (base {base:g}, {'+' if sign > 0 else '−'} sign) for {result}."
    return True
