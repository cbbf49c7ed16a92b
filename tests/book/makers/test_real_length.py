"""The yardstick of the long readings predicts every token beyond the trained length without ever leaving it."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from makers import real_length
from makers.real_length import HALF, LATE, TRAINED, by_place, losses_of


@pytest.fixture
def reads(monkeypatch):
    """List what is read by a model whose loss on a token is the number of tokens that it read before."""
    found = []

    def read(model, ids, reading):
        found.append((ids[0], len(ids)))
        return torch.arange(1, len(ids))

    monkeypatch.setattr(real_length, "read", read)
    return found


@pytest.mark.parametrize("tokens", [12_288, 16_384, 20_480])
def test_late_knows_at_least_half_the_trained_length_and_at_most_all_of_it(reads, tokens):
    model = SimpleNamespace(spec=None)
    losses = losses_of(model, list(range(tokens)), LATE)
    assert max(length for _, length in reads) == TRAINED
    assert np.isnan(losses[: HALF + 1]).all()
    assert losses[TRAINED:].min() == HALF
    assert losses[TRAINED:].max() == TRAINED - 1


def test_a_text_is_read_at_once_and_no_place_beyond_it_has_a_loss(reads):
    model = SimpleNamespace(spec=None)
    losses = losses_of(model, list(range(2048)), "plain")
    assert reads == [(0, 2048)]
    assert by_place(losses) == {"bins": [64.0, *(128.0 * n + 63.5 for n in range(1, 16))], "beyond": None}
