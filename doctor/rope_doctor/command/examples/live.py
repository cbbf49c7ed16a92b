"""Models in torch for `rope-doctor model`: one is right, one has frequencies that were never filled."""

from __future__ import annotations

import torch

from rope_doctor.probes.little import Little, emptied


def right() -> Little:
    """Make a model whose two layers rotate as little/config.json states."""
    return Little()


def wrong() -> Little:
    """Make it as `to_empty` leaves it, without computing its frequencies again."""
    return emptied(Little())


def still() -> torch.nn.Module:
    """Make a model without anything to probe."""
    return torch.nn.Embedding(40, 64)
