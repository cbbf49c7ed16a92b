"""The settings of the small models go from few to many pairs that turn, and a reading holds what it names."""

import pytest
import torch

from makers.causes import SETTINGS, make_reading, make_rope
from rope_edu.encodings import completes_turn


def test_ever_more_pairs_complete_a_turn():
    turning = [int(completes_turn(make_rope(base).inv_freq, length + 1).sum()) for base, length in SETTINGS]
    assert turning == [2, 3, 4, 5, 6, 6]


@pytest.mark.parametrize("base", [10_000, 10])
def test_held_pairs_are_the_slow_ones_the_fast_ones_or_all(base):
    slow, fast, both = (make_reading(f"{kind}-held", base, 33) for kind in ("slow", "fast", "all"))
    assert not set(slow.held) & set(fast.held)
    assert sorted([*slow.held, *fast.held]) == list(both.held) == list(range(8))
    complete = completes_turn(make_rope(base).inv_freq, 33)
    assert not complete[list(slow.held)].any()
    assert complete[list(fast.held)].all()
    assert slow.window == 16


def test_with_all_pairs_held_far_keys_look_alike_and_log_n_sharpens_them():
    q, k = torch.ones(2, 60, 16)
    plain, held, sharper = (
        make_reading(name, 10, 33).scores(q, k)[59] for name in ("plain", "all-held", "all-held-logn")
    )
    assert torch.allclose(held[:43], held[0].expand(43))
    assert not torch.allclose(plain[:43], plain[0].expand(43))
    assert torch.allclose(sharper / held, torch.tensor(60.0).log() / torch.tensor(33.0).log())
