"""Chapter 10: the attention of a real model's heads, with all pairs turning or only some."""

from typing import ClassVar

import numpy as np

from rope_book.results.page_heads import PageHead, load_page_heads, read_page_heads
from rope_edu.encodings import RopeSpec

from ._results import result
from ._rules import AtMost, OnlyIf
from ._traits import Choice, Slider
from .base import LiveFigure
from .maths.long_text import page_rope
from .maths.real_head import JOBS, head_weights, job_done, targets

TRAINED, HEAD_DIM, BASE, PAIRS = 8192, 64, 100_000.0, 32  # SmolLM2's sizes
SEQ = 20  # tokens per sentence
RULES = {
    "none": "as trained",
    "pi": "PI",
    "ntk-aware": "NTK-aware",
    "yarn": "YaRN",
    "abf": "another base",
}


def spec_of(now):
    """Return the head's rotation in a state."""
    names = ("factor", "base", "first_pair", "last_pair")
    settings = {name: getattr(now, name) for name in names} | {"ramp_from": 1.0, "ramp_to": 32.0}
    return page_rope(now.rule, TRAINED, HEAD_DIM, BASE, **settings).replace(layout=now.layout)


def weights_of(now):
    """Return the head's attention weights on the text, (20, 20)."""
    head, n = load_page_heads()[now.job], now.sentence - 1
    return head_weights(head.q[n], head.k[n], now.start, spec_of(now))


class RealHead(LiveFigure):
    """Watch eight heads of SmolLM2-135M at work, and break them by changing their rotation.

    ``job`` selects a head by its job (``widgets.maths.real_head.JOBS``), and ``sentence`` selects one of three
    texts of 20 tokens. Pairs count from 1, the fastest; those outside ``first_pair`` to ``last_pair`` do not turn.
    ``rule`` gives this head a different rotation: none (as trained), pi, ntk-aware or yarn with their ``factor``,
    or abf with a different ``base``. ``layout`` determines which features form a pair; the weights expect
    "interleaved". The text begins at position ``start``. ``query`` and ``key`` select two of its tokens, counted
    from 1.

    The queries and keys are those of the unchanged model, in 8 bits, so a change affects only this head.

    Its result is ``weight``, the attention weight of the key for the query.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> RealHead(job="same", first_pair=9).weights.shape
    (20, 20)

    Source: the heads of ``python -m makers.page_heads``, stored in ``book/rope_book/results``. Chapter 10.
    """

    parts = ("attention", "sum")
    lead = ("job", "first_pair", "last_pair")
    few: ClassVar = {"job": ("previous", "same", "first")}

    job = Choice("previous", JOBS, label="A head that")
    first_pair = Slider(1, 1, PAIRS, label="First pair that turns")
    last_pair = Slider(PAIRS, 0, PAIRS, label="Last pair that turns")
    sentence = Choice(1, {1: "the cat and the dog", 2: "Alice and Bob", 3: "a program"}, label="Text")
    rule = Choice("none", RULES, label="Rule")
    factor = Slider(4.0, 1.0, 32.0, step=0.5, label="Factor, s").under(
        OnlyIf("rule", ("pi", "ntk-aware", "yarn"))
    )
    base = Slider(10_000.0, 100.0, 10_000_000.0, log=True, label="Base, b").under(OnlyIf("rule", ("abf",)))
    layout = Choice(
        "interleaved",
        {"interleaved": "as the weights expect", "half_split": "the other layout"},
        label="Layout",
    )
    start = Slider(0, 0, TRAINED - SEQ, label="The text begins at", unit="tokens")
    query = Slider(16, 2, SEQ, label="Query, token")
    key = Slider(15, 1, SEQ, label="Key, token").under(AtMost("query", either=True))

    @result("%")
    def weight(self):
        """Attention weight of the selected key for the selected query."""
        return 100 * float(weights_of(self)[self.query - 1, self.key - 1])

    @property
    def spec(self) -> RopeSpec:
        """Rotation of the head with the current settings."""
        return spec_of(self)

    @property
    def head(self) -> PageHead:
        """The head that the controls select."""
        return load_page_heads()[self.job]

    @property
    def weights(self) -> np.ndarray:
        """Attention weights of the chosen head on the chosen text, float64 ``(20, 20)``."""
        return weights_of(self)

    @property
    def done(self) -> float:
        """Mean weight, from 0 to 1, on the keys that the job calls for."""
        return job_done(self.weights, targets(self.job, read_page_heads()["sentences"][self.sentence - 1]))
