"""Playground: a tiny transformer that learns in the reader's own browser."""

from typing import ClassVar

from ._results import result
from ._rules import OnlyIf
from ._traits import Choice, Slider
from .base import LiveFigure
from .maths.page_training import guess_of, places_of

ENCODINGS = {
    "rotary": "RoPE",
    "p-rope": "p-RoPE",
    "sinusoidal": "sinusoids, added",
    "learned": "learned vectors, added",
    "alibi": "ALiBi",
    "t5": "T5's bias",
    "none": "none",
}
TASKS = {
    "back": "say the letter five places before",
    "copy": "say a sequence again",
    "recall": "say the letter as far back as the number says",
    "text": "say the next character of this book's prose",
}
RULES = {
    "none": "none: as trained",
    "pi": "PI",
    "ntk-aware": "NTK-aware",
    "by-parts": "NTK-by-parts",
    "yarn": "YaRN",
    "llama3": "Llama 3",
    "abf": "ABF: another base",
}
ROTATE = ("rotary", "p-rope")


class TrainInThePage(LiveFigure):
    """Train a tiny transformer in the page: choose an encoding, press Train, then make the text longer.

    The model has 32 features, two heads of eight pairs, and ``layers`` blocks. It learns a ``task`` from 16 texts
    of ``length`` letters per step: "back", "copy" (which needs two layers), "recall" or "text". ``steps`` is the
    number of training steps: *Train* raises it, *Pause* stops it, and the same settings, ``seed`` and steps give
    the same model in every browser. Bars show the accuracy by position. After training, the texts can be
    ``times`` as long, and for RoPE a ``rule`` changes the frequencies, by the factor ``times`` (ABF takes
    ``abf_base``). Dynamic NTK is omitted because at a single length it equals NTK-aware. ``against`` also trains a
    second encoding, and ``seeds`` trains more seeds. ``head`` picks the head of the last block whose attention to
    the first test text is shown.

    ``base`` sets the frequencies of RoPE, p-RoPE and sinusoids. RoPE turns only the pairs from ``first_pair`` to
    ``last_pair``, and p-RoPE the share ``p`` of the pairs. The learning rate rises for 40 steps, then falls to a
    tenth as in ``rope_book.training``.

    Its results are ``trained_places`` and ``new_places``, the number of positions within the trained length and
    beyond it, and ``guessing``, the accuracy of guessing in percent. The model's own accuracy is computed only in
    the page.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> TrainInThePage(encoding="t5", steps=400)
    TrainInThePage(encoding='t5', steps=400)

    Source: the ``rope_edu.nn`` transformer, differentiated by hand and tested against torch. Playground.
    """

    lead: ClassVar = ("encoding", "times", "rule")

    encoding = Choice("rotary", ENCODINGS, label="Encoding")
    times = Slider(1, 1, 4, label="Length of the text", unit="× trained")
    rule = Choice("none", RULES, label="Rule, after training").under(OnlyIf("encoding", ("rotary",)))
    against = Choice("", {"": "nothing", **ENCODINGS}, label="Beside it")
    seeds = Slider(1, 1, 3, label="Seeds side by side")
    steps = Slider(0, 0, 2000, label="Trained for", unit="steps")
    task = Choice("back", TASKS, label="Task")
    length = Slider(24, 12, 48, label="Trained on texts of", unit="letters")
    layers = Slider(1, 1, 2, label="Layers")
    base = Slider(10_000.0, 10.0, 1_000_000.0, log=True, label="Base, b").under(
        OnlyIf("encoding", (*ROTATE, "sinusoidal"))
    )
    first_pair = Slider(1, 1, 8, label="First pair that turns").under(OnlyIf("encoding", ("rotary",)))
    last_pair = Slider(8, 0, 8, label="Last pair that turns").under(OnlyIf("encoding", ("rotary",)))
    p = Slider(0.75, 0.0, 1.0, step=0.125, label="Part of the pairs that turn, p").under(
        OnlyIf("encoding", ("p-rope",))
    )
    abf_base = Slider(500_000.0, 10.0, 10_000_000.0, log=True, label="Base that ABF takes").under(
        OnlyIf("rule", ("abf",))
    )
    head = Slider(1, 1, 2, label="Attention of head")
    learning_rate = Slider(0.005, 0.0005, 0.02, log=True, label="Learning rate")
    seed = Slider(0, 0, 99, label="Seed")

    @result("places")
    def trained_places(self):
        """Number of positions in a text of the trained length, without the first token."""
        return places_of(self.task, self.length) - 1

    @result("places")
    def new_places(self):
        """Number of positions in the longer text beyond the trained length."""
        return places_of(self.task, self.length * self.times) - places_of(self.task, self.length)

    @result("%")
    def guessing(self):
        """Accuracy of guessing."""
        return 100 * guess_of(self.task)[0]
