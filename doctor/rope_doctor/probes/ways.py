r"""Different ways of calling a decoder that must give the same logits; each is a function of a bench."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rope_doctor.probes.bench import (
    DIFFERS,
    DOCUMENTED,
    NOISE_FACTOR,
    PADS,
    SAME,
    Bench,
    Check,
    NotJudgedError,
)
from rope_doctor.probes.decoder import BFLOAT16_EPS

GAP, SHIFT, NEW = 7, 17, 6  # in tokens: size of a position gap, position shift, and length of generated text
LEAST = PADS + 3  # minimum length of a compared text
GROWN = 8  # largest logit difference per unit of query growth, in units of the spread
EFFECT = "effect of positions"  # this check is central if rounding may hide mistakes
LONGROPE = "longrope"  # the rule that switches from one list of factors to another at a documented length


def same_call_twice(bench: Bench) -> Check:
    return bench.verdict("a text read twice", (bench.logits(bench.text[:1]), bench.whole[:1]))


def step_by_step(bench: Bench) -> Check:
    """Compare one pass with a prompt followed by single tokens and, in a short text, with single tokens only."""
    if bench.length > 2 * bench.piece:
        rows = [(row[None], whole[None]) for row, whole in zip(bench.text, bench.whole, strict=True)]
        sizes = [1] * bench.length, bench.prompt
        pairs = [(bench.pieces(row, each)[0], whole) for each in sizes for row, whole in rows]
        return bench.verdict("one pass, and one token at a time", *pairs)
    stepped, _ = bench.pieces(bench.text[:1], bench.prompt)
    late = slice(bench.piece, None)
    tails = stepped[:, late], bench.whole[:1, late]
    return bench.verdict("one pass, and one token at a time", tails, ends=bench.length)


def chunks(bench: Bench, chunk: int) -> Check:
    """Compare one pass with chunks of `chunk` tokens, and with smaller chunks."""
    least = bench.decoder.trained or 0 if _switches(bench) else 0  # a text must not mix the two factor lists
    pairs = []
    chunk = min(chunk, bench.length - 1)
    sizes = sorted({chunk, max(2, 3 * chunk // 8)}, reverse=True)
    for size in sizes:
        first = max(size, least + 1)
        rest = bench.length - first
        if rest < 1:
            raise NotJudgedError(f"a text of {bench.length} tokens has no second chunk past the switch")
        pieces = [first] + [size] * (rest // size) + [rest % size] * (rest % size > 0)
        pairs.append((bench.pieces(bench.text[:1], pieces)[0], bench.whole[:1]))
    words = " and of ".join(map(str, sizes))
    return bench.verdict(f"one pass, and chunks of {words} tokens", *pairs)


def _switches(bench: Bench) -> bool:
    trained = bench.decoder.trained
    return bench.decoder.rule == LONGROPE and trained is not None and bench.length > trained


def step_by_step_with_positions(bench: Bench) -> Check:
    stepped, _ = bench.pieces(bench.text[:1], bench.prompt, bench.positions)
    return bench.verdict("positions passed in, and counted by the decoder", (stepped, bench.whole[:1]))


def _padded(bench: Bench, pads: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return tokens, mask, and positions counted from the mask, for two rows, the second of which is padded."""
    tokens, mask = bench.text.copy(), np.ones(bench.text.shape, int)
    tokens[1], mask[1, pads] = bench.text[0, 0], 0
    tokens[1, mask[1] == 1] = bench.text[1, : bench.length - PADS]
    return tokens, mask, np.maximum(mask.cumsum(axis=1) - 1, 0)


def right_padding(bench: Bench) -> Check:
    kept = bench.length - PADS
    tokens, mask, _ = _padded(bench, slice(kept, bench.length))
    logits = bench.logits(tokens, mask=mask)
    pairs = (logits[:1], bench.whole[:1]), (logits[1:, :kept], bench.whole[1:, :kept])
    return bench.verdict(f"two rows alone, and in a batch, one {PADS} tokens shorter and padded", *pairs)


def left_padding(bench: Bench) -> Check:
    tokens, mask, positions = _padded(bench, slice(0, PADS))
    logits, alone = bench.logits(tokens, positions, mask), bench.whole[1:, : bench.length - PADS]
    pairs = [(logits[:1], bench.whole[:1]), (logits[1:, PADS:], alone)]
    words = f"a row alone, and after {PADS} tokens of padding, with positions counted from the mask"
    if "cache" in bench.decoder.takes:
        prompt = max(bench.piece, PADS + 2)
        sizes = [prompt] + [1] * (bench.length - prompt)
        stepped, _ = bench.pieces(tokens, sizes, positions, mask)
        pairs.append((stepped[1:, prompt:], alone[:, prompt - PADS :]))
        words += ", in one pass and step by step"
    return bench.verdict(words, *pairs, ends=bench.length)


def left_padding_alone(bench: Bench) -> Check:
    bench = _unscaled(bench, PADS)
    tokens, mask, _ = _padded(bench, slice(0, PADS))
    padded = bench.logits(tokens, mask=mask)[1:, PADS:]
    words = f"a row alone, and after {PADS} tokens of padding, without positions"
    kept = bench.length - PADS
    check = bench.verdict(words, (padded, bench.whole[1:, :kept]))
    if check.outcome == DIFFERS and bench.decoder.relative is False and "positions" in bench.decoder.takes:
        counted = bench.verdict(
            f"{words}, and counted from {PADS}",
            (padded, bench.logits(bench.text[1:, :kept], bench.positions[:kept] + PADS)),
        )
        if counted.outcome == DIFFERS:
            return counted
    check = _of_scaled_queries(bench, check, PADS)
    return _of_a_table(bench, check, "a table of absolute positions counts the padding unless ids are passed")


def moved(bench: Bench) -> Check:
    by = SHIFT
    if bench.decoder.rule and bench.decoder.trained and bench.length <= bench.decoder.trained:
        by = min(by, bench.decoder.trained - bench.length)  # stay below the switch
    if by == 0:
        raise NotJudgedError(f"a text of {bench.length} tokens leaves no room to move below the switch")
    bench = _unscaled(bench, by)
    logits = bench.logits(bench.text[:1], bench.positions + by)
    check = bench.verdict(f"positions from 0 and from {by}", (logits, bench.whole[:1]))
    check = _of_scaled_queries(bench, check, by)
    if bench.decoder.relative is False and check.outcome == SAME:
        return _changed(check, DIFFERS, f"{check.words}: a table of absolute positions must tell them apart.")
    return _of_a_table(bench, check, "as must a table of absolute positions, and by how much was not judged")


def _unscaled(bench: Bench, by: int) -> Bench:
    """Return a bench whose text, moved by `by`, ends before queries are scaled, if there is room for one."""
    first = bench.decoder.scaled
    if first is None or bench.length + by <= first or first - by < LEAST:
        return bench
    return bench.shorter(first - by)


def _of_scaled_queries(bench: Bench, check: Check, by: int) -> Check:
    """Return the check, but accept a difference that the growth of queries from position 0 on can explain."""
    first, growth = bench.decoder.scaled, bench.decoder.growth
    if check.outcome != DIFFERS or first is None or bench.length + by <= first:
        return check
    scaled = f"{check.words}: {check.off:.3g} apart; queries are scaled by position from {first} on"
    if not growth:
        raise NotJudgedError(f"{scaled}, and a text before that is too short to compare")
    most = GROWN * by * growth
    if check.off is None or check.off > most:
        return check
    return _changed(check, DOCUMENTED, f"{scaled}, which explains {most:.2g}.")


def _of_a_table(bench: Bench, check: Check, expected: str) -> Check:
    """Return the check, but accept a difference if positions are absolute; NotJudgedError if they may be."""
    if check.outcome != DIFFERS or bench.decoder.relative:
        return check
    if bench.decoder.relative is False:
        return _changed(check, DOCUMENTED, f"{check.words}: {check.off:.3g} apart; {expected}.")
    raise NotJudgedError(
        f"{check.words}: {check.off:.3g} apart, right for a table of absolute positions and wrong for a rotation; "
        "pass relative=True or False"
    )


def _changed(check: Check, outcome: str, words: str) -> Check:
    return replace(check, outcome=outcome, words=words)


def rows(bench: Bench) -> Check:
    return bench.verdict("two rows alone, and both together", (bench.logits(bench.text), bench.whole))


def rows_at_length_1(bench: Bench) -> Check:
    first = np.concatenate([bench.logits(row[None, :1]) for row in bench.text])
    stepped, _ = bench.pieces(bench.text, [1] * bench.length)
    together = bench.logits(bench.text[:, :1])
    return bench.verdict("two rows together, one token at a time", (together, first), (stepped, bench.whole))


def effect(bench: Bench) -> Check:
    moved = bench.logits(bench.text[:1], _with_gap(bench, GAP))
    distances = bench.distances(moved, bench.logits(bench.text[:1], bench.positions))[0]
    before, after = float(distances[: bench.piece].max()), float(distances[bench.piece :].max())
    words = f"a gap of {GAP} after token {bench.piece - 1} changes later logits by {after:.3g}"
    if after > bench.bound:
        return _plain(bench, SAME, f"Positions have an effect: {words}.", before)
    if bench.decoder.relative is None:
        raise NotJudgedError("positions have no effect, and it is unknown whether they should")
    if bench.low_precision:
        raise NotJudgedError(f"rounding hides the effect: {words}")
    return _plain(bench, DIFFERS, f"Positions have no effect: {words}.", after, bench.piece)


def _plain(bench: Bench, outcome: str, words: str, off: float, token: int | None = None) -> Check:
    return Check("", outcome, words, off=off, bound=bench.bound, token=token, lengths=(bench.length,))


def _with_gap(bench: Bench, gap: int) -> np.ndarray:
    return bench.positions + np.where(bench.positions < bench.piece, 0, gap)


def gaps(bench: Bench) -> Check:
    """Compare hiding tokens with omitting them, in a text that fits into every window, gap included."""
    if bench.decoder.recurrent:
        raise NotJudgedError("layers with a state see hidden tokens")
    length = min(bench.length, *bench.decoder.windows, bench.length)
    if length < 6:
        raise NotJudgedError(f"a window of {length} tokens leaves no room for a gap")
    bench = bench.shorter(length)
    first = length // 2 - 1
    seen = (bench.positions < first) | (bench.positions >= first + min(3, length - first - 2))
    hidden = bench.logits(bench.text[:1], bench.positions, seen[None].astype(int))[:, seen]
    omitted = bench.logits(bench.text[:1, seen], bench.positions[seen])
    words = f"{(~seen).sum()} tokens hidden, and omitted with a gap in the positions"
    return bench.verdict(words, (omitted, hidden))


def packed(bench: Bench) -> Check:
    if bench.decoder.recurrent:
        raise NotJudgedError("layers with a state need the boundaries in another form")
    rest = bench.length - PADS
    both = np.concatenate((bench.text[:1, :PADS], bench.text[1:, :rest]), axis=1)
    positions = np.concatenate((bench.positions[:PADS], bench.positions[:rest]))
    together, _ = bench.decoder(both, bench.ids(positions, both.shape), cache=bench.decoder.never)
    words = "a document alone, and packed after another, with positions from 0"
    check = bench.verdict(words, (together[:, PADS:], bench.whole[1:, :rest]))
    if check.outcome == SAME:
        return check
    raise NotJudgedError(
        "the second document sees the first, so positions alone do not separate packed documents: pass a mask for "
        f"each document ({check.off:.3g} apart)"
    )


def cropped(bench: Bench) -> Check:
    crop = bench.decoder.crop
    if crop is None:
        raise NotJudgedError("no function to roll the cache back is known")
    length = min(bench.length, *bench.decoder.windows, bench.length)  # tokens before a window are forgotten
    if length < 4:
        raise NotJudgedError(f"a window of {length} tokens has forgotten the tokens to roll back to")
    bench = bench.shorter(length - 1) if bench.decoder.windows else bench
    rest = bench.length - bench.piece
    _, cache = bench.pieces(bench.text[:1], [bench.length])
    cache = crop(cache, bench.piece, rest)
    late = bench.piece
    stepped, _ = bench.pieces(bench.text[:1, late:], [1] * rest, cache=cache, seen=late)
    words = f"the last {rest} tokens, and those again after the cache was rolled back"
    return bench.verdict(words, (stepped, bench.whole[:1, late:]), ends=bench.length)


def shifted(bench: Bench) -> Check:
    row, expected, late = bench.text[:1], bench.whole[:1], bench.piece
    shift = bench.decoder.shift
    if shift is not None:
        _, cache = bench.pieces(row[:, :late], [late], bench.positions[:late])
        cache = shift(cache, SHIFT)
        after = bench.positions[late:] + SHIFT
        stepped, _ = bench.pieces(row[:, late:], [1] * (bench.length - late), after, cache=cache, seen=late)
        words = f"one pass, and continued after the cached keys were moved by {SHIFT}"
        check = bench.verdict(words, (stepped, expected[:, late:]), ends=bench.length)
        return _of_scaled_queries(bench, check, SHIFT)
    if not bench.decoder.relative:
        raise NotJudgedError("no function to move the cached keys is known, and positions may be absolute")
    bench = _unscaled(bench, SHIFT)
    stepped, _ = bench.pieces(bench.text[:1], bench.prompt, bench.positions + SHIFT)
    words = f"step by step from position {SHIFT}, and in one pass from 0"
    return _of_scaled_queries(bench, bench.verdict(words, (stepped, bench.whole[:1])), SHIFT)


def evicted(bench: Bench) -> Check:
    """Compare dropping two tokens from the middle of the cache with hiding them from later tokens."""
    if bench.decoder.evict is None:
        raise NotJudgedError("no function to evict tokens from the cache is known")
    bench.needs("mask")
    row, late = bench.text[:1], bench.piece
    start, count, new = 1, 2, [1] * (bench.length - bench.piece)
    mask = np.ones((1, bench.length), int)
    mask[:, start : start + count] = 0
    _, cache = bench.pieces(row[:, :late], [late])
    hidden, _ = bench.pieces(row[:, late:], new, None, mask, cache, late)
    _, cache = bench.pieces(row[:, :late], [late])
    dropped, _ = bench.pieces(row[:, late:], new, cache=bench.decoder.evict(cache, start, count))
    words = f"{count} tokens hidden from later ones, and evicted from the cache"
    return bench.verdict(words, (dropped, hidden), ends=bench.length)


def across(bench: Bench) -> Check:
    """Compare one pass with single steps across the position at which the rule changes."""
    if not (bench.decoder.trained and bench.decoder.rule):
        raise NotJudgedError("no rule depends on the length")
    positions = bench.positions + bench.decoder.trained - bench.piece
    stepped, _ = bench.pieces(bench.text[:1], [1] * bench.length, positions)
    words = f"one pass, and step by step across position {bench.decoder.trained}"
    check = bench.verdict(words, (stepped, bench.logits(bench.text[:1], positions)))
    if bench.decoder.rule != LONGROPE or check.outcome == SAME:
        return check
    expected = (
        "cached keys keep the short factors, as LongRoPE's switch has it, and each side was compared alone"
    )
    return _changed(check, DOCUMENTED, f"{words}: {check.off:.3g} apart; {expected}.")


def coordinates(bench: Bench) -> Check:
    count, row = bench.decoder.coordinates, bench.text[:1]
    if count == 1:
        raise NotJudgedError("a position is one number")
    bench.needs("positions", "cache")
    positions = with_an_image(count, bench.length)
    # (coordinates, batch, seq), with the second row shifted
    ids = np.stack([positions, positions + SHIFT], axis=1)
    both = bench.logits(np.concatenate([row] * 2), ids)
    alone = bench.logits(row, ids[:, :1])
    stepped, _ = bench.pieces(row, [1] * bench.length, ids[:, :1])
    words = f"{count} coordinates: alone, next to a moved row, that row, and step by step"
    check = bench.verdict(words, (both[:1], alone), (both[1:], alone), (stepped, alone))
    for axis in range(1, count):  # each further coordinate must have an effect by itself
        other = ids[:, :1].copy()
        other[axis] = other[0]
        apart = float(bench.distances(alone, bench.logits(row, other)).max())
        if check.outcome == SAME and apart <= bench.bound and not bench.low_precision:
            return _plain(bench, DIFFERS, f"Coordinate {axis} of {count} has no effect.", apart, 0)
    return check


def with_an_image(count: int, length: int) -> np.ndarray:
    """Return coordinates (count, tokens) for three words, an image of 2 × 3 patches, and more words."""
    rows, patches = np.tile(np.arange(length), (count, 1)), np.arange(6)
    for axis in range(count):
        rows[axis, 3:9] = 3 + {0: 0 * patches, 1: patches // 3}.get(axis, patches % 3)
    rows[:, 9:] = 3 + 3 + np.arange(length - 9)  # the text continues after the largest coordinate
    return rows


def generated(bench: Bench) -> Check:
    """Compare greedy generation, from a full and a left-padded row, with one pass over the output."""
    if bench.decoder.generate is None:
        raise NotJudgedError("the decoder has no function to generate tokens")
    tokens, mask, _ = _padded(bench, slice(0, PADS))
    mask[0] = 1
    alone, its_logits = bench.decoder.generate(tokens[:1], mask[:1], NEW)
    both, their_logits = bench.decoder.generate(tokens, mask, NEW)
    pairs = []
    for text, logits, skipped in (
        (alone[:1], its_logits[:1], 0),
        (both[:1], their_logits[:1], 0),
        (both[1:], their_logits[1:], PADS),
    ):
        whole = bench.logits(text[:, skipped:-1])
        pairs.append((logits, whole[:, -NEW:]))
    return bench.verdict("generate, alone and padded in a batch, and one pass over its words", *pairs)


def bfloat16(bench: Bench) -> Check:
    own = bench.decoder
    if not own.relative:
        raise NotJudgedError("positions may be absolute")
    if not (own.narrow or own.wide):
        raise NotJudgedError("no copy in another number format can be made")
    narrow = _copy(bench, own.narrow()) if own.narrow else bench
    wide = bench if own.narrow or own.wide is None else _copy(bench, own.wide())
    limit = own.scaled or own.trained or 1016
    gap = max(bench.length, min(1000, limit - 16))

    def rounding(gap: int) -> float:
        positions = _with_gap(bench, gap)
        both = [[copy.logits(row[None], positions) for copy in (narrow, wide)] for row in bench.text]
        return float(np.median([bench.distances(*pair)[0, bench.piece :] for pair in both]))

    near, off = rounding(0), rounding(gap)
    bound = NOISE_FACTOR * max(near, BFLOAT16_EPS)
    words = f"bfloat16 differs from float32 by {near:.2g}, and by {off:.2g} across a gap of {gap}."
    differs = off > bound
    return Check("", DIFFERS if differs else SAME, words, off=off, bound=bound, token=None)


def _copy(bench: Bench, decoder: Any) -> Bench:
    return Bench(decoder, bench.length, bench.piece, text=bench.given, seed=bench.seed)


@dataclass(frozen=True)
class Way:
    """One way of calling a decoder, with the keywords that it requires and the texts on which it is compared."""

    compare: Callable[[Bench], Check]
    needs: tuple[str, ...] = ()
    central: bool = False
    far: bool = False  # if True, also run on a text past every window and switch
    edge: bool = False  # if True, also run on a text that ends exactly at a switch
    by_slot: int | None = None  # tokens added to the text; None if pooling cannot cause a difference

    def on(self, bench: Bench) -> Check:
        """Run the comparison on one text."""
        check = self.compare(bench)
        return check if self.by_slot is None else self._of_pools(bench, check, self.by_slot)

    def _of_pools(self, bench: Bench, check: Check, added: int) -> Check:
        """Return the check, but accept a difference if tokens are pooled by slot but seen by position.

        A text that ends before the first pool must not differ.
        """
        pools = bench.decoder.pools
        if check.outcome != DIFFERS or not 1 < pools <= bench.length + added:
            return check
        pooled = (
            f"{check.words}: {check.off:.3g} apart; {pools} tokens are pooled by slot and shown by position"
        )
        room = pools - 1 - added
        if room < LEAST:
            raise NotJudgedError(f"{pooled}, and a text before the first pool is too short to compare")
        before = self.compare(bench.shorter(room))
        if before.outcome == DIFFERS:
            return before
        told = f"the {room} tokens before the first pool are the same, and the rest was not judged"
        return _changed(check, DOCUMENTED, f"{pooled}; {told}.")


WAYS: dict[str, Way] = {
    "same call twice": Way(same_call_twice),
    "step by step": Way(step_by_step, ("cache",), central=True, far=True, edge=True),
    "right padding": Way(right_padding, ("mask",), central=True, far=True),
    "left padding": Way(left_padding, ("mask", "positions"), central=True, far=True, by_slot=0),
    "left padding, without positions": Way(left_padding_alone, ("mask",), central=True, far=True, by_slot=0),
    "moved": Way(moved, ("positions",), central=True, far=True, by_slot=0),
    "step by step, with positions": Way(step_by_step_with_positions, ("cache", "positions")),
    "rows": Way(rows),
    "rows at length 1": Way(rows_at_length_1, ("cache",)),
    EFFECT: Way(effect, ("positions",)),
    "gaps": Way(gaps, ("positions", "mask"), by_slot=0),
    "packed": Way(packed, ("positions",)),
    "cropped cache": Way(cropped, ("cache",)),
    "shifted cache": Way(shifted, ("cache", "positions"), by_slot=0),
    "evicted cache": Way(evicted, ("cache",), by_slot=0),
    "across the trained length": Way(across, ("cache", "positions")),
    "M-RoPE ids": Way(coordinates, by_slot=0),
    "generate": Way(generated, by_slot=NEW),
    "bfloat16": Way(bfloat16, ("positions",)),
}
