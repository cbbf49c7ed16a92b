"""Chapter 15: by how much a rule slows each pair, and how far it reaches."""

import numpy as np

from rope_book.widgets import StretchedClocks
from rope_book.widgets.stretched_clocks import speeds
from rope_edu.encodings import completes_turn, meets_new_angle


def _slowed(rule):
    changed, plain = speeds(StretchedClocks(rule=rule))
    return plain / changed, completes_turn(plain, 4096)


def pi():
    slowed, fast = _slowed("pi")
    needless = int((slowed[fast] > 1).sum())
    return {
        f"The {needless} fast ones": needless == fast.sum(),
        "None, since": needless == 0,
        "Only the first": needless == 1,
    }


def last():
    changed, plain = speeds(StretchedClocks(rule="ntk-aware"))
    new = meets_new_angle(np.arange(4096, 32_768, 8), changed, 4096, plain).any(axis=0)
    return {f"pair {pair}": not new[pair] for pair in (46, 50, 54, 58, 63)}


def reach():
    figure, enough = StretchedClocks(rule="ntk-aware", position=1), []
    for stretch in np.arange(4, 30, 0.25):
        figure.wanted = round(4096 * stretch)
        enough += [stretch] if figure.reach >= 32_768 else []
    needed = min(enough, default=np.inf)
    return {
        "About 17": 17 < needed <= 17.5,
        "8, as": needed == 8,
        "Less than 8": needed < 8,
        "None is enough": needed == np.inf,
    }


def abf():
    changed, plain = speeds(figure := StretchedClocks(rule="abf"))
    diamonds, first_stays = figure.reach < figure.wanted, changed[0] == plain[0]
    return {
        "and the first pair stays": not diamonds and first_stays,
        "the first pair is slowed too": not diamonds and not first_stays,
        "under another name": diamonds,
    }
