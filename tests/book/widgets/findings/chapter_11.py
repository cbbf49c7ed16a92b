"""Chapter 11: stored keys, as the figure computes them."""

from rope_book.widgets import CacheSteps
from rope_book.widgets.maths.decoding import decoding_work, held_keys


def _stored(step, store="rotated", capacity=16):
    return {key["position"]: key["stored"] for key in held_keys(store, 0, capacity, step)}


def next():
    before, after = _stored(10), _stored(11)
    return sum(before[position] != after[position] for position in before)


def unrotated():
    turned = [decoding_work("unrotated", 16, step)["turned"][0] for step in (10, 11)]
    return {
        "Turn every key again": turned[1] - turned[0] == 11,
        "Turn only the query": turned[1] - turned[0] == 1,
        "Nothing more": turned[0] == turned[1],
    }


def lost():
    return min(step for step in range(1, 16) if CacheSteps(step=step, capacity=6).held < step)


def capacity():
    full, limited = _stored(14), _stored(14, capacity=6)
    same = all(angle == full[position] for position, angle in limited.items())
    following = max(_stored(15, capacity=6))
    return {
        "they stay where they are": same and following == 14,
        "positions must begin at 0": not same,
        "gets position 6": same and following == 6,
    }


def dynamic():
    keys = held_keys("dynamic", 1, 16, 12)
    wrong = {key["position"] for key in keys if key["stored"] != key["wanted"]}
    return {
        "All but the newest": wrong == set(range(1, 11)),
        "None": not wrong,
        "after the eighth token": wrong == set(range(8, 12)),
        "The first eight": wrong == set(range(8)),
    }
