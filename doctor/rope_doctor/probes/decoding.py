r"""Check a decoder: in one pass, in steps, padded, batched, moved, packed, before and after a long text."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rope_doctor.probes.decoder import BFLOAT16_EPS, Decoder, as_decoder

LENGTH, PIECE, GAP, SHIFT = 12, 5, 7, 17
REST, POSITIONS = LENGTH - PIECE, np.arange(LENGTH)
PROMPT = [PIECE] + [1] * REST  # sizes of the pieces: a prompt, then single tokens
LONG_TEXT = 96  # tokens of the long text
ROUNDINGS = 2**12  # float32 roundings from input to logit, all in the same direction
NOISE_FACTOR = 8  # differences count above this multiple of a narrow type's measured rounding
COARSE_BOUND = 0.5  # fraction of the logits' spread: the bound if a narrow type's rounding is unknown
SAME, DIFFERS, UNCLEAR, NOT_APPLICABLE = "same", "differs", "could not tell", "not applicable"


@dataclass(frozen=True)
class Check:
    """One check of a decoder."""

    name: str
    outcome: str  # "same", "differs", "could not tell" or "not applicable"
    words: str  # what was compared, and the difference; or why the check does not apply
    meaning: str = ""  # what the difference means, with the smallest fix
    chapter: str = ""  # title of the chapter that explains the difference
    off: float | None = None  # largest difference in a token's logits, in units of their spread
    bound: float | None = None  # largest difference that rounding explains
    token: int | None = None  # first token that differs

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.outcome}. {self.words}"]
        if self.meaning:
            lines.append(f"    {self.meaning} Chapter “{self.chapter}”.")
        return "\n".join(lines)


@dataclass(frozen=True)
class DecoderReport:
    """All checks of a decoder; `print` it."""

    checks: tuple[Check, ...]

    @property
    def right(self) -> bool | None:
        """Return True if nothing differs, False if something does, None if the checks cannot tell."""
        outcomes = {check.outcome for check in self.checks}
        if DIFFERS in outcomes:
            return False
        return None if UNCLEAR in outcomes or SAME not in outcomes else True

    def of(self, name: str) -> Check:
        """Return the check with this name."""
        return next(check for check in self.checks if check.name == name)

    def __str__(self) -> str:
        verdict = {
            True: "The decoder gives the same logits however it is called.",
            False: "The decoder's logits depend on how it is called.",
            None: "Could not tell whether the decoder is right.",
        }
        return "\n".join([verdict[self.right], *map(str, self.checks)])


def check_decoder(decoder: Any, **facts: Any) -> DecoderReport:
    r"""Compute the same logits in many ways, and report where they differ.

    Every check compares the decoder with itself, so no reference is needed; `diagnose` and `check_model` find
    mistakes that they all share. In float32 a difference counts if it exceeds 2¹² roundings in the same direction.
    In a narrower type it must exceed eight times the measured rounding, in at least half of the tokens.

    Args:
        decoder: a `Decoder`, a causal model of transformers, or a function `(tokens, *, positions, mask, cache) ->
            (logits, cache)`, which may lack some of the keywords.
        facts: attributes of `Decoder`, if `decoder` is a function.

    Raises:
        ValueError: the decoder cannot be called; the message says why.

    >>> from rope_doctor.probes.specimen import Specimen
    >>> class Restarting(Specimen):
    ...     def count(self, tokens, positions, seen):
    ...         return super().count(tokens, positions, 0)
    >>> check_decoder(Specimen()).right
    True
    >>> check = check_decoder(Restarting()).of("step by step")
    >>> check.outcome, check.token
    ('differs', 1)

    Chapter 24.
    """
    bench = _Bench(as_decoder(decoder, **facts))
    try:
        bench.whole  # noqa: B018  # computed once and cached
    except Exception as error:
        raise ValueError(f"the decoder fails on {LENGTH} tokens: {type(error).__name__}: {error}") from error
    return DecoderReport(tuple(_run(bench, name) for name in CHECKS))


class _NotApplicableError(Exception):
    """A check that does not apply to a decoder; the message says why."""


class _Bench:
    """A decoder, its texts, and their logits."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder
        ids = min(8, decoder.vocabulary // 2), decoder.vocabulary  # the first tokens may be special
        self.text = np.random.default_rng(24).integers(*ids, size=(2, LENGTH + LONG_TEXT))[:, :LENGTH]
        self.long = np.random.default_rng(25).integers(*ids, size=(1, LONG_TEXT))

    @cached_property
    def whole(self) -> np.ndarray:
        """Logits of both rows, each read alone in one pass."""
        return np.concatenate([self.logits(row[None]) for row in self.text])

    @cached_property
    def spread(self) -> float:
        return float(self.whole.std(axis=-1).mean()) or 1.0

    @property
    def low_precision(self) -> bool:
        """True if the number format is narrower than float32."""
        return self.decoder.eps >= 2.0**-20

    @cached_property
    def bound(self) -> float:
        """The largest difference that rounding explains, in units of the spread."""
        if not self.low_precision:
            return ROUNDINGS * self.decoder.eps
        if self.decoder.wide is None:
            return COARSE_BOUND
        noise = self.distances(self.whole, _Bench(self.decoder.wide()).whole).max()
        return max(NOISE_FACTOR * float(noise), COARSE_BOUND / 8)

    def needs(self, *keywords: str) -> None:
        for name in keywords:
            if name not in self.decoder.takes:
                raise _NotApplicableError(f"The decoder takes no {name}.")

    def logits(self, tokens: np.ndarray, positions: Any = None, mask: Any = None) -> np.ndarray:
        """Return a text's logits in one pass; positions are passed with a mask, as in batches."""
        if positions is not None and mask is None:
            mask = np.ones(tokens.shape, int)
        return self.decoder(tokens, self.ids(positions, tokens.shape), mask)[0]

    def ids(self, positions: Any, shape: tuple[int, ...]) -> np.ndarray | None:
        """Return a batch's position ids, one set per coordinate."""
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
        """Return the logits of a text read in pieces with the cache, and the cache."""
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
                raise _NotApplicableError("The decoder returns no cache.")
            pieces.append(logits)
            start += size
        return np.concatenate(pieces, axis=1), cache

    def distances(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return how much each token's logits differ, in units of the spread; infinite if either is not finite."""
        apart = np.sqrt(((one - other) ** 2).mean(axis=-1)) / self.spread
        return np.where(np.isfinite(apart), apart, np.inf)

    def verdict(self, words: str, *pairs: tuple[np.ndarray, np.ndarray]) -> Check:
        """Return a check that the two arrays in every pair are equal."""
        distances = [self.distances(*pair) for pair in pairs]
        off = max(float(distance.max()) for distance in distances)
        wrong = [(distance > self.bound).any(axis=0) for distance in distances]
        if self.low_precision:  # rounding may route a token or two to a different expert
            wrong = [tokens & (tokens.mean() >= 0.5) for tokens in wrong]
        if not any(tokens.any() for tokens in wrong):
            return Check("", SAME, f"{words}: {off:.1e} apart at most.", off=off, bound=self.bound)
        token = min(int(tokens.argmax()) for tokens in wrong if tokens.any())
        words += f": {off:.3g} apart, expected at most {self.bound:.1e}, first at token {token}."
        return Check("", DIFFERS, words, off=off, bound=self.bound, token=token)


def _steps(bench: _Bench) -> Check:
    words = f"{LENGTH} tokens in one pass, one by one, after a prompt of {PIECE}, in two pieces"
    pairs = [
        (bench.pieces(row[None], sizes)[0], whole[None])
        for sizes in ([1] * LENGTH, PROMPT, [PIECE, REST])
        for row, whole in zip(bench.text, bench.whole, strict=True)
    ]
    return bench.verdict(words, *pairs)


def _steps_with_positions(bench: _Bench) -> Check:
    stepped, _ = bench.pieces(bench.text[:1], PROMPT, POSITIONS)
    return bench.verdict("positions passed in, and counted by the decoder", (stepped, bench.whole[:1]))


def _padded(bench: _Bench, pads: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return tokens, mask, and positions counted from the mask, for two rows, the second of them padded."""
    tokens, mask = bench.text.copy(), np.ones((2, LENGTH), int)
    tokens[1], mask[1, pads] = bench.text[0, 0], 0
    tokens[1, mask[1] == 1] = bench.text[1, :REST]
    return tokens, mask, np.maximum(mask.cumsum(axis=1) - 1, 0)


def _right_padding(bench: _Bench) -> Check:
    tokens, mask, _ = _padded(bench, slice(REST, LENGTH))
    logits = bench.logits(tokens, mask=mask)
    padded = logits[1:, :REST], bench.whole[1:, :REST]
    words = f"{REST} tokens alone, and before {PIECE} of padding"
    return bench.verdict(words, (logits[:1], bench.whole[:1]), padded)


def _left_padding(bench: _Bench) -> Check:
    tokens, mask, positions = _padded(bench, slice(0, PIECE))
    logits, alone = bench.logits(tokens, positions, mask), bench.whole[1:, :REST]
    pairs = [(logits[:1], bench.whole[:1]), (logits[1:, PIECE:], alone)]
    words = f"{REST} tokens alone, and after {PIECE} of padding, with positions counted from the mask"
    if "cache" in bench.decoder.takes:
        stepped, _ = bench.pieces(tokens, [PIECE + 2] + [1] * (REST - 2), positions, mask)
        pairs.append((stepped[1:, PIECE:], alone))
        words += ", in one pass and step by step"
    return bench.verdict(words, *pairs)


def _left_padding_alone(bench: _Bench) -> Check:
    tokens, mask, _ = _padded(bench, slice(0, PIECE))
    padded = bench.logits(tokens, mask=mask)[1:, PIECE:]
    words = f"{REST} tokens alone, and after {PIECE} of padding, without positions"
    return bench.verdict(words, (padded, bench.whole[1:, :REST]))


def _rows(bench: _Bench) -> Check:
    return bench.verdict("two rows alone, and both together", (bench.logits(bench.text), bench.whole))


def _rows_at_length_1(bench: _Bench) -> Check:
    first = np.concatenate([bench.logits(row[None, :1]) for row in bench.text])
    stepped, _ = bench.pieces(bench.text, [1] * LENGTH)
    together = bench.logits(bench.text[:, :1])
    return bench.verdict("two rows together, one token at a time", (together, first), (stepped, bench.whole))


def _moved(bench: _Bench) -> Check:
    moved = bench.logits(bench.text[:1], POSITIONS + SHIFT)
    return bench.verdict(f"positions from 0 and from {SHIFT}", (moved, bench.whole[:1]))


def _effect(bench: _Bench) -> Check:
    moved = bench.logits(bench.text[:1], _with_gap(GAP))
    distances = bench.distances(moved, bench.logits(bench.text[:1], POSITIONS))[0]
    before, after = float(distances[:PIECE].max()), float(distances[PIECE:].max())
    words = f"a gap of {GAP} after token {PIECE - 1} changes later logits by {after:.3g}"
    if after > bench.bound:
        return Check("", SAME, f"Positions have an effect: {words}.", off=before, bound=bench.bound)
    if not bench.decoder.relative:
        raise _NotApplicableError("Positions have no effect, and it is unknown whether they should.")
    if bench.low_precision:
        raise _NotApplicableError(f"Rounding hides the effect: {words}.")
    words = f"Positions have no effect: {words}."
    return Check("", DIFFERS, words, off=after, bound=bench.bound, token=PIECE)


def _with_gap(gap: int) -> np.ndarray:
    return POSITIONS + np.where(POSITIONS < PIECE, 0, gap)


def _gaps(bench: _Bench) -> Check:
    if bench.decoder.recurrent:
        raise _NotApplicableError("Layers with a state see hidden tokens.")
    seen = (POSITIONS < PIECE) | (POSITIONS >= PIECE + 3)
    hidden = bench.logits(bench.text[:1], POSITIONS, seen[None].astype(int))[:, seen]
    omitted = bench.logits(bench.text[:1, seen], POSITIONS[seen])
    return bench.verdict("three tokens hidden, and omitted with a gap in the positions", (omitted, hidden))


def _packed(bench: _Bench) -> Check:
    if bench.decoder.recurrent:
        raise _NotApplicableError("Layers with a state need the boundaries in another form.")
    both = np.concatenate((bench.text[:1, :PIECE], bench.text[1:, :REST]), axis=1)
    positions = np.concatenate((POSITIONS[:PIECE], POSITIONS[:REST]))
    packed, _ = bench.decoder(both, bench.ids(positions, both.shape), cache=bench.decoder.never)
    words = "a document alone, and packed after another, with positions from 0"
    check = bench.verdict(words, (packed[:, PIECE:], bench.whole[1:, :REST]))
    if check.outcome == SAME:
        return check
    seen = "The second document sees the first, so positions alone do not separate packed documents: "
    raise _NotApplicableError(f"{seen}pass a mask for each document ({check.off:.3g} apart).")


def _cropped(bench: _Bench) -> Check:
    if bench.decoder.crop is None:
        raise _NotApplicableError("The cache cannot be cropped.")
    _, cache = bench.pieces(bench.text[:1], [LENGTH])
    cache = bench.decoder.crop(cache, PIECE, REST)
    stepped, _ = bench.pieces(bench.text[:1, PIECE:], [1] * REST, cache=cache, seen=PIECE)
    words = f"{LENGTH} tokens, and the last {REST} again after the cache was cropped to {PIECE}"
    return bench.verdict(words, (stepped, bench.whole[:1, PIECE:]))


def _shifted(bench: _Bench) -> Check:
    row, expected = bench.text[:1], bench.whole[:1]
    if bench.decoder.shift is not None:
        _, cache = bench.pieces(row[:, :PIECE], [PIECE], POSITIONS[:PIECE])
        cache = bench.decoder.shift(cache, SHIFT)
        later = POSITIONS[PIECE:] + SHIFT
        stepped, _ = bench.pieces(row[:, PIECE:], [1] * REST, later, cache=cache, seen=PIECE)
        words = f"in one pass, and continued after the cached keys were moved by {SHIFT}"
        return bench.verdict(words, (stepped, expected[:, PIECE:]))
    if not bench.decoder.relative:
        raise _NotApplicableError("The cache cannot be shifted, and positions may be absolute.")
    stepped, _ = bench.pieces(row, PROMPT, POSITIONS + SHIFT)
    return bench.verdict(f"step by step from position {SHIFT}, and in one pass from 0", (stepped, expected))


def _state(bench: _Bench) -> Check:
    row, far = bench.text[:1], bench.decoder.trained
    before = bench.logits(row)
    bench.logits(bench.long)
    words, pairs = f"a text before and after one of {LONG_TEXT} tokens", [(bench.logits(row), before)]
    if far and "positions" in bench.decoder.takes:
        try:
            first = bench.logits(row, POSITIONS + 2 * far)
            bench.logits(row, POSITIONS + 4 * far)
        except Exception:  # running past the end of a table is not a mistake
            return bench.verdict(words, *pairs)
        words += f", at positions from 0 and from {2 * far}, before and after {4 * far}"
        pairs += [(bench.logits(row, POSITIONS + 2 * far), first), (bench.logits(row), before)]
    return bench.verdict(words, *pairs)


def _across(bench: _Bench) -> Check:
    if not (bench.decoder.trained and bench.decoder.rule):
        raise _NotApplicableError("No rule depends on the length.")
    positions = POSITIONS + bench.decoder.trained - PIECE
    stepped, _ = bench.pieces(bench.text[:1], [1] * LENGTH, positions)
    words = f"in one pass and step by step across position {bench.decoder.trained}"
    return bench.verdict(words, (stepped, bench.logits(bench.text[:1], positions)))


def _coordinates(bench: _Bench) -> Check:
    count, row = bench.decoder.coordinates, bench.text[:1]
    if count == 1:
        raise _NotApplicableError("A position is one number.")
    bench.needs("positions", "cache")
    positions = _with_an_image(count)
    ids = np.stack(
        [positions, positions + SHIFT], axis=1
    )  # (coordinates, batch, seq): the second row is moved
    both = bench.logits(np.concatenate([row] * 2), ids)
    alone = bench.logits(row, ids[:, :1])
    stepped, _ = bench.pieces(row, [1] * LENGTH, ids[:, :1])
    words = f"{count} coordinates: alone, next to a moved row, that row, and step by step"
    check = bench.verdict(words, (both[:1], alone), (both[1:], alone), (stepped, alone))
    apart = float(bench.distances(alone, bench.whole[:1]).max())
    if check.outcome == SAME and apart <= bench.bound and not bench.low_precision:
        words = "Coordinates beyond the first have no effect."
        return Check("", DIFFERS, words, off=apart, bound=bench.bound, token=0)
    return check


def _with_an_image(count: int) -> np.ndarray:
    """Return coordinates (count, tokens) for three words, an image of 2 × 3 patches, and more words."""
    rows, patches = np.tile(POSITIONS, (count, 1)), np.arange(6)
    for axis in range(count):
        rows[axis, 3:9] = 3 + {0: 0 * patches, 1: patches // 3}.get(axis, patches % 3)
    rows[:, 9:] = 3 + 3 + np.arange(LENGTH - 9)  # text continues from the largest coordinate
    return rows


def _bfloat16(bench: _Bench) -> Check:
    own = bench.decoder
    if not own.relative:
        raise _NotApplicableError("Positions may be absolute.")
    if not (own.narrow or own.wide):
        raise _NotApplicableError("No copy in another number format can be made.")
    narrow = _Bench(own.narrow()) if own.narrow else bench
    wide = bench if own.narrow or own.wide is None else _Bench(own.wide())
    gap = max(LENGTH, min(1000, (own.trained or 1016) - 16))

    def rounding(gap: int) -> float:
        positions = _with_gap(gap)
        both = [[copy.logits(row[None], positions) for copy in (narrow, wide)] for row in bench.text]
        return float(np.median([bench.distances(*pair)[0, PIECE:] for pair in both]))

    near, off = rounding(0), rounding(gap)
    bound = NOISE_FACTOR * max(near, BFLOAT16_EPS)
    words = f"bfloat16 differs from float32 by {near:.2g}, and by {off:.2g} across a gap of {gap}."
    if off <= bound:
        return Check("", SAME, words, off=off, bound=bound)
    return Check("", DIFFERS, words, off=off, bound=bound, token=PIECE)


# checks by name, with the keywords that a decoder must accept
CHECKS: dict[str, tuple[Callable[[_Bench], Check], tuple[str, ...]]] = {
    "step by step": (_steps, ("cache",)),
    "step by step, with positions": (_steps_with_positions, ("cache", "positions")),
    "right padding": (_right_padding, ("mask",)),
    "left padding": (_left_padding, ("mask", "positions")),
    "left padding, without positions": (_left_padding_alone, ("mask",)),
    "rows": (_rows, ()),
    "rows at length 1": (_rows_at_length_1, ("cache",)),
    "moved": (_moved, ("positions",)),
    "positions have an effect": (_effect, ("positions",)),
    "gaps": (_gaps, ("positions", "mask")),
    "packed": (_packed, ("positions",)),
    "cropped cache": (_cropped, ("cache",)),
    "shifted cache": (_shifted, ("cache", "positions")),
    "state": (_state, ()),
    "across the trained length": (_across, ("cache", "positions")),
    "M-RoPE ids": (_coordinates, ()),
    "bfloat16": (_bfloat16, ("positions",)),
}
OF_ROTATIONS = {"left padding, without positions", "moved"}  # with absolute tables, these may differ
MEANINGS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _run(bench: _Bench, name: str) -> Check:
    ask, needs = CHECKS[name]
    try:
        bench.needs(*needs)
        check = ask(bench)
    except _NotApplicableError as reason:
        return Check(name, NOT_APPLICABLE, str(reason))
    except Exception as error:  # a decoder may raise any exception
        first_line = str(error).partition("\n")[0][:120]
        words = f"The decoder fails: {type(error).__name__}: {first_line}"
        return Check(name, NOT_APPLICABLE if name == "cropped cache" else UNCLEAR, words)
    if check.outcome == SAME:
        return replace(check, name=name)
    explanation = MEANINGS[name]
    outcome, meaning = check.outcome, f"{explanation['means']} Fix: {explanation['fix']}"
    if name in OF_ROTATIONS and not bench.decoder.relative:
        outcome, meaning = UNCLEAR, "Right for a table of absolute positions, wrong for a rotation."
    return replace(check, name=name, outcome=outcome, meaning=meaning, chapter=explanation["chapter"])
