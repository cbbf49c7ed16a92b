"""Models in torch, for `rope-doctor model`: one is right, and one has frequencies that nobody filled."""

from __future__ import annotations

import torch

from rope_doctor.probes.little import Little, emptied


def right() -> Little:
    """Make a model whose two layers turn as little/config.json states."""
    return Little()


def wrong() -> Little:
    """Make it as `to_empty` leaves it where nobody computes its frequencies again."""
    return emptied(Little())


def still() -> torch.nn.Module:
    """Make a model that has nothing to probe."""
    return torch.nn.Embedding(40, 64)
