"""Torch models for `rope-doctor model`: one is right, one has uninitialised frequencies, one has no rotation."""

from __future__ import annotations

import torch

from rope_doctor.probes.little import Little, emptied


def right() -> Little:
    """Make a model whose two layers rotate as little/config.json specifies."""
    return Little()


def wrong() -> Little:
    """Make the same model with the frequencies that `to_empty` leaves, without recomputing them."""
    return emptied(Little())


def still() -> torch.nn.Module:
    """Make a model that has no rotation to check."""
    return torch.nn.Embedding(40, 64)
