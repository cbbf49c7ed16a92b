"""Read and write loss files: JSON with a list of losses in nats, or an object that adds the claimed context."""

import json
from pathlib import Path

import numpy as np


def read_losses(path: str) -> tuple[np.ndarray, int | None]:
    """Return a file's losses, and its claimed context or None; ValueError if it has no losses."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        losses = content["losses"] if isinstance(content, dict) else content
        values = np.asarray(losses, np.float64)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{path} holds no losses: {type(error).__name__}: {str(error)[:80]}") from None
    if values.ndim != 1:
        raise ValueError(f"{path} must hold a list of losses, got {values.ndim} dimensions")
    context = content.get("context") if isinstance(content, dict) else None
    return values, context if type(context) is int else None


def write_losses(path: str, losses: np.ndarray, context: int | None) -> None:
    """Write losses in the format that `read_losses` reads."""
    content = {"losses": [round(float(loss), 4) for loss in losses], "context": context}
    Path(path).write_text(json.dumps(content) + "\n", encoding="utf-8")
