r"""Check that a decoder gives the same logits however it is called.

The decoder runs in a single pass and step by step; on padded, batched, shifted and packed texts; and before and
after a long text.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from rope_doctor.probes.bench import (
    DIFFERS,
    DOCUMENTED,
    NOT_JUDGED,
    PADS,
    SAME,
    Bench,
    Check,
    NotJudgedError,
)
from rope_doctor.probes.causal_model import as_decoder
from rope_doctor.probes.causes import SHORT, causes_of, explained
from rope_doctor.probes.decoder import Decoder
from rope_doctor.probes.report import Report, run_chosen, verdict_of
from rope_doctor.probes.ways import EFFECT, LONGROPE, WAYS, Way, chunks
from rope_doctor.verdict import HOLDS, Judged, choose

CHUNK = 512  # tokens per chunk when a server reads a long prompt
STEPS = 7  # number of tokens at the end of a long text that are read one at a time
PAST = 16  # number of tokens by which a long text extends past a window or a switch
LONGEST = 8_448  # maximum length of a text in tokens, unless `length` is larger


@dataclass(frozen=True)
class DecoderReport(Report):
    """The checks of a decoder, their verdict, and the causes of differences; `print` shows them as text."""

    def _headline(self) -> str:
        central = [check for check in self.checks if check.central]
        missing = [check.name for check in central if check.outcome == NOT_JUDGED]
        longest = max((length for check in self.checks for length in check.lengths), default=0)
        if self.right is False:
            return "The decoder's logits depend on how it is called."
        if self.right:
            return (
                f"All {len(central)} central checks hold: the logits are the same up to {longest:,} tokens."
            )
        absent = f"{len(missing)} of {len(central)} central checks did not run ({', '.join(missing)})"
        return f"Could not tell whether the decoder is right: {absent}."


def check_decoder(
    decoder: Any,
    *,
    length: int | None = None,
    chunk: int = CHUNK,
    window: int | None = None,
    text: np.ndarray | None = None,
    only: Collection[str] = (),
    skip: Collection[str] = (),
    require: Collection[str] = (),
    **facts: Any,
) -> DecoderReport:
    r"""Call a decoder in different ways that must give the same logits, and report where they differ.

    Every check compares the decoder with itself, so no reference is needed; `diagnose` and `check_model` find
    mistakes that affect all calls alike. All comparisons run on a text of 12 tokens, and the central ones also on a
    long text, past every window and switch. In float32, a difference counts if it exceeds 2¹² roundings in the same
    direction, plus 2⁴ per token. In a narrower dtype, it must exceed eight times the measured noise in at least
    half of the tokens. Because this noise hides some mistakes, a float32 copy is checked too, against the float32
    bound.

    Args:
        decoder: a `Decoder`, a causal transformers model, or a function `(tokens, *, positions, mask, cache) ->
            (logits, cache)` with some or all of the keywords.
        length: number of tokens in the long text. By default, it is two chunks and 16 tokens, or 16 tokens past the
            last window or switch, but at most 8,448.
        chunk: number of tokens per chunk when the long text is read in chunks.
        window: width, in tokens, of a window that the decoder does not declare.
        text: token ids, `(tokens,)`, repeated up to the length; random by default.
        only, skip, require: names of checks: the only ones to run, those to skip, and those to count as central.
        facts: `Decoder` attributes, if `decoder` is a function.

    Raises:
        ValueError: if the decoder cannot be called or an argument is invalid; the message gives the reason.

    >>> from rope_doctor.probes.specimen import Specimen
    >>> class Restarting(Specimen):
    ...     def count(self, tokens, positions, seen):
    ...         return super().count(tokens, positions, 0)
    >>> check_decoder(Specimen(), length=64).right
    True
    >>> report = check_decoder(Restarting(), length=64)
    >>> report.of("step by step").token, report.causes[0].name
    (1, 'count ignores the cache')

    Chapter 24.
    """
    made = as_decoder(decoder, **facts)
    if window is not None:
        made = replace(made, windows=tuple(sorted({*made.windows, _whole("window", window, 1)})))
    copies = [] if made.wide is None else [replace(made.wide(), windows=made.windows)]
    chunk, tokens = _whole("chunk", chunk, 2), _tokens(text, made.vocabulary)
    examined = [_Examination(each, length, chunk, tokens) for each in (made, *copies)]
    noisy = {EFFECT} if examined[0].near.low_precision and not copies else set()
    names = [Judged(name, HOLDS, central=name in CENTRAL or name in noisy) for name in CHECKS]
    chosen = choose(names, only=only, skip=skip, require=require)
    examined[0].prepare()
    checks = run_chosen(chosen, lambda name: _of_both(*(each.check(name) for each in examined)))
    tolerance = " In that copy, ".join(each.tolerance for each in examined)
    causes = causes_of(checks, state=made.recurrent)
    return DecoderReport(checks, verdict_of(checks), causes, f"D{tolerance[1:]}")


def _of_both(found: Check, copy: Check | None = None) -> Check:
    """Return the decoder's check, or its float32 copy's if only the copy differs or could be judged."""
    if copy is None or found.outcome == DIFFERS or copy.outcome == NOT_JUDGED:
        return found
    if found.outcome == NOT_JUDGED or copy.outcome == DIFFERS:
        return replace(copy, words=f"in a float32 copy, {copy.words[0].lower()}{copy.words[1:]}")
    return found


def _whole(name: str, number: Any, least: int) -> int:
    if type(number) is not int or number < least:
        raise ValueError(f"{name} must be a whole number from {least} on, got {number!r}")
    return number


def _tokens(text: Any, vocabulary: int) -> np.ndarray | None:
    if text is None:
        return None
    tokens = np.asarray(text)
    if tokens.ndim != 1 or len(tokens) < 2 or tokens.dtype.kind not in "iu":
        raise ValueError(f"a text must be two token ids or more, got {tokens.dtype} {tokens.shape}")
    if tokens.min() < 0 or tokens.max() >= vocabulary:
        raise ValueError(
            f"token ids must be from 0 to {vocabulary - 1}, got {tokens.min()} to {tokens.max()}"
        )
    return tokens


class _Examination:
    """A decoder, the lengths of the texts on which to check it, and its benches."""

    def __init__(self, decoder: Decoder, length: int | None, chunk: int, text: np.ndarray | None) -> None:
        self.decoder, self.chunk, self.text = decoder, chunk, text
        trained = decoder.trained if decoder.rule else None
        self.switch = trained if trained and trained >= 8 else None
        least = 2 * chunk + PAST if chunk != CHUNK or length is None else 0
        limit = LONGEST if length is None else _whole("length", length, 2 * SHORT)
        marks = [mark + PAST for mark in (*decoder.windows, *([self.switch] if self.switch else []))]
        wanted = max([least, *marks]) if length is None else limit
        reached = [mark for mark in [least, *marks] if mark <= limit]
        self.far_length = wanted if wanted <= limit else max([2 * chunk + PAST, *reached])
        if decoder.longest:  # stays inside the position table
            self.far_length = min(self.far_length, max(2 * SHORT, decoder.longest - 2 * PAST))
        near = min(SHORT, self.switch or SHORT)
        self.near = Bench(decoder, near, min(PADS, near - 5), text=text)
        self.far = Bench(decoder, self.far_length, self.far_length - STEPS, text=text)

    @cached_property
    def edge(self) -> Bench | None:
        """A text that ends exactly at the switch and so still counts as short, or None if there is no switch."""
        if self.switch is None or not self.near.length < self.switch < self.far_length:
            return None
        return Bench(self.decoder, self.switch, self.switch - 3, text=self.text)

    def prepare(self) -> None:
        """Run the short text; ValueError if the decoder fails on it."""
        try:
            self.near.whole  # noqa: B018  # computed here and cached
        except Exception as error:
            failed = f"the decoder fails on {self.near.length} tokens"
            raise ValueError(f"{failed}: {type(error).__name__}: {error}") from error

    @property
    def tolerance(self) -> str:
        """The largest difference attributed to rounding, and the reason."""
        bound = self.near.bound
        if not self.near.low_precision:
            roundings = "4,096 roundings, and 16 more per token"
            return f"differences count above {bound:.1e} of the logits' spread: {roundings}."
        twice, order, wide = self.near.noise
        copy = "no float32 copy could be made" if wide is None else f"a float32 copy {wide:.2g}"
        return (
            f"differences count above {bound:.2g} of the logits' spread, eight times the noise: "
            f"the same call twice {twice:.2g}, rows in another order {order:.2g}, {copy}."
        )

    def check(self, name: str) -> Check:
        """Run a check; if it raises an exception, it counts as not judged."""
        try:
            check = CHECKS[name](self)
        except NotJudgedError as reason:
            return Check(name, NOT_JUDGED, str(reason))
        except Exception as error:  # a decoder may raise any exception
            first_line = str(error).partition("\n")[0][:120]
            return Check(name, NOT_JUDGED, f"the decoder fails: {type(error).__name__}: {first_line}")
        return explained(replace(check, name=name, words=_sentence(check)))

    def way(self, way: Way) -> Check:
        """Check one way of calling the decoder, on the short text and, if required, on longer ones."""
        self.near.needs(*way.needs)
        found = [way.on(self.near)]
        if way.edge and self.edge is not None:
            found.append(replace(self.twice(way.on, self.edge), edge=True))
        if way.far and not (self.decoder.rule == "dynamic" and not way.edge):
            found.append(self.twice(way.on, self.far))
        return _combined(found)

    def twice(self, compare: Callable[[Bench], Check], bench: Bench) -> Check:
        """Compare on a long text; retry a difference on a new one, since rounding may reroute a token by chance."""
        check = compare(bench)
        if check.outcome != DIFFERS:
            return check
        again = compare(bench.another())
        return again if again.outcome != DIFFERS else check

    def chunks(self) -> Check:
        self.near.needs("cache")
        near = chunks(self.near, PADS)
        return _combined([near, self.twice(partial(chunks, chunk=self.chunk), self.far)])

    def state(self) -> Check:
        """Run texts of increasing length, then the same texts in reverse order, and compare their logits."""
        lengths = [self.near.length, self.far_length]
        if self.switch:
            middle = (self.switch + self.far_length) // 2
            lengths += [length for length in (self.switch, middle) if lengths[0] < length < lengths[1]]
        benches = [self.near, *(self.far.shorter(length) for length in sorted(lengths)[1:])]
        before = [bench.logits(bench.text[:1]) for bench in benches]
        after = [
            bench.verdict("a text before and after a longer one", (bench.logits(bench.text[:1]), first))
            for bench, first in reversed(list(zip(benches, before, strict=True)))
        ]
        return _combined(after[::-1])

    def reach(self) -> Check:
        """Check that the longest text reaches past the windows and the switch that the decoder declares."""
        marks = [f"window of {width:,}" for width in self.decoder.windows if width + PADS > self.far_length]
        if self.switch and self.switch + PADS > self.far_length:
            marks.append(f"switch at {self.switch:,}")
        if marks:
            need = max(*self.decoder.windows, self.switch or 0, 0) + PAST
            raise NotJudgedError(
                f"the {' and the '.join(marks)} tokens lies beyond the {self.far_length:,} compared; "
                f"`--length {need}` passes it"
            )
        if self.edge is not None and self.decoder.rule == LONGROPE:
            beyond = self.far.logits(self.far.text[:1])[:, : self.switch]
            within = self.far.logits(self.far.text[:1, : self.switch])
            if float(self.far.distances(beyond, within).max()) <= self.far.bound:
                raise NotJudgedError(
                    f"the config switches factors at {self.switch:,} tokens, and nothing changes there: "
                    "`rope-doctor model` compares the lists"
                )
        stated = [f"the window of {width:,}" for width in self.decoder.windows]
        stated += [f"the switch at {self.switch:,}"] if self.switch else []
        words = (
            f"{self.far_length:,} tokens pass {' and '.join(stated)}"
            if stated
            else "no window or switch is stated"
        )
        return Check("", SAME, f"{words[0].upper()}{words[1:]}.", lengths=(self.far_length,))


def _combined(found: list[Check]) -> Check:
    """Return the first check that differs, or a single check that covers all texts if none does."""
    wrong = next((check for check in found if check.outcome == DIFFERS), None)
    if wrong is not None:
        return wrong
    largest = max(found, key=lambda check: check.off or 0.0)
    documented = next((check for check in found if check.outcome == DOCUMENTED), None)
    lengths = tuple(dict.fromkeys(length for check in found for length in check.lengths))
    return replace(documented or largest, lengths=lengths)


def _sentence(check: Check) -> str:
    """Return a check's description as a sentence, adding numbers unless it is already a sentence."""
    if check.words.endswith("."):
        return check.words
    if check.outcome == DIFFERS:
        (length,) = check.lengths
        figures = f"{check.off:.3g} apart, expected at most {check.bound:.1e}"
        return f"{check.words}: {figures}, first at token {check.token} of {length:,}."
    lengths = " and ".join(f"{length:,}" for length in check.lengths)
    return f"{check.words}: {check.off:.1e} apart at most, in {lengths} tokens."


CHECKS: dict[str, Callable[[_Examination], Check]] = {
    "same call twice": partial(_Examination.way, way=WAYS["same call twice"]),
    "state": _Examination.state,  # first, because other long texts could have side effects
    "chunks": _Examination.chunks,
    **{name: partial(_Examination.way, way=way) for name, way in WAYS.items() if name != "same call twice"},
    "reach": _Examination.reach,
}
CENTRAL = (*(name for name, way in WAYS.items() if way.central), "chunks", "state", "reach")
