"""Chapter 18: a trained model that runs in the page, on texts longer than its training texts."""

import math
import string
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from rope_book.results.page_models import load_page_models
from rope_edu.encodings import RopeSpec

from ._results import result
from ._rules import AtMost, OnlyIf
from ._traits import Choice, Slider, Text
from .base import LiveFigure
from .maths.long_text import SETTINGS, page_rope

RULES = {
    "none": "none: as trained",
    "pi": "PI",
    "ntk-aware": "NTK-aware",
    "dynamic-ntk": "dynamic NTK",
    "by-parts": "by parts",
    "yarn": "YaRN",
    "llama3": "Llama 3",
    "abf": "ABF",
}
STEP = 0.1  # smallest distance between the ends of the ramp, in turns
BY_PARTS = ("by-parts", "yarn", "llama3")
LETTERS = " !\"'(),-.:;?" + string.digits + string.ascii_letters  # the alphabet of "text" on one line


def rope_of(now: Any) -> RopeSpec:
    """Return the rotation for a state."""
    model = load_page_models()[now.task]
    settings = {name: getattr(now, name) for name in SETTINGS}
    return page_rope(now.rule, model.length, model.head_dim, model.base, **settings)


def means_of(now: Any) -> dict[str, tuple[float, float]]:
    """Return {measure: (mean at trained positions, mean at new positions)}, over the answers that count."""
    spec = rope_of(now)
    return _means(now.task, now.times, spec.attention_factor, *spec.inv_freq)


@lru_cache(maxsize=64)
def _means(task: str, times: int, attention_factor: float, *speeds: float) -> dict[str, tuple[float, float]]:
    from rope_book.training.answers import answered

    model = load_page_models()[task]
    spec = RopeSpec(np.array(speeds), attention_factor, "half_split")
    right, loss = answered(model, spec, 1 + times * model.length)
    parts = slice(None, model.trained_places), slice(model.trained_places, None)
    return {
        name: tuple(float(np.nanmean(rows[:, part])) if rows[:, part].size else math.nan for part in parts)
        for name, rows in (("right", right), ("loss", loss))
    }


class ModelInThePage(LiveFigure):
    """Break a trained transformer in the page by giving it a long text, then fix it with a rule.

    ``task`` is "back" (repeat the letter five positions earlier; trained on 32 letters) or "text" (the next
    character of prose; trained on 64). The text is ``times`` as long. ``rule`` changes the frequencies after
    training: none, pi, ntk-aware, dynamic-ntk, by-parts, yarn (the paper's ramp), llama3 or abf. Its settings are
    the stretch ``factor``, which follows ``times`` as long as the two are equal, the ramp from ``ramp_from`` to
    ``ramp_to`` turns in the trained length (beta_slow and beta_fast; for Llama 3 low_freq_factor and
    high_freq_factor), the ``base`` of abf, and an ``attention_factor`` on cos and sin, in addition to YaRN's own.
    Pairs count from 1, the fastest; those outside ``first_pair`` to ``last_pair`` do not turn. Bars show
    ``measure``, "right" or "loss", by position, over four texts. Below them are the attention of one ``head``
    ("layer.head") over the first text, with the row of the query at ``place``, and the angles that training never
    reached. The model for "text" also reads a text that you type (``own``), up to 192 characters from its alphabet.
    Under each character is a tick if the model predicted it, or else the prediction.

    Its results are ``share_right`` and ``share_right_beyond`` (%), at the trained and at the new positions, and, in
    the same way, ``loss`` and ``loss_beyond`` (nats). If ``times`` is 1, no position is new, and the two results
    for new positions are NaN. All results need torch.

    Parts of the picture, for ``only``: "bars", "attention", and "angles".

    An out-of-range value raises a TraitError that lists the allowed values; one end of the ramp can push the other
    along.

    >>> figure = ModelInThePage(rule="by-parts", times=16, factor=16)
    >>> figure.rope
    <RopeSpec "ntk-by-parts": 16 pairs, 1 … 1.11142e-05 rad/token, half_split>

    Source: the models of ``python -m makers.page_models``, stored in ``book/rope_book/results``. Chapter 18.
    """

    parts = ("bars", "attention", "angles")
    lead = ("rule", "times", "task")
    few: ClassVar = {"rule": ("none", "pi", "ntk-aware", "yarn")}  # the others need settings or act alike

    task = Choice(
        "back", {"back": "five letters back", "text": "next character of prose"}, label="The model's task"
    )
    times = Slider(8, 1, 16, label="Length of the text", unit="× trained")
    rule = Choice("none", RULES, label="Rule", buttons=True)
    factor = Slider(8.0, 1.0, 32.0, step=0.5, label="Factor, s").under(
        OnlyIf("rule", ("by-parts", "pi", "ntk-aware", "yarn", "llama3"))
    )
    ramp_from = Slider(0.5, STEP, 8.0, step=STEP, label="Ramp from", unit="turns").under(
        AtMost("ramp_to", plus=-STEP, either=True), OnlyIf("rule", BY_PARTS)
    )
    ramp_to = Slider(2.0, 2 * STEP, 40.0, step=STEP, label="Ramp to", unit="turns").under(
        OnlyIf("rule", BY_PARTS)
    )
    base = Slider(10_000.0, 100.0, 10_000_000.0, log=True, label="Base, b").under(OnlyIf("rule", ("abf",)))
    attention_factor = Slider(1.0, 0.5, 2.0, step=0.01, label="Attention factor, a")
    first_pair = Slider(1, 1, 16, label="First pair that turns")
    last_pair = Slider(16, 0, 16, label="Last pair that turns")
    measure = Choice("right", {"right": "right answers (%)", "loss": "loss (nats)"}, label="Measure")
    head = Choice(
        "2.1", {f"{n}.{h}": f"layer {n}, head {h}" for n in (1, 2) for h in (1, 2)}, label="Attention of"
    )
    place = Slider(200, 1, 1024, log=True, label="Query at place")
    own = Text("", 192, LETTERS, label="A text of your own").under(OnlyIf("task", ("text",)))

    def along(self, name: str, value: Any) -> dict[str, Any]:
        """Let the factor follow the length as long as the two are equal."""
        return {"factor": float(value)} if name == "times" and self.factor == self.times else {}

    @property
    def rope(self) -> RopeSpec:
        """Rotation with the current settings, for `rope_book.training.restore.restore` or your own code."""
        return rope_of(SimpleNamespace(**self.values()))

    @result("%")
    def share_right(self):
        """Share of right answers at the trained positions."""
        return 100 * means_of(self)["right"][0]

    @result("%")
    def share_right_beyond(self):
        """Share of right answers at the new positions."""
        return 100 * means_of(self)["right"][1]

    @result("nats")
    def loss(self):
        """Loss at the trained positions."""
        return means_of(self)["loss"][0]

    @result("nats")
    def loss_beyond(self):
        """Loss at the new positions."""
        return means_of(self)["loss"][1]
