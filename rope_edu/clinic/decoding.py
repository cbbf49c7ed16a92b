r"""Check a decoder: whole and in steps, padded and in batches, moved and packed, before and after a long text."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rope_edu.clinic.decoder import BFLOAT16, Decoder, as_decoder

LENGTH, PIECE, GAP, MOVED = 12, 5, 7, 17
LONG = 96  # tokens of the long text
ROUNDINGS = 2**12  # that may all go the same way in float32, between the input and a logit
NOISE = 8  # times the measured rounding of a narrow type, beyond which a difference is none of rounding
COARSE = 0.5  # of the logits' spread: what a narrow type is held to where its rounding cannot be measured
SAME, DIFFERS, UNCLEAR, NOT_APPLICABLE = "same", "differs", "could not tell", "not applicable"


@dataclass(frozen=True)
class Check:
    """One check of a decoder.

    Attributes:
        name: the name of the check.
        outcome: "same", "differs", "could not tell" or "not applicable".
        words: what was compared and found, or why it does not apply.
        meaning: what that means, with the smallest fix; "" where nothing is wrong.
        chapter: the title of the chapter that explains it.
        off: the largest difference of a token's logits, in units of their spread; None if nothing was compared.
        bound: the largest difference that rounding explains.
        token: the first token that differs, or None.
    """

    name: str
    outcome: str
    words: str
    meaning: str = ""
    chapter: str = ""
    off: float | None = None
    bound: float | None = None
    token: int | None = None

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
        """Return True if nothing differs, False if something does, None if that cannot be told."""
        outcomes = {check.outcome for check in self.checks}
        if DIFFERS in outcomes:
            return False
        return None if UNCLEAR in outcomes or SAME not in outcomes else True

    def of(self, name: str) -> Check:
        """Return the check of a name."""
        return next(check for check in self.checks if check.name == name)

    def __str__(self) -> str:
        verdict = {
            True: "The decoder gives the same logits in every way of asking.",
            False: "The decoder does not give the same logits in every way of asking.",
            None: "Could not tell whether the decoder is right.",
        }
        return "\n".join([verdict[self.right], *map(str, self.checks)])


def check_decoder(decoder: Any, **facts: Any) -> DecoderReport:
    r"""Ask a decoder for the same logits in many ways, and report where they differ.

    Every check holds the decoder against itself, so no reference is needed; what is wrong in every way of asking
    is for `diagnose` and `check_model`. A difference counts from 2¹² roundings of float32 on, all in one direction,
    or, in half of the tokens, from eight times the rounding that a narrower type shows against float32.

    Args:
        decoder: a `Decoder`, a causal model of transformers, or a function `(tokens, *, positions, mask, cache) ->
            (logits, cache)` with those keywords that it has.
        facts: attributes of `Decoder`, where a function is given.

    Raises:
        ValueError: the decoder cannot be called; the sentence says why.

    >>> from rope_edu.clinic.specimen import Specimen
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
        bench.whole  # noqa: B018  # computed once, and kept
    except Exception as error:
        raise ValueError(f"the decoder fails on {LENGTH} tokens: {type(error).__name__}: {error}") from error
    return DecoderReport(tuple(_run(bench, name) for name in CHECKS))


class _NotApplicableError(Exception):
    """A check that does not apply to a decoder; its words say why."""


@dataclass
class _Bench:
    """A decoder, its texts, and what both give."""

    decoder: Decoder

    @cached_property
    def text(self) -> np.ndarray:
        """Two rows of tokens, of which the first ones are never drawn: they may be special."""
        words = self.decoder.vocabulary
        drawn = np.random.default_rng(24).integers(min(8, words // 2), words, size=(2, LENGTH + LONG))
        return drawn[:, :LENGTH]

    @cached_property
    def long(self) -> np.ndarray:
        words = self.decoder.vocabulary
        return np.random.default_rng(25).integers(min(8, words // 2), words, size=(1, LONG))

    @cached_property
    def whole(self) -> np.ndarray:
        """Logits of both rows, each read alone and whole."""
        return np.concatenate([self.logits(row[None]) for row in self.text])

    @cached_property
    def spread(self) -> float:
        return float(self.whole.std(axis=-1).mean()) or 1.0

    @cached_property
    def bound(self) -> float:
        """The largest difference that rounding explains, in units of the spread."""
        if self.decoder.eps < 2.0**-20:
            return ROUNDINGS * self.decoder.eps
        return max(NOISE * self.noise, COARSE / 8) if self.decoder.wide else COARSE

    @cached_property
    def noise(self) -> float:
        """The rounding of a narrow decoder: its difference from the same one in float32."""
        assert self.decoder.wide is not None
        wide = _Bench(self.decoder.wide())
        return float(self.distances(self.whole, wide.whole).max())

    def needs(self, *keywords: str) -> None:
        for name in keywords:
            if name not in self.decoder.takes:
                raise _NotApplicableError(f"The decoder takes no {name}.")

    def logits(self, tokens: np.ndarray, positions: Any = None, mask: Any = None) -> np.ndarray:
        """Logits of a text read whole; a mask is given wherever positions are, as batches have it."""
        if positions is not None and mask is None:
            mask = np.ones(tokens.shape, int)
        return self.decoder(tokens, self.ids(positions, tokens.shape), mask)[0]

    def ids(self, positions: Any, shape: tuple[int, ...]) -> np.ndarray | None:
        """Position ids of a batch: one set, or as many as a position has coordinates."""
        if positions is None:
            return None
        rows = np.broadcast_to(np.asarray(positions), shape)
        many = self.decoder.coordinates
        return np.stack([rows] * many) if many > 1 else np.array(rows)

    def pieces(
        self,
        tokens: np.ndarray,
        sizes: list[int],
        positions: Any = None,
        mask: np.ndarray | None = None,
        cache: Any = None,
        seen: int = 0,
    ) -> tuple[np.ndarray, Any]:
        """Logits of a text read in pieces with the cache, and the cache."""
        found, start = [], 0
        if positions is not None:
            positions = np.broadcast_to(np.asarray(positions), tokens.shape)
            mask = np.ones((len(tokens), seen + tokens.shape[1]), int) if mask is None else mask
        for size in sizes:
            stop = start + size
            ids = None if positions is None else self.ids(positions[:, start:stop], (len(tokens), size))
            piece_mask = None if mask is None else mask[:, : seen + stop]
            logits, cache = self.decoder(tokens[:, start:stop], ids, piece_mask, cache)
            if cache is None:
                raise _NotApplicableError("The decoder returns no cache.")
            found.append(logits)
            start = stop
        return np.concatenate(found, axis=1), cache

    def distances(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Difference of each token's logits, in units of the spread; infinite where either is not finite."""
        apart = np.sqrt(((one - other) ** 2).mean(axis=-1)) / self.spread
        return np.where(np.isfinite(apart), apart, np.inf)

    def verdict(self, name: str, words: str, pairs: list[tuple[np.ndarray, np.ndarray]]) -> Check:
        """A check that both of each pair are the same."""
        apart = [self.distances(*pair) for pair in pairs]
        off = max(float(each.max()) for each in apart)
        wrong = [(each > self.bound).any(axis=0) for each in apart]
        if self.decoder.eps > 2.0**-20:  # rounding may send a token or two to another expert
            wrong = [each & (each.mean() >= 0.5) for each in wrong]
        meaning, chapter = MEANINGS.get(name, ("", ""))
        if not any(each.any() for each in wrong):
            return Check(name, SAME, f"{words}: {off:.1e} apart at most.", off=off, bound=self.bound)
        token = min(int(each.argmax()) for each in wrong if each.any())
        found = f"{words}: {off:.3g} apart, wanted at most {self.bound:.1e}, from token {token} of these on."
        return Check(name, DIFFERS, found, meaning, chapter, off, self.bound, token)


def _run(bench: _Bench, name: str) -> Check:
    try:
        return CHECKS[name](bench, name)
    except _NotApplicableError as reason:
        return Check(name, NOT_APPLICABLE, str(reason))
    except Exception as error:  # anything that somebody's decoder raises
        said = str(error).partition("\n")[0][:120]
        refused = f"The decoder refuses: {type(error).__name__}: {said}"
        return Check(name, NOT_APPLICABLE if name == "cropped cache" else UNCLEAR, refused)


def _steps(bench: _Bench, name: str) -> Check:
    bench.needs("cache")
    pairs = []
    for sizes in ([1] * LENGTH, [PIECE] + [1] * (LENGTH - PIECE), [PIECE, LENGTH - PIECE]):
        pairs += [
            (bench.pieces(row[None], sizes)[0], whole[None])
            for row, whole in zip(bench.text, bench.whole, strict=True)
        ]
    return bench.verdict(
        name, f"{LENGTH} tokens whole, one by one, after a prompt of {PIECE}, in two pieces", pairs
    )


def _steps_with_positions(bench: _Bench, name: str) -> Check:
    bench.needs("cache", "positions")
    sizes = [PIECE] + [1] * (LENGTH - PIECE)
    found = bench.pieces(bench.text[:1], sizes, np.arange(LENGTH))[0]
    return bench.verdict(name, "positions given, and counted by the decoder", [(found, bench.whole[:1])])


def _padded(bench: _Bench, left: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two rows of which the second is padded: tokens, mask, positions counted from the mask."""
    tokens, mask = bench.text.copy(), np.ones((2, LENGTH), int)
    short, pads = bench.text[1, : LENGTH - PIECE], slice(0, PIECE) if left else slice(LENGTH - PIECE, LENGTH)
    tokens[1], mask[1, pads] = bench.text[0, 0], 0
    tokens[1, mask[1] == 1] = short
    return tokens, mask, np.maximum(mask.cumsum(axis=1) - 1, 0)


def _right_padding(bench: _Bench, name: str) -> Check:
    bench.needs("mask")
    tokens, mask, _ = _padded(bench, left=False)
    found = bench.logits(tokens, mask=mask)
    short = LENGTH - PIECE
    return bench.verdict(
        name,
        f"{short} tokens alone, and before {PIECE} of padding",
        [(found[:1], bench.whole[:1]), (found[1:, :short], bench.whole[1:, :short])],
    )


def _left_padding(bench: _Bench, name: str) -> Check:
    bench.needs("mask", "positions")
    tokens, mask, positions = _padded(bench, left=True)
    found = bench.logits(tokens, positions, mask)
    short = LENGTH - PIECE
    pairs = [(found[:1], bench.whole[:1]), (found[1:, PIECE:], bench.whole[1:, :short])]
    words = f"{short} tokens alone, and behind {PIECE} of padding, with positions counted from the mask"
    if "cache" in bench.decoder.takes:
        stepped, _ = bench.pieces(tokens, [PIECE + 2] + [1] * (short - 2), positions, mask)
        pairs.append((stepped[1:, PIECE:], bench.whole[1:, :short]))
        words += ", whole and step by step"
    return bench.verdict(name, words, pairs)


def _left_padding_alone(bench: _Bench, name: str) -> Check:
    bench.needs("mask")
    tokens, mask, _ = _padded(bench, left=True)
    check = bench.verdict(
        name,
        f"{LENGTH - PIECE} tokens alone, and behind {PIECE} of padding, without positions",
        [(bench.logits(tokens, mask=mask)[1:, PIECE:], bench.whole[1:, : LENGTH - PIECE])],
    )
    return check if bench.decoder.relative else _unless_absolute(check)


def _rows(bench: _Bench, name: str) -> Check:
    found = bench.logits(bench.text)
    return bench.verdict(name, "each row alone, and both together", [(found, bench.whole)])


def _rows_at_length_1(bench: _Bench, name: str) -> Check:
    bench.needs("cache")
    first = [bench.logits(row[None, :1]) for row in bench.text]
    found, _ = bench.pieces(bench.text, [1] * LENGTH)
    pairs = [(bench.logits(bench.text[:, :1]), np.concatenate(first)), (found, bench.whole)]
    return bench.verdict(name, "two rows together, one token at a time", pairs)


def _moved(bench: _Bench, name: str) -> Check:
    bench.needs("positions")
    found = bench.logits(bench.text[:1], np.arange(LENGTH) + MOVED)
    check = bench.verdict(name, f"positions from 0 and from {MOVED}", [(found, bench.whole[:1])])
    return check if bench.decoder.relative else _unless_absolute(check)


def _unless_absolute(check: Check) -> Check:
    """A difference that is right for absolute positions and wrong for a rotation."""
    if check.outcome == SAME:
        return check
    words = "Right for a table of absolute positions, wrong for a rotation."
    return Check(check.name, UNCLEAR, check.words, words, check.chapter, check.off, check.bound, check.token)


def _effect(bench: _Bench, name: str) -> Check:
    bench.needs("positions")
    gapped = np.arange(LENGTH) + np.where(np.arange(LENGTH) < PIECE, 0, GAP)
    apart = bench.distances(
        bench.logits(bench.text[:1], gapped), bench.logits(bench.text[:1], np.arange(LENGTH))
    )[0]
    before, after = float(apart[:PIECE].max()), float(apart[PIECE:].max())
    words = f"a gap of {GAP} behind token {PIECE - 1} changes what follows by {after:.3g}"
    if after > bench.bound:
        return Check(name, SAME, f"Positions count: {words}.", off=before, bound=bench.bound)
    if not bench.decoder.relative:
        raise _NotApplicableError("Nothing is known of its positions, and they have no effect.")
    if bench.decoder.eps > 2.0**-20:
        raise _NotApplicableError(f"Rounding hides it: {words}.")
    meaning, chapter = MEANINGS[name]
    return Check(
        name, DIFFERS, f"Positions have no effect: {words}.", meaning, chapter, after, bench.bound, PIECE
    )


def _gaps(bench: _Bench, name: str) -> Check:
    bench.needs("positions", "mask")
    if bench.decoder.recurrent:
        raise _NotApplicableError("Layers with a state see hidden tokens.")
    mask = np.ones((1, LENGTH), int)
    mask[0, PIECE : PIECE + 3] = 0
    seen = mask[0] == 1
    hidden = bench.logits(bench.text[:1], np.arange(LENGTH), mask)[:, seen]
    found = bench.logits(bench.text[:1, seen], np.arange(LENGTH)[seen])
    words = "three tokens hidden, and left out with a gap in the positions"
    return bench.verdict(name, words, [(found, hidden)])


def _packed(bench: _Bench, name: str) -> Check:
    bench.needs("positions")
    if bench.decoder.recurrent:
        raise _NotApplicableError("Layers with a state need the boundaries in another way.")
    both = np.concatenate((bench.text[:1, :PIECE], bench.text[1:, : LENGTH - PIECE]), axis=1)
    positions = np.concatenate((np.arange(PIECE), np.arange(LENGTH - PIECE)))
    found = bench.decoder(both, bench.ids(positions, both.shape), cache=bench.decoder.never)[0]
    check = bench.verdict(
        name,
        "a document alone, and behind another whose positions restart",
        [(found[:, PIECE:], bench.whole[1:, : LENGTH - PIECE])],
    )
    if check.outcome == SAME:
        return check
    seen = "The second document sees the first, so this decoder packs nothing by positions alone: "
    raise _NotApplicableError(f"{seen}give it a mask for each document ({check.off:.3g} apart).")


def _cropped(bench: _Bench, name: str) -> Check:
    bench.needs("cache")
    if bench.decoder.crop is None:
        raise _NotApplicableError("The cache cannot be cropped.")
    _, cache = bench.pieces(bench.text[:1], [LENGTH])
    cache = bench.decoder.crop(cache, PIECE, LENGTH - PIECE)
    found, _ = bench.pieces(bench.text[:1, PIECE:], [1] * (LENGTH - PIECE), cache=cache, seen=PIECE)
    return bench.verdict(
        name,
        f"{LENGTH} tokens, and the same again after the cache was cropped to {PIECE}",
        [(found, bench.whole[:1, PIECE:])],
    )


def _shifted(bench: _Bench, name: str) -> Check:
    bench.needs("cache", "positions")
    if bench.decoder.shift is None:
        return _moved_with_cache(bench, name)
    _, cache = bench.pieces(bench.text[:1, :PIECE], [PIECE], np.arange(PIECE))
    cache = bench.decoder.shift(cache, MOVED)
    rest = LENGTH - PIECE
    found, _ = bench.pieces(
        bench.text[:1, PIECE:], [1] * rest, np.arange(PIECE, LENGTH) + MOVED, cache=cache, seen=PIECE
    )
    return bench.verdict(
        name,
        f"keys in the cache moved by {MOVED}, and the text goes on there",
        [(found, bench.whole[:1, PIECE:])],
    )


def _moved_with_cache(bench: _Bench, name: str) -> Check:
    if not bench.decoder.relative:
        raise _NotApplicableError("The cache cannot be shifted, and positions may be absolute.")
    sizes = [PIECE] + [1] * (LENGTH - PIECE)
    found, _ = bench.pieces(bench.text[:1], sizes, np.arange(LENGTH) + MOVED)
    return bench.verdict(
        name, f"step by step from position {MOVED}, and whole from 0", [(found, bench.whole[:1])]
    )


def _state(bench: _Bench, name: str) -> Check:
    before = bench.logits(bench.text[:1])
    bench.logits(bench.long)
    words, pairs = f"a text before and after one of {LONG} tokens", [(bench.logits(bench.text[:1]), before)]
    far = bench.decoder.trained
    if far and "positions" in bench.decoder.takes:
        between, beyond = np.arange(LENGTH) + 2 * far, np.arange(LENGTH) + 4 * far
        try:
            first = bench.logits(bench.text[:1], between)
            bench.logits(bench.text[:1], beyond)
        except Exception:  # a table that ends with an error is honest
            return bench.verdict(name, words, pairs)
        words += f", at positions from 0 and from {2 * far}, before and after {4 * far}"
        pairs += [(bench.logits(bench.text[:1], between), first), (bench.logits(bench.text[:1]), before)]
    return bench.verdict(name, words, pairs)


def _across(bench: _Bench, name: str) -> Check:
    bench.needs("cache", "positions")
    if not (bench.decoder.trained and bench.decoder.rule):
        raise _NotApplicableError("No rule that depends on the length.")
    positions = np.arange(LENGTH) + bench.decoder.trained - PIECE
    found, _ = bench.pieces(bench.text[:1], [1] * LENGTH, positions)
    words = f"whole and step by step across position {bench.decoder.trained}"
    return bench.verdict(name, words, [(found, bench.logits(bench.text[:1], positions))])


def _coordinates(bench: _Bench, name: str) -> Check:
    if bench.decoder.coordinates == 1:
        raise _NotApplicableError("A position is one number.")
    bench.needs("positions", "cache")
    many = bench.decoder.coordinates
    rows = _with_an_image(many)
    ids = np.stack([rows, rows + MOVED], axis=1)  # (coordinates, batch, seq): the second row is moved in each
    mask = np.ones((2, LENGTH), int)
    both, _ = bench.decoder(np.stack([bench.text[0]] * 2), ids, mask)
    alone, _ = bench.decoder(bench.text[:1], ids[:, :1], mask[:1])
    cache, stepped = None, []
    for at in range(LENGTH):
        logits, cache = bench.decoder(
            bench.text[:1, at : at + 1], ids[:, :1, at : at + 1], mask[:1, : at + 1], cache
        )
        stepped.append(logits)
    pairs = [(both[:1], alone), (both[1:], alone), (np.concatenate(stepped, axis=1), alone)]
    words = f"{many} coordinates: alone, beside a moved row, that row, step by step"
    check = bench.verdict(name, words, pairs)
    apart = float(bench.distances(alone, bench.whole[:1]).max())
    if check.outcome == SAME and apart <= bench.bound and bench.decoder.eps < 2.0**-20:
        meaning, chapter = MEANINGS[name]
        return Check(
            name,
            DIFFERS,
            "Coordinates beyond the first have no effect.",
            meaning,
            chapter,
            apart,
            bench.bound,
            0,
        )
    return check


def _with_an_image(many: int) -> np.ndarray:
    """Return coordinates (many, tokens) of three words, an image of two rows of three, and words behind it."""
    rows = np.tile(np.arange(LENGTH), (many, 1))
    patches = np.arange(6)
    for axis in range(many):
        steps = {0: 0 * patches, 1: patches // 3}.get(axis, patches % 3)
        rows[axis, 3:9] = 3 + steps
    rows[:, 9:] = 3 + 3 + np.arange(LENGTH - 9)  # on from the largest coordinate
    return rows


def _bfloat16(bench: _Bench, name: str) -> Check:
    bench.needs("positions")
    own = bench.decoder
    if not own.relative:
        raise _NotApplicableError("Positions may be absolute.")
    if not (own.narrow or own.wide):
        raise _NotApplicableError("No copy of another width can be made.")
    narrow = _Bench(own.narrow()) if own.narrow else bench
    wide = bench if own.narrow or own.wide is None else _Bench(own.wide())
    gap = max(LENGTH, min(1000, (own.trained or 1016) - 16))

    def rounding(gap: int) -> np.ndarray:
        positions = np.arange(LENGTH) + np.where(np.arange(LENGTH) < PIECE, 0, gap)
        both = [(each.logits(row[None], positions) for each in (narrow, wide)) for row in bench.text]
        return np.concatenate([bench.distances(*pair)[0, PIECE:] for pair in both])

    near, there = rounding(0), rounding(gap)
    bound = NOISE * max(float(np.median(near)), BFLOAT16)
    off = float(np.median(there))
    words = f"bfloat16 is {np.median(near):.2g} from float32, and {off:.2g} across a gap of {gap}"
    if off <= bound:
        return Check(name, SAME, f"{words}.", off=off, bound=bound)
    meaning, chapter = MEANINGS[name]
    return Check(name, DIFFERS, f"{words}.", meaning, chapter, off, bound, PIECE)


MEANINGS = {
    name: (f"{said['means']} Fix: {said['fix']}", said["chapter"])
    for name, said in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}
CHECKS: dict[str, Callable[[_Bench, str], Check]] = {
    "step by step": _steps,
    "step by step, with positions": _steps_with_positions,
    "right padding": _right_padding,
    "left padding": _left_padding,
    "left padding, without positions": _left_padding_alone,
    "rows": _rows,
    "rows at length 1": _rows_at_length_1,
    "moved": _moved,
    "positions have an effect": _effect,
    "gaps": _gaps,
    "packed": _packed,
    "cropped cache": _cropped,
    "shifted cache": _shifted,
    "state": _state,
    "across the trained length": _across,
    "M-RoPE ids": _coordinates,
    "bfloat16": _bfloat16,
}
