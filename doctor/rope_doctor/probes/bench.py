r"""Two texts of equal length, a decoder's logits for them, and the difference that rounding can cause."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rope_doctor.probes.decoder import BFLOAT16_EPS, Decoder

PADS = 5  # number of padding tokens, and length of a short text's first chunk
ROUNDINGS = 2**12  # assumed number of float32 roundings from input to logit, all in the same direction
ROUNDINGS_PER_TOKEN = 2**4  # scores are about 8, and at m radians q and k are each off by m roundings
NOISE_FACTOR = 8  # in a narrow type, differences count above this multiple of the measured noise
LEAST_NOISE = 4 * BFLOAT16_EPS  # four successive roundings, in units of the logits' spread
UNKNOWN_NOISE = 32 * BFLOAT16_EPS  # used if rounding cannot be measured with a float32 copy
SAME, DIFFERS, DOCUMENTED, NOT_JUDGED = "same", "differs", "as documented", "not judged"


@dataclass(frozen=True)
class Check:
    """The outcome of one check on a decoder or a server."""

    name: str
    outcome: str  # "same", "differs", "as documented" or "not judged"
    words: str  # the calls compared and their difference, or why the check did not run
    meaning: str = ""  # the likely meaning of the difference
    fix: str = ""  # the smallest change that removes the difference
    chapter: str = ""  # title of the chapter that explains the difference
    off: float | None = None  # largest difference in a token's logits, in units of the logits' spread
    bound: float | None = None  # largest difference that rounding can cause
    token: int | None = None  # first token that differs
    lengths: tuple[int, ...] = ()  # token counts of the compared texts, or of the one that differs
    edge: bool = False  # True if the text that differs ends exactly at a switch, and so still counts as short
    central: bool = False  # True if the verdict "right" requires this check

    def __str__(self) -> str:
        return f"{self.name}: {self.outcome}. {self.words}"


class NotJudgedError(Exception):
    """A check that could not run on this decoder; the message gives the reason."""


class Bench:
    """A decoder, two texts of equal length, and their logits.

    `piece` is the length of the prompt; the remaining tokens follow one at a time.
    """

    def __init__(
        self, decoder: Decoder, length: int, piece: int, *, text: np.ndarray | None = None, seed: int = 24
    ) -> None:
        self.decoder, self.length, self.piece = decoder, length, piece
        self.positions = np.arange(length)
        self.prompt = [piece] + [1] * (length - piece)  # lengths of the chunks
        self.given, self.seed = text, seed
        ids = min(8, decoder.vocabulary // 2), decoder.vocabulary  # the lowest ids may be special tokens
        drawn = np.random.default_rng(seed).integers(*ids, size=(2, max(length, 108)))[:, :length]
        self.text = drawn if text is None else _two_rows(text, length)

    def another(self) -> "Bench":
        """Return a bench with different texts of the same length."""
        return Bench(self.decoder, self.length, self.piece, text=self.given, seed=self.seed + 100)

    def shorter(self, length: int) -> "Bench":
        """Return a bench with only the first `length` tokens."""
        piece = min(self.piece, max(1, length // 2))
        return Bench(self.decoder, length, piece, text=self.given, seed=self.seed)

    @cached_property
    def whole(self) -> np.ndarray:
        """The logits of both texts, each run separately in one pass."""
        return np.concatenate([self.logits(row[None]) for row in self.text])

    @cached_property
    def spread(self) -> float:
        return float(self.whole.std(axis=-1).mean()) or 1.0

    @property
    def low_precision(self) -> bool:
        """True if the number format is narrower than float32."""
        return self.decoder.eps >= 2.0**-20

    @cached_property
    def noise(self) -> tuple[float, float, float | None]:
        """The noise of repeated calls, of reordered rows, and relative to a float32 copy (None without one)."""
        again = self.distances(self.logits(self.text[:1]), self.whole[:1]).max()
        turned = self.logits(self.text[::-1].copy())[::-1]
        order = self.distances(turned, self.logits(self.text)).max()
        if self.decoder.wide is None:
            return float(again), float(order), None
        wide = Bench(self.decoder.wide(), self.length, self.piece, text=self.given, seed=self.seed)
        return float(again), float(order), float(self.distances(self.whole, wide.whole).max())

    @cached_property
    def bound(self) -> float:
        """The largest difference that rounding can cause, in units of the spread."""
        if not self.low_precision:
            return (ROUNDINGS + ROUNDINGS_PER_TOKEN * self.length) * self.decoder.eps
        twice, order, wide = self.noise
        least = UNKNOWN_NOISE if wide is None else LEAST_NOISE
        return NOISE_FACTOR * max(twice, order, wide or 0.0, least)

    def needs(self, *keywords: str) -> None:
        for name in keywords:
            if name not in self.decoder.takes:
                raise NotJudgedError(self.decoder.unknown.get(name, f"the decoder takes no {name}"))

    def logits(self, tokens: np.ndarray, positions: Any = None, mask: Any = None) -> np.ndarray:
        """Return the logits from one pass; if positions are given, a mask is passed with them, as in batches."""
        if positions is not None and mask is None:
            mask = np.ones(tokens.shape, int)
        return self.decoder(tokens, self.ids(positions, tokens.shape), mask)[0]

    def ids(self, positions: Any, shape: tuple[int, ...]) -> np.ndarray | None:
        """Return the position ids of a batch, repeated for each coordinate unless they already have three axes."""
        if positions is None or np.ndim(positions) == 3:
            return positions
        rows = np.broadcast_to(np.asarray(positions), shape)
        count = self.decoder.coordinates
        return np.stack([rows] * count) if count > 1 else np.array(rows)

    def pieces(
        self,
        tokens: np.ndarray,
        sizes: list[int],
        positions: Any = None,
        mask: np.ndarray | None = None,
        cache: Any = None,
        seen: int = 0,
    ) -> tuple[np.ndarray, Any]:
        """Run a text in chunks of the given sizes with a cache, and return the logits and the cache."""
        ids, pieces, start = self.ids(positions, tokens.shape), [], 0
        if positions is not None and mask is None:
            mask = np.ones((len(tokens), seen + tokens.shape[1]), int)
        for size in sizes:
            piece = slice(start, start + size)
            logits, cache = self.decoder(
                tokens[:, piece],
                None if ids is None else ids[..., piece],
                None if mask is None else mask[:, : seen + start + size],
                cache,
            )
            if cache is None:
                raise NotJudgedError("the decoder returns no cache under a known name")
            pieces.append(logits)
            start += size
        return np.concatenate(pieces, axis=1), cache

    def distances(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return each token's RMS logit difference, in units of the spread; ∞ if it is not finite."""
        apart = np.sqrt(((one - other) ** 2).mean(axis=-1)) / self.spread
        return np.where(np.isfinite(apart), apart, np.inf)

    def verdict(self, words: str, *pairs: tuple[np.ndarray, np.ndarray], ends: int | None = None) -> Check:
        """Return a check that each pair's logits, which begin at token 0 or end before token `ends`, are equal."""
        distances = [self.distances(*pair) for pair in pairs]
        off = max(float(distance.max()) for distance in distances)
        wrong = [np.any(distance > self.bound, axis=0, keepdims=False) for distance in distances]
        if self.low_precision:  # rounding may route a token or two to a different expert
            wrong = [tokens & (tokens.mean() >= 0.5) for tokens in wrong]
        first = [(ends or len(each)) - len(each) + int(each.argmax()) for each in wrong if each.any()]
        return Check(
            "",
            DIFFERS if first else SAME,
            words,
            off=off,
            bound=self.bound,
            token=min(first, default=None),
            lengths=(self.length,),
        )


def _two_rows(text: np.ndarray, length: int) -> np.ndarray:
    """Return two rows of the given length that repeat a text; the second starts in the middle of the text."""
    rows = np.resize(text, (1, length)), np.resize(np.roll(text, -(len(text) // 2) - 1), (1, length))
    return np.concatenate(rows)
