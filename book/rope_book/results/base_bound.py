r"""The smallest base that each context needs, from our search over many bases and from published bounds.

`PYTHONPATH=book python -m makers.base_bound` repeats the search and takes a few minutes on one core.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rope_book.results.files import load

FORMAT = "rope_book base bound 1"
WIDTHS = (64, 96, 128, 256)
CONTEXTS = (1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072, 1_048_576)
BASES = np.geomspace(1e3, 1e8, 251).round()
PUBLISHED = dict(zip(CONTEXTS, (4.3e3, 1.6e4, 2.7e4, 8.4e4, 3.1e5, 6.4e5, 2.1e6, 7.8e6, 5.1e8), strict=True))
"""The smallest base for each context and head_dim 128, from the table of lower bounds in Men 2024, arXiv
2405.14591."""


class Model(NamedTuple):
    """A model's plain RoPE, as stated in config.json; `context` is the longest supported text, in tokens."""

    name: str
    base: float
    rotary_dim: int
    context: int
    source: str


_HUB = "https://huggingface.co"
MODELS = tuple(
    Model(name, base, rotary_dim, context, f"{_HUB}/{path}/blob/main/config.json")
    for name, base, rotary_dim, context, path in (
        ("Llama 2 7B", 1e4, 128, 4096, "meta-llama/Llama-2-7b-hf"),
        ("Phi-3-mini 4k", 1e4, 96, 4096, "microsoft/Phi-3-mini-4k-instruct"),
        ("Gemma 2 9B", 1e4, 256, 8192, "google/gemma-2-9b"),
        ("Mistral 7B v0.1", 1e4, 128, 32_768, "mistralai/Mistral-7B-v0.1"),
        ("Llama 3 8B", 5e5, 128, 8192, "meta-llama/Meta-Llama-3-8B"),
        ("Code Llama 7B", 1e6, 128, 16_384, "codellama/CodeLlama-7b-hf"),
        ("Mixtral 8x7B", 1e6, 128, 32_768, "mistralai/Mixtral-8x7B-v0.1"),
        ("Qwen3 8B", 1e6, 128, 40_960, "Qwen/Qwen3-8B"),
        ("Qwen2.5 7B 1M", 1e7, 128, 1_010_000, "Qwen/Qwen2.5-7B-Instruct-1M"),
    )
)
"""Models without a context-extension rule; `source` is the config.json that states the numbers."""


@dataclass(frozen=True)
class BaseSearch:
    """The results of the search.

    Attributes:
        bases: the bases searched, `(n,)`, increasing.
        first_negative: rotary_dim -> the first distance r, in tokens, with Σ cos(r θ_i) < 0 for each base, `(n,)`.
        smallest: context (tokens) -> the smallest base with no such distance in the context, for head_dim 128.
    """

    bases: np.ndarray
    first_negative: dict[int, np.ndarray]
    smallest: dict[int, float]


def load_base_bound(path: str | Path | None = None) -> BaseSearch:
    """Load base_bound.json, or another file in the same format; raise ValueError if the format differs.

    >>> round(load_base_bound().smallest[1024], -1)
    4290.0
    """
    content = load("base_bound.json", FORMAT, path)
    distances = {int(width): np.array(row) for width, row in content["first_negative"].items()}
    smallest = {int(context): base for context, base in content["smallest"].items()}
    return BaseSearch(np.array(content["bases"]), distances, smallest)
