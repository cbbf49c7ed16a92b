r"""Find a model's reach: the token from which its loss stays above its level."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rope_doctor.probes.causal_model import as_decoder
from rope_doctor.verdict import DIFFERS, HOLDS, NOT_RUN, Judged, Verdict

START = 256  # tokens over which the loss still falls because there is little context
LEAST = 512  # minimum number of losses after the first `START`
RISE = 0.5  # a rise by this many nats counts as leaving the level; perplexity is then 1.65 times as high
DRAWS = 200  # number of resampled texts for estimating the uncertainty
BLOCK = 64  # minimum number of tokens in the level part
DRAWN = 256  # tokens per resampled block, because losses of neighbouring tokens are correlated
SMOOTH = 256  # tokens over which the loss is averaged after it has left its level
CERTAIN = 0.9  # share of resampled texts between `low` and `high`
# a departure counts if fewer than this share of texts resampled without one appear to depart as far
UNLIKELY = 0.01
CHUNK = 512  # tokens read at once
WORST = 20.0  # loss in nats that replaces infinity or NaN: a probability of 1 in 5e8


@dataclass(frozen=True)
class Reach:
    """The token at which a model's loss leaves its level, and the claimed context; `print` shows both.

    Attributes:
        tokens: number of losses.
        level: mean loss in nats after the first 256 tokens and before the departure.
        token: token from which the loss stays above the level, counted from 0; None if it stays level to the end.
        low, high: the 90 % interval of `token`, from resampled texts; None without a departure.
        after: mean loss from that token on; None without a departure.
        claim: the claimed context, in tokens, or None if unknown.
        verdict: the checks "level" and "claim", both central.
    """

    tokens: int
    level: float
    token: int | None
    low: int | None
    high: int | None
    after: float | None
    claim: int | None
    verdict: Verdict

    def judged(self, verdict: Verdict) -> "Reach":
        """Return a copy with a different verdict."""
        return replace(self, verdict=verdict)

    def __str__(self) -> str:
        claimed = "" if self.claim is None else f" It claims {self.claim:,} tokens."
        level = f"perplexity {np.exp(self.level):.3g}"
        if self.token is None:
            first = f"The loss keeps its level ({level}) up to token {self.tokens:,}, the end of the text."
        else:
            where = f"token {self.token:,} (90 %: {self.low:,} to {self.high:,})"
            first = (
                f"The loss leaves its level at {where}: {level} before, {np.exp(self.after or 0):.3g} after."
            )
        return f"{first}{claimed}\n{self.verdict}"


def reach_of(losses: Any, claim: int | None = None, *, seed: int = 0) -> Reach:
    r"""Find the token at which losses leave their level.

    The level μ is the mean loss before the change, without the first 256 tokens. The change is at the token τ that
    minimises the sum of ℓ − μ − 0.5 nats over the tokens before it. Every stretch that ends at τ therefore has a
    mean below μ + 0.5, and every stretch that begins there has a mean above μ + 0.5. The change counts if fewer
    than 1 % of texts resampled from the part before it depart as far by chance. The interval is computed from texts
    whose deviations are resampled in blocks of 256 tokens. It accounts for noise in the losses, but not for a more
    difficult passage.

    Args:
        losses: each token's loss in nats, `(tokens,)`, from one pass over a text.
        claim: the context claimed for the model, in tokens.
        seed: seed for the resampled texts.

    Raises:
        ValueError: if there are fewer than 768 losses, or if `losses` is not a list of numbers.

    >>> draw = np.random.default_rng(0)
    >>> losses = draw.exponential(2, size=3000) + 3 * (np.arange(3000) >= 2000)
    >>> found = reach_of(losses, claim=2500)
    >>> abs(found.token - 2000) < 50, found.verdict.status
    (True, 1)

    Source: Page 1954, doi 10.1093/biomet/41.1-2.100 (the sum); Künsch 1989, doi 10.1214/aos/1176347265 (blocks).
    Chapter 14.
    """
    values = _losses(losses)
    draw = np.random.default_rng(seed)
    token, level = _change(values)
    if token is not None and not _departs(values, token, level, draw):
        token, level = None, float(values[START:].mean())
    low = high = after = None
    if token is not None:
        low, high = _interval(values, token, level, draw)
        after = float(values[token:].mean())
    verdict = Verdict((Judged("level", HOLDS, central=True), _claim(len(values), token, low, high, claim)))
    return Reach(len(values), level, token, low, high, after, claim, verdict)


def token_losses(model: Any, tokens: np.ndarray, *, chunk: int = CHUNK) -> np.ndarray:
    r"""Return each token's loss in nats, `(tokens − 1,)`, for a text read in one context.

    Args:
        model: a `Decoder`, a causal transformers model, or a function, as in `check_decoder`.
        tokens: token ids, `(tokens,)`.
        chunk: number of tokens read at a time; a decoder without a cache reads the whole text at once.

    >>> copy = lambda tokens: 9 * np.eye(40)[tokens]  # predicts a repetition of every token
    >>> token_losses(copy, np.array([3, 3, 1])).round(2)
    array([0., 9.])
    """
    decoder = as_decoder(model)
    size = chunk if "cache" in decoder.takes else len(tokens)
    cache, parts = None, []
    for start in range(0, len(tokens) - 1, size):
        stop = min(start + size, len(tokens) - 1)
        logits, cache = decoder(tokens[None, start:stop], cache=cache)
        parts.append(_cross_entropy(logits[0], tokens[start + 1 : stop + 1]))
    return np.concatenate(parts)


def _cross_entropy(logits: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the negative log probability of each target."""
    largest = logits.max(axis=-1, keepdims=True)
    sums = np.log(np.exp(logits - largest).sum(axis=-1)) + largest[:, 0]
    return np.asarray(sums - logits[np.arange(len(targets)), targets])


def _losses(losses: Any) -> np.ndarray:
    try:
        values = np.asarray(losses, np.float64)
    except (TypeError, ValueError):
        values = np.zeros((0, 0))
    if values.ndim != 1:
        raise ValueError("losses must be a list of numbers, one per token")
    if len(values) < START + LEAST:
        raise ValueError(f"losses must be at least {START + LEAST} for a level, got {len(values)}")
    return np.where(np.isfinite(values), values, WORST)


def _change(values: np.ndarray) -> tuple[int | None, float]:
    """Return the token at which losses leave their level, or None, and the level."""
    token = _split(values)
    for _ in range(8):  # the level and the change depend on each other
        level = float(values[START:token].mean())
        found = _onset(values, level)
        if found == token:
            break
        token = found
    return (token if token < len(values) else None), level


def _split(values: np.ndarray) -> int:
    """Return the token at which a split gives the largest difference of means, in standard errors."""
    rest = values[START:]
    count = np.arange(1, len(rest))
    before = np.cumsum(rest)[:-1]
    gap = (rest.sum() - before) / (len(rest) - count) - before / count
    gap *= np.sqrt(count * (len(rest) - count))
    inner = slice(BLOCK, len(rest) - BLOCK)
    return START + BLOCK + 1 + int(gap[inner].argmax())


def _onset(values: np.ndarray, level: float) -> int:
    """Return the token before which the summed excess is smallest, or the number of losses if that is the end."""
    sums = np.cumsum(values[START:] - level - RISE)
    least = int(sums[BLOCK - 1 :].argmin()) + BLOCK  # the level part has at least `BLOCK` tokens
    return START + least


def _excess(values: np.ndarray, token: int, level: float) -> float:
    return float((values[token:] - level - RISE).sum())


def _departs(values: np.ndarray, token: int, level: float, draw: np.random.Generator) -> bool:
    """Return whether a departure is significant: texts without one rarely appear to depart as far."""
    calm, found = values[START:token], _excess(values, token, level)
    by_chance = 0
    for _ in range(DRAWS):
        drawn = np.concatenate((values[:START], _blocks(calm, len(values) - START, draw)))
        by_chance += _excess(drawn, _onset(drawn, level), level) >= found
    return by_chance < UNLIKELY * DRAWS


def _interval(values: np.ndarray, token: int, level: float, draw: np.random.Generator) -> tuple[int, int]:
    """Return the 90 % interval of the change, from texts resampled around the fitted losses."""
    kernel = np.ones(min(SMOOTH, len(values) - token))
    later = values[token:]
    course = np.convolve(later, kernel, "same") / np.convolve(np.ones(len(later)), kernel, "same")
    found = []
    for _ in range(DRAWS):
        before = level + _blocks(values[START:token] - level, token - START, draw)
        after = course + _blocks(later - course, len(later), draw)
        drawn, _ = _change(np.concatenate((values[:START], before, after)))
        found.append(len(values) if drawn is None else drawn)
    off = np.quantile(np.abs(np.array(found) - token), CERTAIN)
    return max(START, int(token - off)), min(len(values), int(token + off))


def _blocks(values: np.ndarray, length: int, draw: np.random.Generator) -> np.ndarray:
    """Return `length` values, concatenated from randomly chosen blocks of consecutive ones."""
    size = min(DRAWN, len(values))
    starts = draw.integers(0, len(values) - size + 1, size=-(-length // size))
    return values[(starts[:, None] + np.arange(size)).ravel()[:length]]


def _claim(tokens: int, token: int | None, low: int | None, high: int | None, claim: int | None) -> Judged:
    """Return the outcome of the check on the claimed context."""

    def judged(outcome: Any, reason: str = "") -> Judged:
        return Judged("claim", outcome, reason, central=True)

    if claim is None:
        return judged(NOT_RUN, "no claimed context is known; `--context` states it")
    if token is None or low is None or high is None:
        short = f"the text ends at token {tokens:,} of the {claim:,} claimed"
        return judged(HOLDS) if tokens >= claim - 1 else judged(NOT_RUN, short)
    if low >= claim - 1:
        return judged(HOLDS)
    if high < claim:
        return judged(DIFFERS)
    return judged(NOT_RUN, f"{claim:,} lies between {low:,} and {high:,}")
