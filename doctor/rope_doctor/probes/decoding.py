r"""Check a decoder: whole and in steps, padded and in batches, moved and packed, before and after a long text."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rope_doctor.probes.decoder import BFLOAT16, Decoder, as_decoder

LENGTH, PIECE, GAP, MOVED = 12, 5, 7, 17
REST, PLACES = LENGTH - PIECE, np.arange(LENGTH)
PROMPT = [PIECE] + [1] * REST  # tokens of each piece
LONG = 96  # tokens of the long text
ROUNDINGS = 2**12  # that may all go the same way in float32, between the input and a logit
NOISE = 8  # times the measured rounding of a narrow type, beyond which a difference is none of rounding
COARSE = 0.5  # of the logits' spread: what a narrow type is held to where its rounding cannot be measured
SAME, DIFFERS, UNCLEAR, NOT_APPLICABLE = "same", "differs", "could not tell", "not applicable"


@dataclass(frozen=True)
class Check:
    """One check of a decoder."""

    name: str
    outcome: str  # "same", "differs", "could not tell" or "not applicable"
    words: str  # the ways that were compared, and their difference; or why it does not apply
    meaning: str = ""  # of a difference, with the smallest fix
    chapter: str = ""  # that explains it
    off: float | None = None  # the largest difference of a token's logits, in units of their spread
    bound: float | None = None  # the largest difference that rounding explains
    token: int | None = None  # the first that differs

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

    Every check holds the decoder against itself, so no reference is needed; a mistake in every way of asking
    is for `diagnose` and `check_model`. A difference counts from 2¹² roundings of float32 on, all in one direction,
    or, in half of the tokens, from eight times the rounding that a narrower type shows against float32.

    Args:
        decoder: a `Decoder`, a causal model of transformers, or a function `(tokens, *, positions, mask, cache) ->
            (logits, cache)` with those keywords that it has.
        facts: attributes of `Decoder`, where a function is given.

    Raises:
        ValueError: the decoder cannot be called; the sentence says why.

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
        bench.whole  # noqa: B018  # computed once, and kept
    except Exception as error:
        raise ValueError(f"the decoder fails on {LENGTH} tokens: {type(error).__name__}: {error}") from error
    return DecoderReport(tuple(_run(bench, name) for name in CHECKS))


class _NotApplicableError(Exception):
    """A check that does not apply to a decoder; its words say why."""


class _Bench:
    """A decoder, its texts, and their logits."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder
        words = min(8, decoder.vocabulary // 2), decoder.vocabulary  # the first ones may be special
        self.text = np.random.default_rng(24).integers(*words, size=(2, LENGTH + LONG))[:, :LENGTH]
        self.long = np.random.default_rng(25).integers(*words, size=(1, LONG))

    @cached_property
    def whole(self) -> np.ndarray:
        """Logits of both rows, each read alone and whole."""
        return np.concatenate([self.logits(row[None]) for row in self.text])

    @cached_property
    def spread(self) -> float:
        return float(self.whole.std(axis=-1).mean()) or 1.0

    @property
    def coarse(self) -> bool:
        """True if numbers are narrower than float32."""
        return self.decoder.eps >= 2.0**-20

    @cached_property
    def bound(self) -> float:
        """The largest difference that rounding explains, in units of the spread."""
        if not self.coarse:
            return ROUNDINGS * self.decoder.eps
        if self.decoder.wide is None:
            return COARSE
        noise = self.distances(self.whole, _Bench(self.decoder.wide()).whole).max()
        return max(NOISE * float(noise), COARSE / 8)

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
        if positions is None or np.ndim(positions) == 3:
            return positions
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
        ids, found, start = self.ids(positions, tokens.shape), [], 0
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
            found.append(logits)
            start += size
        return np.concatenate(found, axis=1), cache

    def distances(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Difference of each token's logits, in units of the spread; infinite where either is not finite."""
        apart = np.sqrt(((one - other) ** 2).mean(axis=-1)) / self.spread
        return np.where(np.isfinite(apart), apart, np.inf)

    def verdict(self, words: str, *pairs: tuple[np.ndarray, np.ndarray]) -> Check:
        """A check that both of each pair are the same."""
        apart = [self.distances(*pair) for pair in pairs]
        off = max(float(each.max()) for each in apart)
        wrong = [(each > self.bound).any(axis=0) for each in apart]
        if self.coarse:  # rounding may send a token or two to another expert
            wrong = [each & (each.mean() >= 0.5) for each in wrong]
        if not any(each.any() for each in wrong):
            return Check("", SAME, f"{words}: {off:.1e} apart at most.", off=off, bound=self.bound)
        token = min(int(each.argmax()) for each in wrong if each.any())
        found = f"{words}: {off:.3g} apart, wanted at most {self.bound:.1e}, from token {token} of these on."
        return Check("", DIFFERS, found, off=off, bound=self.bound, token=token)


def _steps(bench: _Bench) -> Check:
    words = f"{LENGTH} tokens whole, one by one, after a prompt of {PIECE}, in two pieces"
    pairs = [
        (bench.pieces(row[None], sizes)[0], whole[None])
        for sizes in ([1] * LENGTH, PROMPT, [PIECE, REST])
        for row, whole in zip(bench.text, bench.whole, strict=True)
    ]
    return bench.verdict(words, *pairs)


def _steps_with_positions(bench: _Bench) -> Check:
    found, _ = bench.pieces(bench.text[:1], PROMPT, PLACES)
    return bench.verdict("positions given, and counted by the decoder", (found, bench.whole[:1]))


def _padded(bench: _Bench, pads: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two rows of which the second is padded: tokens, mask, positions counted from the mask."""
    tokens, mask = bench.text.copy(), np.ones((2, LENGTH), int)
    tokens[1], mask[1, pads] = bench.text[0, 0], 0
    tokens[1, mask[1] == 1] = bench.text[1, :REST]
    return tokens, mask, np.maximum(mask.cumsum(axis=1) - 1, 0)


def _right_padding(bench: _Bench) -> Check:
    tokens, mask, _ = _padded(bench, slice(REST, LENGTH))
    found = bench.logits(tokens, mask=mask)
    padded = found[1:, :REST], bench.whole[1:, :REST]
    words = f"{REST} tokens alone, and before {PIECE} of padding"
    return bench.verdict(words, (found[:1], bench.whole[:1]), padded)


def _left_padding(bench: _Bench) -> Check:
    tokens, mask, positions = _padded(bench, slice(0, PIECE))
    found, alone = bench.logits(tokens, positions, mask), bench.whole[1:, :REST]
    pairs = [(found[:1], bench.whole[:1]), (found[1:, PIECE:], alone)]
    words = f"{REST} tokens alone, and behind {PIECE} of padding, with positions counted from the mask"
    if "cache" in bench.decoder.takes:
        stepped, _ = bench.pieces(tokens, [PIECE + 2] + [1] * (REST - 2), positions, mask)
        pairs.append((stepped[1:, PIECE:], alone))
        words += ", whole and step by step"
    return bench.verdict(words, *pairs)


def _left_padding_alone(bench: _Bench) -> Check:
    tokens, mask, _ = _padded(bench, slice(0, PIECE))
    found = bench.logits(tokens, mask=mask)[1:, PIECE:]
    words = f"{REST} tokens alone, and behind {PIECE} of padding, without positions"
    return bench.verdict(words, (found, bench.whole[1:, :REST]))


def _rows(bench: _Bench) -> Check:
    return bench.verdict("each row alone, and both together", (bench.logits(bench.text), bench.whole))


def _rows_at_length_1(bench: _Bench) -> Check:
    first = np.concatenate([bench.logits(row[None, :1]) for row in bench.text])
    found, _ = bench.pieces(bench.text, [1] * LENGTH)
    together = bench.logits(bench.text[:, :1])
    return bench.verdict("two rows together, one token at a time", (together, first), (found, bench.whole))


def _moved(bench: _Bench) -> Check:
    found = bench.logits(bench.text[:1], PLACES + MOVED)
    return bench.verdict(f"positions from 0 and from {MOVED}", (found, bench.whole[:1]))


def _effect(bench: _Bench) -> Check:
    moved = bench.logits(bench.text[:1], _behind_a_gap(GAP))
    apart = bench.distances(moved, bench.logits(bench.text[:1], PLACES))[0]
    before, after = float(apart[:PIECE].max()), float(apart[PIECE:].max())
    words = f"a gap of {GAP} behind token {PIECE - 1} changes what follows by {after:.3g}"
    if after > bench.bound:
        return Check("", SAME, f"Positions count: {words}.", off=before, bound=bench.bound)
    if not bench.decoder.relative:
        raise _NotApplicableError("Nothing is known of its positions, and they have no effect.")
    if bench.coarse:
        raise _NotApplicableError(f"Rounding hides it: {words}.")
    words = f"Positions have no effect: {words}."
    return Check("", DIFFERS, words, off=after, bound=bench.bound, token=PIECE)


def _behind_a_gap(gap: int) -> np.ndarray:
    return PLACES + np.where(PLACES < PIECE, 0, gap)


def _gaps(bench: _Bench) -> Check:
    if bench.decoder.recurrent:
        raise _NotApplicableError("Layers with a state see hidden tokens.")
    seen = (PLACES < PIECE) | (PLACES >= PIECE + 3)
    hidden = bench.logits(bench.text[:1], PLACES, seen[None].astype(int))[:, seen]
    found = bench.logits(bench.text[:1, seen], PLACES[seen])
    return bench.verdict("three tokens hidden, and left out with a gap in the positions", (found, hidden))


def _packed(bench: _Bench) -> Check:
    if bench.decoder.recurrent:
        raise _NotApplicableError("Layers with a state need the boundaries in another way.")
    both = np.concatenate((bench.text[:1, :PIECE], bench.text[1:, :REST]), axis=1)
    positions = np.concatenate((PLACES[:PIECE], PLACES[:REST]))
    found, _ = bench.decoder(both, bench.ids(positions, both.shape), cache=bench.decoder.never)
    words = "a document alone, and behind another whose positions restart"
    check = bench.verdict(words, (found[:, PIECE:], bench.whole[1:, :REST]))
    if check.outcome == SAME:
        return check
    seen = "The second document sees the first, so this decoder packs nothing by positions alone: "
    raise _NotApplicableError(f"{seen}give it a mask for each document ({check.off:.3g} apart).")


def _cropped(bench: _Bench) -> Check:
    if bench.decoder.crop is None:
        raise _NotApplicableError("The cache cannot be cropped.")
    _, cache = bench.pieces(bench.text[:1], [LENGTH])
    cache = bench.decoder.crop(cache, PIECE, REST)
    found, _ = bench.pieces(bench.text[:1, PIECE:], [1] * REST, cache=cache, seen=PIECE)
    words = f"{LENGTH} tokens, and the same again after the cache was cropped to {PIECE}"
    return bench.verdict(words, (found, bench.whole[:1, PIECE:]))


def _shifted(bench: _Bench) -> Check:
    row, wanted = bench.text[:1], bench.whole[:1]
    if bench.decoder.shift is not None:
        _, cache = bench.pieces(row[:, :PIECE], [PIECE], PLACES[:PIECE])
        cache = bench.decoder.shift(cache, MOVED)
        behind = PLACES[PIECE:] + MOVED
        found, _ = bench.pieces(row[:, PIECE:], [1] * REST, behind, cache=cache, seen=PIECE)
        words = f"keys in the cache moved by {MOVED}, and the text goes on there"
        return bench.verdict(words, (found, wanted[:, PIECE:]))
    if not bench.decoder.relative:
        raise _NotApplicableError("The cache cannot be shifted, and positions may be absolute.")
    found, _ = bench.pieces(row, PROMPT, PLACES + MOVED)
    return bench.verdict(f"step by step from position {MOVED}, and whole from 0", (found, wanted))


def _state(bench: _Bench) -> Check:
    row, far = bench.text[:1], bench.decoder.trained
    before = bench.logits(row)
    bench.logits(bench.long)
    words, pairs = f"a text before and after one of {LONG} tokens", [(bench.logits(row), before)]
    if far and "positions" in bench.decoder.takes:
        try:
            first = bench.logits(row, PLACES + 2 * far)
            bench.logits(row, PLACES + 4 * far)
        except Exception:  # a table that ends with an error is honest
            return bench.verdict(words, *pairs)
        words += f", at positions from 0 and from {2 * far}, before and after {4 * far}"
        pairs += [(bench.logits(row, PLACES + 2 * far), first), (bench.logits(row), before)]
    return bench.verdict(words, *pairs)


def _across(bench: _Bench) -> Check:
    if not (bench.decoder.trained and bench.decoder.rule):
        raise _NotApplicableError("No rule that depends on the length.")
    positions = PLACES + bench.decoder.trained - PIECE
    found, _ = bench.pieces(bench.text[:1], [1] * LENGTH, positions)
    words = f"whole and step by step across position {bench.decoder.trained}"
    return bench.verdict(words, (found, bench.logits(bench.text[:1], positions)))


def _coordinates(bench: _Bench) -> Check:
    many, row = bench.decoder.coordinates, bench.text[:1]
    if many == 1:
        raise _NotApplicableError("A position is one number.")
    bench.needs("positions", "cache")
    places = _with_an_image(many)
    ids = np.stack([places, places + MOVED], axis=1)  # (coordinates, batch, seq): the second row is moved
    both = bench.logits(np.concatenate([row] * 2), ids)
    alone = bench.logits(row, ids[:, :1])
    stepped, _ = bench.pieces(row, [1] * LENGTH, ids[:, :1])
    words = f"{many} coordinates: alone, beside a moved row, that row, step by step"
    check = bench.verdict(words, (both[:1], alone), (both[1:], alone), (stepped, alone))
    apart = float(bench.distances(alone, bench.whole[:1]).max())
    if check.outcome == SAME and apart <= bench.bound and not bench.coarse:
        words = "Coordinates beyond the first have no effect."
        return Check("", DIFFERS, words, off=apart, bound=bench.bound, token=0)
    return check


def _with_an_image(many: int) -> np.ndarray:
    """Return coordinates (many, tokens) of three words, an image of two rows of three, and words behind it."""
    rows, patches = np.tile(PLACES, (many, 1)), np.arange(6)
    for axis in range(many):
        rows[axis, 3:9] = 3 + {0: 0 * patches, 1: patches // 3}.get(axis, patches % 3)
    rows[:, 9:] = 3 + 3 + np.arange(LENGTH - 9)  # on from the largest coordinate
    return rows


def _bfloat16(bench: _Bench) -> Check:
    own = bench.decoder
    if not own.relative:
        raise _NotApplicableError("Positions may be absolute.")
    if not (own.narrow or own.wide):
        raise _NotApplicableError("No copy of another width can be made.")
    narrow = _Bench(own.narrow()) if own.narrow else bench
    wide = bench if own.narrow or own.wide is None else _Bench(own.wide())
    gap = max(LENGTH, min(1000, (own.trained or 1016) - 16))

    def rounding(gap: int) -> float:
        positions = _behind_a_gap(gap)
        both = [[each.logits(row[None], positions) for each in (narrow, wide)] for row in bench.text]
        return float(np.median([bench.distances(*pair)[0, PIECE:] for pair in both]))

    near, off = rounding(0), rounding(gap)
    bound = NOISE * max(near, BFLOAT16)
    words = f"bfloat16 is {near:.2g} from float32, and {off:.2g} across a gap of {gap}."
    if off <= bound:
        return Check("", SAME, words, off=off, bound=bound)
    return Check("", DIFFERS, words, off=off, bound=bound, token=PIECE)


# how each check asks, and the keywords that a decoder must take for it
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
OF_ROTATIONS = {"left padding, without positions", "moved"}  # a table of absolute positions may differ
MEANINGS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _run(bench: _Bench, name: str) -> Check:
    ask, needs = CHECKS[name]
    try:
        bench.needs(*needs)
        check = ask(bench)
    except _NotApplicableError as reason:
        return Check(name, NOT_APPLICABLE, str(reason))
    except Exception as error:  # anything that somebody's decoder raises
        said = str(error).partition("\n")[0][:120]
        refused = f"The decoder refuses: {type(error).__name__}: {said}"
        return Check(name, NOT_APPLICABLE if name == "cropped cache" else UNCLEAR, refused)
    if check.outcome == SAME:
        return replace(check, name=name)
    said = MEANINGS[name]
    outcome, meaning = check.outcome, f"{said['means']} Fix: {said['fix']}"
    if name in OF_ROTATIONS and not bench.decoder.relative:
        outcome, meaning = UNCLEAR, "Right for a table of absolute positions, wrong for a rotation."
    return replace(check, name=name, outcome=outcome, meaning=meaning, chapter=said["chapter"])
