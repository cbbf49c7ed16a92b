"""Models in torch for `rope-doctor model`: one is right, one has frequencies that were never filled."""

from __future__ import annotations

import torch

from rope_doctor.probes.little import Little, emptied


def right() -> Little:
    """Make a model whose two layers rotate as little/config.json specifies."""
    return Little()


def wrong() -> Little:
    """Make the model as `to_empty` leaves it, without recomputing its frequencies."""
    return emptied(Little())


def still() -> torch.nn.Module:
    """Make a model with nothing to probe."""
    return torch.nn.Embedding(40, 64)
