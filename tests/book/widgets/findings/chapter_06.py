"""Chapter 6: the speeds of a head of 64 features."""

import numpy as np

from rope_book.widgets import Clocks
from rope_edu import inv_freq, wavelength
from rope_edu.encodings import completes_turn, meets_new_angle


def base():
    slower = inv_freq(64) / inv_freq(64, 100_000.0)
    last_most, first_not = slower.argmax() == 31, slower[0] == 1
    return {
        "The last changes the most": last_most and first_not,
        "The first changes the most": slower.argmax() == 0 and np.ptp(slower) > 0,
        "All hands become": np.allclose(slower, 10),
        "The first becomes faster": slower[0] < 1,
    }


def first():
    return Clocks(position=100).fastest


def whole():
    never = np.flatnonzero(wavelength(inv_freq(64)) >= 4096)
    return {f"pair {pair}": pair == never[0] for pair in (0, 11, 22, 23, 31)}


def context():
    slow = ~completes_turn(inv_freq(64), 512)
    new = meets_new_angle([3000], inv_freq(64), 512)[0][slow]
    return {"Most of them": new.mean() > 0.5, "since a slow hand hardly moves": new.mean() <= 0.5}
