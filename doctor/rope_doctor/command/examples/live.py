"""Torch models for `rope-doctor model`: a correct one, one with uninitialised frequencies, one without rotation."""

from __future__ import annotations

import torch

from rope_doctor.probes.little import Little, emptied


def right() -> Little:
    """Make a model with two layers that rotate as specified in little/config.json."""
    return Little()


def wrong() -> Little:
    """Make the same model, but without recomputing the frequencies after `to_empty`."""
    return emptied(Little())


def still() -> torch.nn.Module:
    """Make a model that does not rotate."""
    return torch.nn.Embedding(40, 64)
