r"""Load the SmolLM2 heads that run in the page, with 8-bit queries and keys for three sentences."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rope_book.results.files import load
from rope_book.results.page_models import unpacked

FORMAT = "rope_book page heads 1"


@dataclass(frozen=True)
class PageHead:
    r"""A head, with exactly the numbers that the page uses.

    Attributes:
        job: the head's job, a key in `rope_book.widgets.maths.real_head.JOBS`.
        layer, head: the layer, and the head's index in this layer, counted from 0.
        q, k: queries and keys before rotation, in the interleaved layout, float64 `(sentences, seq, head_dim)`.
    """

    job: str
    layer: int
    head: int
    q: np.ndarray
    k: np.ndarray


def load_page_heads(path: str | Path | None = None) -> dict[str, PageHead]:
    r"""Load the page's heads by job.

    Args:
        path: a file written by `python -m makers.page_heads`, or None for the committed file.

    Raises:
        ValueError: the file has a different format.

    >>> head = load_page_heads()["previous"]
    >>> head.layer, head.head, head.q.shape
    (16, 0, (3, 20, 64))

    Chapter 10.
    """
    content = read_page_heads(path)
    count = len(content["sentences"])
    return {head["job"]: _read_head(head, count) for head in content["heads"]}


def read_page_heads(path: str | Path | None = None) -> dict[str, Any]:
    """Return the file's content; raise ValueError if the format differs."""
    return load("page_heads.json", FORMAT, path)


def _read_head(stored: dict[str, Any], count: int) -> PageHead:
    q, k = (unpacked(stored[name]).T.reshape(count, -1, stored[name]["shape"][0]) for name in ("q", "k"))
    return PageHead(stored["job"], stored["layer"], stored["head"], q, k)
