r"""Load the stretching experiment, which tests models at up to 16 times their trained length."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rope_book.results.files import load, numbered, read
from rope_book.results.grid import Spread, sign_flip_p, spread

FORMAT = "rope_book stretch 2"
TUNING_KEY = ("task",)
RUN_KEY = ("task", "seed")  # the fields that identify a run
SCORE_TABLES = ("runs", "readings", "retuned")  # tables whose rows have a RUN_KEY and scores
UNSTRETCHED = ("plain", "abf", "dynamic-cached")  # rules with a factor of 1 at every length


class Place(NamedTuple):
    """A combination of training, rule, factor and test length.

    Attributes:
        way: "zero-shot"; "tuned-4" or "tuned-16", fine-tuned on texts 4 or 16 times as long; "retuned-4" or
            "retuned-16", fine-tuned with a rate chosen from more candidates; "from-start", trained with the rule;
            "few-keys", zero-shot on texts of the trained length with a gap in the positions.
        rule: the name of a rule, or of a reading that changes attention without changing the frequencies.
        factor: the stretch factor of the rule; 1 if the rule has none.
        multiple: test length as a multiple of the trained length.
    """

    way: str
    rule: str
    factor: int
    multiple: int


@dataclass(frozen=True)
class Stretch:
    r"""All scores and settings of the experiment.

    Attributes:
        meta: versions, machine, date, seconds, and all settings.
        tuning: task -> settings chosen on tuning texts: learning_rate, slow, fast, lists, tuned_rates, and `rates`
            (multiple -> rule -> rate) for the second fine-tuning.
        scores: (task, seed) -> place -> (loss, accuracy); on texts longer than in training, only new positions
            count.
    """

    meta: dict[str, Any]
    tuning: dict[str, dict[str, Any]]
    scores: dict[tuple[str, int], dict[Place, tuple[float, float]]]

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the tasks that have runs, in the order of the settings."""
        return tuple(task for task in self.meta["tasks"] if any(task == name for name, _ in self.scores))

    @property
    def multiples(self) -> tuple[int, ...]:
        """Return the test lengths, as multiples of the trained length."""
        return tuple(self.meta["multiples"])

    @property
    def rules(self) -> tuple[str, ...]:
        """Return the rules, in the order of the settings."""
        return tuple(self.meta["rules"])

    @property
    def readings(self) -> tuple[str, ...]:
        """Return the readings, in the order of the settings."""
        return tuple(self.meta["readings"])

    def seeds(self, task: str) -> list[int]:
        """Return the seeds of a task."""
        return sorted(seed for name, seed in self.scores if name == task)

    def place(self, rule: str, multiple: int, way: str = "zero-shot", factor: int | None = None) -> Place:
        r"""Return the place with these attributes, choosing the factor if it is None.

        The default factor is `multiple` for zero-shot and, for any other `way`, the largest multiple, because the
        rule was set before training, for the longest texts. With a factor of 1, the rule becomes "plain".
        """
        if rule in UNSTRETCHED or rule in self.readings:
            return Place(way, rule, 1, multiple)
        if factor is None:
            factor = multiple if way == "zero-shot" else self.multiples[-1]
        return Place(way, "plain" if factor == 1 else rule, factor, multiple)

    def values(self, task: str, place: Place, column: str = "accuracy") -> list[float]:
        r"""Return the accuracies (0 … 1) or losses (nats) of all seeds at a place.

        Raises:
            ValueError: a seed has no score at this place, or the task has no seeds.
        """
        index = {"loss": 0, "accuracy": 1}[column]
        scores = [self.scores[task, seed].get(place) for seed in self.seeds(task)]
        if not scores or None in scores:
            raise ValueError(f"{task!r} was not scored at {tuple(place)}")
        return [score[index] for score in scores]

    def accuracy(self, task: str, place: Place) -> Spread:
        """Return the spread of the accuracy over seeds at a place."""
        return spread(self.values(task, place))

    def loss(self, task: str, place: Place) -> Spread:
        """Return the spread of the loss over seeds at a place."""
        return spread(self.values(task, place, "loss"))

    def paired_p(self, task: str, place: Place, other: Place) -> float:
        """Return the p-value of `sign_flip_p` for the accuracies at two places, paired by seed."""
        pairs = zip(self.values(task, place), self.values(task, other), strict=True)
        return sign_flip_p([a - b for a, b in pairs])

    def better(self, task: str, place: Place, other: Place, *, by: float = 0.0, p: float = 0.01) -> bool:
        """Return whether the median accuracy at `place` is higher by at least `by`, and `paired_p` is below `p`."""
        lead = self.accuracy(task, place).median - self.accuracy(task, other).median
        return lead > 0 and lead >= by and self.paired_p(task, place, other) < p


def load_stretch(path: str | Path | None = None) -> Stretch:
    r"""Load the results of a stretching experiment.

    Args:
        path: a file written by `python -m makers.stretch`, or None for the committed file.

    Raises:
        ValueError: the file has a different format.

    >>> stretch = load_stretch()
    >>> median, least, most = stretch.accuracy("text", stretch.place("pi", 4))[:3]
    >>> f"{median:.0%} of text right at 4 times the trained length under PI, {least:.0%} to {most:.0%}"
    '22% of text right at 4 times the trained length under PI, 19% to 24%'

    Chapter 18.
    """
    return make_stretch(load("stretch.json", FORMAT, path))


def load_stretch_predictions() -> dict[int, str]:
    r"""Return the predictions written before the experiment was run, {number: prediction}.

    >>> load_stretch_predictions()[5].split(":")[0]
    'No rule takes a model to 16×'

    Chapter 18.
    """
    return numbered(read("stretch_predictions.md"))


def make_stretch(content: dict[str, Any]) -> Stretch:
    """Build the experiment from a file's content."""
    scores: dict[tuple[str, int], dict[Place, tuple[float, float]]] = {}
    for run in (run for table in SCORE_TABLES for run in content[table]):
        of_run = scores.setdefault((run["task"], run["seed"]), {})
        of_run |= {Place(*place): (loss, accuracy) for *place, loss, accuracy in run["scores"]}
    rates = {row["task"]: row["rates"] for row in content["rates"]}
    tuning = {row["task"]: {**row, "rates": rates.get(row["task"], {})} for row in content["tuning"]}
    return Stretch(content["meta"], tuning, scores)
