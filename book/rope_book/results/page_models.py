r"""Load the trained models that run in the page, with 8-bit weights and test texts."""

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rope_book.results.files import load

FORMAT = "rope_book page models 1"
UNCOUNTED = "\t"  # marks an answer that does not count


@dataclass(frozen=True)
class PageModel:
    r"""A trained model, with the weights that the page uses.

    Attributes:
        task: the name of the task.
        length: length of the training texts, in the task's unit.
        n_heads, head_dim, base: attention settings; the encoding is plain RoPE in the half_split layout.
        alphabet: one character per token; the last represents the token that begins every text.
        texts: rows of tokens, ints `(rows, 1 + 16 · length)`, including the first token.
        answers: expected outputs, shaped like `texts`; −1 where the output does not count.
        reached: "accuracy" (share) and "loss" (nats) on other texts of the trained length.
        config: the settings of its `TrainingConfig`, as a dict.
        weights: name -> float64 array, dequantised as in the page.
    """

    task: str
    length: int
    n_heads: int
    head_dim: int
    base: float
    alphabet: str
    texts: np.ndarray
    answers: np.ndarray
    reached: dict[str, float]
    config: dict[str, Any]
    weights: dict[str, np.ndarray]

    @property
    def trained_places(self) -> int:
        """Return the number of positions that occurred in training, including that of the first token."""
        return self.length + 1


def load_page_models(path: str | Path | None = None) -> dict[str, PageModel]:
    r"""Load the models that run in the page, or your own.

    Args:
        path: a file written by `python -m makers.page_models`, or None for the committed file.

    Returns:
        task name -> `PageModel`.

    Raises:
        ValueError: the file has a different format.

    >>> model = load_page_models()["back"]
    >>> model.length, sorted(model.weights)[0], model.weights["head.weight"].shape
    (32, 'blocks.0.attention.w_o.weight', (17, 64))

    Chapter 18.
    """
    return {name: _read_model(stored) for name, stored in read_page_models(path)["models"].items()}


def read_page_models(path: str | Path | None = None) -> dict[str, Any]:
    """Return the content of the file, which the page also loads; raise ValueError if the format differs."""
    return load("page_models.json", FORMAT, path)


def packed(weight: np.ndarray) -> dict[str, Any]:
    r"""Quantise a weight to 8 bits, with codes from −127 to 127 and one scale per row, max |row| / 127.

    Args:
        weight: `(rows, columns)`, or `(columns,)` for a single row.

    Returns:
        {"shape", "scales", "codes"}, with scales as little-endian float32 and codes as int8, both in base64.

    >>> unpacked(packed(np.array([[0.5, -1.27], [0.0, 0.0]]))).round(4).tolist()
    [[0.5, -1.27], [0.0, 0.0]]
    """
    rows = np.atleast_2d(np.asarray(weight, dtype=np.float64))
    scales = (np.abs(rows).max(axis=1) / 127).astype("<f4")
    codes = np.round(rows / np.where(scales == 0, 1, scales)[:, None]).clip(-127, 127).astype("i1")
    text = {"scales": scales.tobytes(), "codes": codes.tobytes()}
    return {"shape": list(np.shape(weight))} | {k: base64.b64encode(v).decode() for k, v in text.items()}


def unpacked(stored: dict[str, Any]) -> np.ndarray:
    r"""Dequantise a weight from `packed` to float64."""
    shape = stored["shape"]
    scales = np.frombuffer(base64.b64decode(stored["scales"]), "<f4").astype(np.float64)
    codes = np.frombuffer(base64.b64decode(stored["codes"]), "i1").astype(np.float64)
    return (codes.reshape(len(scales), -1) * scales[:, None]).reshape(shape)


def _read_model(stored: dict[str, Any]) -> PageModel:
    alphabet = stored["alphabet"]
    tokens = {character: token for token, character in enumerate(alphabet)} | {UNCOUNTED: -1}
    rows = {
        name: np.array([[tokens[c] for c in row] for row in stored[name]]) for name in ("texts", "answers")
    }
    weights = {name: unpacked(weight) for name, weight in stored["weights"].items()}
    unchanged = ("task", "length", "n_heads", "head_dim", "base", "reached", "config")
    return PageModel(**{name: stored[name] for name in unchanged}, alphabet=alphabet, weights=weights, **rows)
