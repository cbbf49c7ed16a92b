"""Chapter 13: how tiny models learn with each encoding, and how well they do on longer texts."""

import math
from statistics import median

from rope_book.results import load_grid

from ._grid import ENCODINGS, share_code
from ._results import result
from ._traits import Choice, Numbers, Slider, Toggle
from .base import LiveFigure

TASKS = {
    "copy": "copy",
    "back": "5 tokens back",
    "recall": "as far back as told",
    "clock": "count off by fours",
    "text": "characters of prose",
}


def tested(now, measure):
    """Return the median of a measure over the first encoding's seeds at the selected test length."""
    grid = load_grid()
    if not grid.select(now.task, now.first):
        return math.nan
    return measure(now.task, now.first, grid.test_lengths(now.task)[now.doublings]).median


class TrainingCurves(LiveFigure):
    """Guess and then see how well every encoding does on longer texts, or see how each one learns.

    Up to three encodings (``first``, ``second``, ``third``) stand out from the others, which are grey. They are
    drawn as the median and range of the eight seeds or, with ``every_seed``, as individual runs. With ``against``
    set to "length", the lines end at the training length doubled ``doublings`` times; on longer texts, only the new
    positions are scored. While ``doublings`` is 0, three rings wait to be dragged to a ``guess``: three percentages
    for texts four times as long. Learning curves are plotted against "steps" or CPU "seconds".
    ``measure`` is "accuracy" or "loss".

    Its results are ``accuracy`` and ``loss``, the first encoding's medians on the test texts.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> TrainingCurves(task="recall", doublings=2)
    TrainingCurves(doublings=2, task='recall')

    Source: the grid of ``python -m makers.grid``, stored in ``book/rope_book/results``. Chapter 13.
    """

    lead = ("doublings", "task", "against")

    doublings = Slider(0, 0, 2, label="Length of test texts", unit="doublings")
    task = Choice("back", TASKS, label="Task")
    against = Choice(
        "length",
        {"length": "length of the texts", "steps": "steps of training", "seconds": "CPU seconds"},
        label="Against",
    )
    measure = Choice(
        "accuracy", {"accuracy": "right answers (%)", "loss": "loss (nats, logarithmic)"}, label="Measure"
    )
    first = Choice("rotary", ENCODINGS, label="First encoding")
    second = Choice("sinusoidal", {"": "no other", **ENCODINGS}, label="Second encoding")
    third = Choice("none", {"": "no other", **ENCODINGS}, label="Third encoding")
    every_seed = Toggle(False, label="Each seed as a line")
    guess = Numbers(3, 0.0, 100.0, label="Your guess at four times the length (%)")

    @result("%")
    def accuracy(self):
        """Median accuracy over the first encoding's seeds, each to a tenth of a percent."""
        grid = load_grid()
        length = grid.test_lengths(self.task)[self.doublings]
        shares = [share_code(run.tests[length][1]) for run in grid.select(self.task, self.first)]
        return median(shares) / 10 if shares else math.nan

    @result("nats")
    def loss(self):
        """Median loss over the first encoding's seeds."""
        return tested(self, load_grid().loss)
