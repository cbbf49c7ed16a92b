r"""Check that a server's log probabilities for a text do not depend on the request."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from rope_doctor.probes.bench import DIFFERS, NOT_JUDGED, SAME, Check, NotJudgedError
from rope_doctor.probes.causes import causes_of, explained, read_table
from rope_doctor.probes.endpoint import Endpoint, Place, UnansweredError
from rope_doctor.probes.places import RUN, apart, distances, losses, moved, tail_length, worst
from rope_doctor.probes.prose import TOKENS, Prose
from rope_doctor.probes.reaching import LEAST, START, reach_of
from rope_doctor.probes.report import Report, run_chosen, verdict_of
from rope_doctor.verdict import HOLDS, NOT_RUN, Judged, choose

LENGTH = 4_096  # tokens in the long text; at a tenth of its base, SmolLM2's loss climbs from token 2,328
SENTENCES = 12  # sentences in a short text, about 130 tokens
NEW, ANSWER = 8, 16  # number of tokens generated after a prompt, and for an answer that is read back
LEAST_BOUND = 0.04  # probability; for SmolLM2 in llama.cpp, reading one token at a time moves 0.018
MOST_ROUNDING = 0.025  # cap on the rounding in the bound; more is a fault (SmolLM2 in llama.cpp has 0.018)
NOISE_FACTOR = 4  # differences count above this multiple of the noise
UNLIKE = 0.75  # largest distance at the best alignment, relative to that at the next best
UNSTEADY = 0.05  # more noise would hide most differences; SmolLM2 in bfloat16 has 0.024
ROOM, NEARLY = 12, 0.95  # tokens left free in a context; share of a context that counts as all of it
FALL = 1.0  # nats by which the loss on a repetitive text must fall; SmolLM2's falls by 3
EARLY = slice(16, 80)  # tokens for which the phrases are still new
LEVEL = 0.03  # change in mean loss, in nats, that different kernels and rounding may cause
SPREAD = 0.1  # mean absolute change per token; 0.05 for SmolLM2 in llama.cpp, 0.2 with five times its base
ALIGNMENT = {  # number of tokens by which an echo's distributions are late -> meaning
    0: "each token has the distribution from which it is predicted",
    -1: "each token has the distribution that follows it, so every number is that of another place",
    1: "each token has the distribution before the previous token",
}
PATTERNS, MEANINGS = read_table("served.toml")


class Reading(NamedTuple):
    """A server's answer to a text: the generated tokens and, if available, the tokens of the text itself."""

    new: tuple[Place, ...]
    prompt: tuple[Place, ...] = ()


@dataclass(frozen=True)
class ServerReport(Report):
    """The checks of a server, their verdict, the causes of differences, and the cost; `print` shows them."""

    requests: int
    tokens: int  # estimated number of tokens read by the server
    seconds: float

    def _headline(self) -> str:
        return {
            True: "The server's log probabilities are the same in every way that was asked.",
            False: "The server's log probabilities are not as they should be.",
            None: "Could not tell whether the server is right.",
        }[self.right]

    def _cost(self) -> tuple[str, ...]:
        return (f"{self.requests} requests, about {self.tokens:,} tokens, {self.seconds:.0f} seconds.",)


def ask_server(
    endpoint: Endpoint,
    *,
    length: int = LENGTH,
    context: int | None = None,
    text: str | None = None,
    expected: Any = None,
    seed: int | None = None,
    only: Collection[str] = (),
    skip: Collection[str] = (),
    require: Collection[str] = (),
) -> ServerReport:
    r"""Send the same texts to a server in different requests and report where its log probabilities differ.

    All texts are generated for this run, so the first answer to each is cold. The distance between two answers is
    the probability that moves between listed tokens, averaged over four neighbouring tokens. It counts as a
    difference if it exceeds both 0.04 and four times the noise. The noise is measured on cold answers, so that a
    cache fault does not widen its own bound. It is the larger of two distances: between two answers to the same
    text, with a different text in between to evict it from the cache; and between a token at the end of a text and
    the same token inside a longer text, because rounding depends on the number of tokens read at once. The second
    distance counts as at most 0.025, because in a cache with room for both texts it involves a cache hit. A prefix
    cache that is off by one moves 0.01 to 0.03 of SmolLM2's probability, so it may remain undetected. Most checks
    are repeated with new texts if they differ, because mistakes recur and accidents do not. The checks of the
    prefix cache and of batches are also repeated if they pass, because one text in ten hides a small difference.

    Args:
        endpoint: the server.
        length: approximate number of tokens in the long text.
        context: the context in the model's config, in tokens.
        text, expected: a text, and its tokens' losses in a correct run, in nats, without the first token's.
        seed: seed for the texts; by default, a new one for each run.
        only, skip, require: names of checks: the only ones to run, those to skip, and those to count as central.

    Raises:
        ValueError: if the server does not answer or returns no log probabilities, or if a check is unknown.

    >>> from rope_doctor.probes.rehearsal import Rehearsal
    >>> report = ask_server(Endpoint(Rehearsal().post, "mine", seconds=60), only=["batch"])
    >>> report.requests, report.of("batch").outcome
    (24, 'same')

    Chapter 11.
    """
    names = [Judged(name, HOLDS, central=name in CENTRAL) for name in CHECKS]
    chosen = choose(names, only=only, skip=skip, require=require)
    interview = Interview(endpoint, Prose(fresh_seed() if seed is None else seed), length, context)
    interview.text, interview.expected = text, expected
    try:
        interview.prepare()
    except UnansweredError as error:
        raise ValueError(f"the server cannot be asked: {error}") from None
    checks = run_chosen(chosen, interview.check)
    return ServerReport(
        checks,
        verdict_of(checks),
        causes_of(checks, PATTERNS, MEANINGS),
        interview.tolerance,
        endpoint.requests,
        endpoint.tokens,
        endpoint.spent,
    )


def fresh_seed() -> int:
    """Return a new random seed, so that the texts differ from those of earlier runs."""
    return int(np.random.SeedSequence().generate_state(1)[0])


class Interview:
    """A server, the texts sent to it, and the findings from its first answers."""

    def __init__(self, endpoint: Endpoint, prose: Prose, length: int, context: int | None) -> None:
        self.endpoint, self.prose, self.length, self.stated = endpoint, prose, length, context
        self.text: str | None = None
        self.expected: Any = None
        self.no_echo = ""  # why log probabilities of the prompt are unavailable
        self.noise = self.rounding = 0.0
        self.late, self.consistent = 0, True
        self.aligned: Check | NotJudgedError = NotJudgedError("nothing was asked yet")
        self.first_text, self.first = "", Reading(())
        self.long: tuple[Place, ...] = ()
        self.claimed: int | None = None
        self.per_sentence: float = TOKENS

    @property
    def bound(self) -> float:
        """The largest distance that noise can cause."""
        return max(LEAST_BOUND, NOISE_FACTOR * max(self.noise, min(self.rounding, MOST_ROUNDING)))

    @property
    def tolerance(self) -> str:
        """The largest distance attributed to noise, and the reason."""
        return (
            f"Differences count if more than {self.bound:.2g} of the probability moves: {NOISE_FACTOR} times the "
            f"noise, and at least {LEAST_BOUND}. The noise is that of cold answers, so a fault of the cache does "
            f"not widen the bound: {self._noises}, of which at most {MOST_ROUNDING} count."
        )

    @property
    def _noises(self) -> str:
        return (
            f"{self.noise:.2g} of the probability moves between two answers to one text, and {self.rounding:.2g} "
            "between a token at the end of a text and inside a longer one"
        )

    def prepare(self) -> None:
        """Find out which requests the server supports, how noisy it is, and how its distributions are aligned."""
        self.claimed = self.endpoint.context()
        text = self.prose.text(1)
        if not any(_known(place) for place in self.endpoint.write(text, 1).new):
            raise UnansweredError("it gives no log probabilities of new tokens, so nothing can be compared")
        self._try_echoes(text)
        try:
            self.aligned = self._align()
        except NotJudgedError as reason:
            self.aligned = reason
        self.first_text = self.prose.text(SENTENCES)
        self.first = self.ask(self.first_text)
        self.per_sentence = len(self.first.prompt) / SENTENCES or TOKENS
        self.noise = self._noise_of_copies()

    def _noise_of_copies(self) -> float:
        """Return the distance between cold answers to the first text.

        The second answer follows a different text. In a cache with room for both texts, the second and third
        answers are hits with the same faults, so the smaller distance is due to noise alone.
        """
        self.forget()
        answers = [self.first, self.ask(self.first_text), self.ask(self.first_text)]
        return min(
            self._off([(one.new, two.new), (one.prompt, two.prompt)])[0] for one, two in pairwise(answers)
        )

    def _try_echoes(self, text: str) -> None:
        said = "none came"
        for field in ("echo", "prompt_logprobs"):
            self.endpoint.echoes = field
            try:
                if any(map(_known, self.endpoint.read(text).prompt)):
                    return
            except UnansweredError as error:
                said = str(error)
        self.no_echo = f"the server gives no log probabilities of the prompt ({said})"

    def ask(self, text: str) -> Reading:
        """Query a text in one request and return the answer, which is cold if the text is new."""
        if self.no_echo:
            return Reading(self.endpoint.write(text, NEW).new)
        answer = self.endpoint.read(text, NEW)
        places, count = self.straight(answer.prompt + answer.new), len(answer.prompt)
        return Reading(places[count:], places[:count])

    def read(self, text: str) -> tuple[Place, ...]:
        """Return the tokens of a prompt, each with the distribution that predicts it."""
        return self.straight(self.endpoint.read(text).prompt)

    def straight(self, places: tuple[Place, ...]) -> tuple[Place, ...]:
        """Return the tokens with late or early distributions moved to where they belong."""
        return places if self.late == 0 and self.consistent else moved(places, self.late)

    def forget(self) -> None:
        """Query a new text, which evicts the last one from a cache with room for only one."""
        self.endpoint.write(self.prose.text(SENTENCES), 1)

    def needs_echo(self) -> None:
        if self.no_echo:
            raise NotJudgedError(self.no_echo)

    def check(self, name: str) -> Check:
        """Run a check; if it cannot run, it counts as not judged."""
        check = CHECKS[name]
        try:
            found = check(self)
            if found.outcome == SAME and name in TWICE:
                found = max(found, check(self), key=lambda each: each.outcome == DIFFERS)
            if found.outcome == DIFFERS and name in REPEATED and not self._again(check):
                raise NotJudgedError(f"it differed once and then held twice: {found.words}")
        except (NotJudgedError, UnansweredError) as reason:
            return Check(name, NOT_JUDGED, str(reason).rstrip("."))
        return explained(replace(found, name=name), MEANINGS)

    def _again(self, check: "Ask") -> bool:
        """Return whether a check differs in either of two further runs."""
        return any(check(self).outcome == DIFFERS for _ in range(2))

    def _off(self, pairs: Sequence[tuple[Sequence[Place], Sequence[Place]]]) -> tuple[float, int | None, int]:
        """Return the largest distance in any pair of answers, the first token that differs, and the token count."""
        values = [distances(*pair) for pair in pairs]
        found = [worst(each, self.bound) for each in values]
        known = [off for off, _ in found if np.isfinite(off)]
        if not known:
            raise NotJudgedError("the two answers have no place in common")
        places = [place for _, place in found if place is not None]
        return max(known), min(places, default=None), sum(int(np.isfinite(each).sum()) for each in values)

    def compared(self, words: str, *pairs: tuple[Sequence[Place], Sequence[Place]]) -> Check:
        """Return a check that the two answers in every pair agree."""
        off, place, count = self._off(pairs)
        figures = f"{off:.2g} of the probability moves, in {count} places"
        if place is None:
            return Check("", SAME, f"{words}: {figures}.", off=off, bound=self.bound)
        first = f"first in the places from {place} on"
        return Check(
            "",
            DIFFERS,
            f"{words}: {figures}, expected at most {self.bound:.2g}, {first}.",
            off=off,
            bound=self.bound,
            token=place,
        )

    def same_twice(self) -> Check:
        words = f"{self._noises}."
        return Check("", SAME if self.noise <= UNSTEADY else DIFFERS, words, off=self.noise, bound=UNSTEADY)

    def alignment(self) -> Check:
        """Return the check run by `prepare`; NotJudgedError if it could not run."""
        if isinstance(self.aligned, NotJudgedError):
            raise self.aligned
        return self.aligned

    def _align(self) -> Check:
        """Compare the token generated after the beginning of each text with the same token in the whole text."""
        self.needs_echo()
        joints = self._joints()
        moves = {late: [_off_at(*joint, late) for joint in joints] for late in ALIGNMENT}
        late, other = sorted(moves, key=lambda each: sum(moves[each]))[:2]
        least, own = (sum(moves[each]) / len(joints) for each in (late, 0))
        if least > NOISE_FACTOR * MOST_ROUNDING or sum(moves[late]) > UNLIKE * sum(moves[other]):
            raise NotJudgedError(
                "no place of the echoed text fits the distribution that the server writes from "
                f"({least:.2g} of the probability moves at best)"
            )
        places = joints[0][1]
        listed = [place for place in places if place.logprob is not None and place.token in place.top]
        wrong = [place for place in listed if abs(place.top[place.token] - (place.logprob or 0)) > 0.01]
        self.late, self.consistent, self.rounding = late, not wrong, max(moves[late])
        if late:
            figures = f"{least:.2g} of the probability moves there, {own:.2g} at its own place"
            return Check("", DIFFERS, f"{ALIGNMENT[late]} ({figures}).", off=own)
        if wrong:
            words = f"{len(wrong)} of {len(listed)} tokens have another number in their own list."
            return Check("", DIFFERS, words)
        return Check("", SAME, f"{ALIGNMENT[0]}: {least:.2g} of the probability moves.", off=least)

    def _joints(self) -> list[tuple[Place, tuple[Place, ...], int]]:
        """Return, for each of four texts, the token after its beginning, all tokens, and the beginning's length.

        All beginnings are queried before the whole texts, so a cache with room for one text has evicted them by
        then.
        """
        texts = [self.prose.text(SENTENCES // 2) for _ in range(RUN)]
        rests = [f" {' '.join(text.split()[24 + 2 * number :])}" for number, text in enumerate(texts)]
        pairs = list(zip(texts, rests, strict=True))
        firsts = [self.endpoint.write(text.removesuffix(rest), 1).new for text, rest in pairs]
        wholes = [self.endpoint.read(text).prompt for text in texts]
        cuts = [len(places) - tail_length(places, rest) for places, rest in zip(wholes, rests, strict=True)]
        joints = [
            (first[0], places, at) for first, places, at in zip(firsts, wholes, cuts, strict=True) if first
        ]
        if len(joints) < RUN or any(at >= len(places) for _, places, at in joints):
            raise NotJudgedError("the tokens of a beginning are not those of the whole text")
        return joints

    def prefix_cache(self) -> Check:
        """Query a text, the same text after one with the same beginning, and growing parts of it, and compare."""
        base, tail, other = (self.prose.text(SENTENCES - 4), self.prose.sentences(2), self.prose.sentences(1))
        whole = f"{base} {tail}"
        cold = self.ask(whole)
        self.forget()
        self.endpoint.write(f"{base} {other}", 1)
        hit = self.endpoint.write(whole, NEW)
        if hit.cached == 0:
            raise NotJudgedError("the server reports that no token came from a cache")
        pairs: list[tuple[Sequence[Place], Sequence[Place]]] = [(cold.new, hit.new)]
        if not self.no_echo:
            self.endpoint.write(f"{base} {other}", 1)
            pairs.append((cold.prompt, self.ask(whole).prompt))
        if isinstance(self.aligned, Check):
            pairs.append(self._growing(whole, tail, cold.prompt))
        return self.compared("a new text, and the same after another with its beginning", *pairs)

    def _growing(self, whole: str, tail: str, cold: tuple[Place, ...]) -> tuple[list[Place], list[Place]]:
        """Return the tokens generated after one to four words of the tail, and the same tokens read at once."""
        words, new, same = tail.split(), [], []
        for count in range(1, 1 + RUN):
            rest = " " + " ".join(words[count:])
            at = len(cold) - tail_length(cold, rest)
            written = self.endpoint.write(whole.removesuffix(rest), 1).new
            if at < len(cold) and written:
                new.append(written[0])
                same.append(replace(cold[at], token=written[0].token))
        return new, same

    def batch(self) -> Check:
        texts = [self.prose.text(count) for count in (9, 3, 6)]
        alone = [self.ask(text) for text in texts]
        written = self.endpoint.together(texts, NEW, echo=False)
        pairs: list[tuple[Sequence[Place], Sequence[Place]]] = [
            (one.new, other.new) for one, other in zip(alone, written, strict=True)
        ]
        if not self.no_echo:
            read = self.endpoint.together(texts, 1, echo=True)
            pairs += [
                (one.prompt, self.straight(other.prompt)) for one, other in zip(alone, read, strict=True)
            ]
        way = "in one request" if self.endpoint.lists else "in requests sent at once"
        return self.compared(f"three texts of unequal lengths alone, and {way}", *pairs)

    def own_answer(self) -> Check:
        """Have the server read back one of its answers as part of a prompt."""
        self.alignment()  # raises an error if not judged; if it differs, `read` moves the distributions
        prompt = self.prose.text(SENTENCES - 3)
        written = self.endpoint.write(prompt, ANSWER)
        self.forget()
        places = self.read(prompt + written.text)
        count = tail_length(places, written.text)
        if count < RUN:
            raise NotJudgedError("the server splits its own answer into other tokens when it reads it again")
        return self.compared("its answer as it wrote it, and as it reads it", (written.new, places[-count:]))

    def turns(self) -> Check:
        """Query each of two chats as a whole, then only its first turn, then the whole chat again."""
        pairs = [self._chat_twice() for _ in range(2)]
        return self.compared("a chat asked whole, and after its first turn was asked", *pairs)

    def _chat_twice(self) -> tuple[Sequence[Place], Sequence[Place]]:
        said = (("user", 4), ("assistant", 2), ("user", 2))
        chat = [{"role": role, "content": self.prose.text(count)} for role, count in said]
        whole = self.endpoint.chat(chat, NEW).new
        if not any(map(_known, whole)):
            raise NotJudgedError("the server gives no log probabilities in a chat")
        self.endpoint.chat(chat[:1], 1)
        return whole, self.endpoint.chat(chat, NEW).new

    def after_long(self) -> Check:
        text = self.prose.text(SENTENCES)
        before = self.ask(text)
        long = self.long_text()
        if self.no_echo:
            self.endpoint.write(long, 1)
        else:
            self.long = self.read(long)
        after = self.ask(text)
        return self.compared(
            "a text before and after a long one",
            (before.new, after.new),
            (before.prompt, after.prompt),
        )

    def long_text(self) -> str:
        """Return a text of the desired length, or the longest that fits the claimed context."""
        claim = min((each for each in (self.stated, self.claimed) if each), default=self.length)
        return self.prose.text(max(1, int(min(self.length, claim - ROOM) / self.per_sentence)))

    def long_losses(self) -> np.ndarray:
        """Return the losses on the long text, omitting its first token."""
        self.needs_echo()
        if not self.long:
            self.long = self.read(self.long_text())
        values = losses(self.long)[1:]
        return values[np.isfinite(values)]

    def falls(self) -> Check:
        values = self.long_losses()
        if len(values) < LEAST:
            raise NotJudgedError(f"the long text has {len(values)} tokens, {LEAST} are needed")
        early, late = float(values[EARLY].mean()), float(values[-len(values) // 4 :].mean())
        words = f"the loss of a text of few phrases falls from {early:.2f} to {late:.2f} nats"
        if early - late >= FALL:
            return Check("", SAME, f"{words}.")
        return Check("", DIFFERS, f"{words}, expected at least {FALL:g} less.")

    def context(self) -> Check:
        values = self.long_losses()
        if len(values) < START + LEAST:
            raise NotJudgedError(f"the long text has {len(values)} tokens, {START + LEAST} are needed")
        claim = self.stated or self.claimed
        if claim and len(values) >= NEARLY * claim:
            claim = min(claim, len(values))
        found = reach_of(values, claim)
        judged = found.verdict.checks[-1]
        words = str(found).partition("\n")[0]
        if judged.outcome == NOT_RUN:
            raise NotJudgedError(f"{words} {judged.reason}")
        return Check("", SAME if judged.outcome == HOLDS else DIFFERS, words, token=found.token)

    def level(self) -> Check:
        """Compare the losses on the given text with those of a correct run."""
        if self.text is None or self.expected is None:
            raise NotJudgedError("no `--text` and `--losses` of a run that is right")
        self.needs_echo()
        places, wanted = self.read(self.text)[1:], np.asarray(self.expected, np.float64)
        if len(places) != len(wanted):
            raise NotJudgedError(f"the server reads {len(places)} losses, the file has {len(wanted)}")
        known = np.array([place.logprob is not None for place in places]) & np.isfinite(wanted)
        if known.sum() < RUN:
            raise NotJudgedError("the server gives too few log probabilities of this text")
        gap = losses(places)[known] - wanted[known]
        bound = LEVEL + 3 * float(gap.std()) / np.sqrt(len(gap))
        off, spread = float(gap.mean()), float(np.abs(gap).mean())
        words = (
            f"{off:+.3f} nats from the run that is right on average, expected at most {bound:.3f} either way, and "
            f"{spread:.3f} token by token, expected at most {SPREAD:g}, in {len(gap)} of {len(places)} tokens."
        )
        holds = abs(off) <= bound and spread <= SPREAD
        return Check("", SAME if holds else DIFFERS, words, off=abs(off), bound=bound)

    def claim(self) -> Check:
        if self.stated is None:
            raise NotJudgedError("no `--config` or `--context`")
        if self.claimed is None:
            raise NotJudgedError("the server claims no context")
        words = f"the server claims {self.claimed:,} tokens, the config {self.stated:,}."
        return Check("", SAME if self.claimed <= self.stated else DIFFERS, words)

    def first_again(self) -> Check:
        again = self.ask(self.first_text)
        return self.compared(
            "the first text at the beginning and at the end",
            (self.first.new, again.new),
            (self.first.prompt, again.prompt),
        )


def _off_at(first: Place, places: tuple[Place, ...], at: int, late: int) -> float:
    """Return the distance between a new token's distribution and the one at `at + late`; 1 if there is none."""
    off = apart(first, places[at + late]) if at + late < len(places) else 1.0
    return 1.0 if np.isnan(off) else off


def _known(place: Place) -> bool:
    return place.logprob is not None or bool(place.top)


Ask = Callable[[Interview], Check]
CHECKS: dict[str, Ask] = {  # in the order of execution
    "same request twice": Interview.same_twice,
    "alignment": Interview.alignment,
    "prefix cache": Interview.prefix_cache,
    "batch": Interview.batch,
    "own answer": Interview.own_answer,
    "turns": Interview.turns,
    "level": Interview.level,
    "after a long request": Interview.after_long,
    "falls": Interview.falls,
    "context": Interview.context,
    "claim": Interview.claim,
    "first again": Interview.first_again,
}
CENTRAL = ("same request twice", "prefix cache", "batch", "own answer", "after a long request", "first again")
TWICE = ("prefix cache", "batch")  # in one text in ten, a small fault stays within the bound
REPEATED = ("prefix cache", "batch", "own answer", "turns", "level", "first again")
