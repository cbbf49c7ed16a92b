r"""Read the stretching experiment: models trained at one length, tested at up to 16 times it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rope_book.results.files import numbered, parse, read
from rope_book.results.grid import Spread, sign_flip_p, spread

FORMAT = "rope_book stretch 2"
TUNING_OF = ("task",)
RUN_OF = ("task", "seed")  # what tells runs apart
TABLES = ("runs", "readings", "retuned")  # of scores, each by task and seed
UNSTRETCHED = ("plain", "abf", "dynamic-cached")  # whatever the length: their factor is 1


class Place(NamedTuple):
    """One way of stretching, tested at one length.

    Attributes:
        way: "zero-shot"; "tuned-4" or "tuned-16", a fine-tune on texts so many times as long; "retuned-4" or
            "retuned-16", the same with a rate chosen from more; "from-start"; "few-keys", zero-shot on texts of the
            trained length with a gap.
        rule: name of a rule, or of a reading that leaves the frequencies alone.
        factor: the stretch that it is set for; 1 for what is not stretched.
        multiple: length of the test, in trained lengths.
    """

    way: str
    rule: str
    factor: int
    multiple: int


@dataclass(frozen=True)
class Stretch:
    r"""All scores of the experiment and what they were made with.

    Attributes:
        meta: versions, machine, date, seconds, and all settings.
        tuning: task -> what was chosen on tuning texts: learning_rate, slow, fast, lists, tuned_rates, and `rates`
            (multiple -> rule -> rate) of the second fine-tunes.
        scores: (task, seed) -> place -> (loss, accuracy); of texts longer than the trained, at their new places.
    """

    meta: dict[str, Any]
    tuning: dict[str, dict[str, Any]]
    scores: dict[tuple[str, int], dict[Place, tuple[float, float]]]

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the tasks that have runs, in the order of the settings."""
        return tuple(task for task in self.meta["tasks"] if any(task == known for known, _ in self.scores))

    @property
    def multiples(self) -> tuple[int, ...]:
        """Return the lengths of the tests, in trained lengths."""
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
        return sorted(seed for known, seed in self.scores if known == task)

    def place(self, rule: str, multiple: int, way: str = "zero-shot", factor: int | None = None) -> Place:
        r"""Return a place; a rule is set for the length of the text unless `factor` says else.

        What was trained after the rule was set is set for the longest texts. At 1× a rule that follows the
        length is plain RoPE.
        """
        if rule in UNSTRETCHED or rule in self.readings:
            return Place(way, rule, 1, multiple)
        if factor is None:
            factor = multiple if way == "zero-shot" else self.multiples[-1]
        return Place(way, "plain" if factor == 1 else rule, factor, multiple)

    def values(self, task: str, place: Place, column: str = "accuracy") -> list[float]:
        r"""Return the accuracies (0 … 1) or losses (nats) of all seeds.

        Raises:
            ValueError: nothing was scored there.
        """
        index = {"loss": 0, "accuracy": 1}[column]
        found = [self.scores[task, seed].get(place) for seed in self.seeds(task)]
        if not found or None in found:
            raise ValueError(f"{task!r} was not scored at {tuple(place)}")
        return [scored[index] for scored in found]

    def accuracy(self, task: str, place: Place) -> Spread:
        """Return the spread over seeds of the accuracy."""
        return spread(self.values(task, place))

    def loss(self, task: str, place: Place) -> Spread:
        """Return the spread over seeds of the loss."""
        return spread(self.values(task, place, "loss"))

    def paired_p(self, task: str, place: Place, other: Place) -> float:
        """Return the p-value of `sign_flip_p` for the accuracies at two places, paired by seed."""
        pairs = zip(self.values(task, place), self.values(task, other), strict=True)
        return sign_flip_p([a - b for a, b in pairs])

    def better(self, task: str, place: Place, other: Place, *, by: float = 0.0, p: float = 0.01) -> bool:
        """Tell whether the first has the higher median accuracy, by at least `by`, and that is no chance."""
        ahead = self.accuracy(task, place).median - self.accuracy(task, other).median
        return ahead > 0 and ahead >= by and self.paired_p(task, place, other) < p


def load_stretch(path: str | Path | None = None) -> Stretch:
    r"""Read the results of a stretching experiment and check them.

    Args:
        path: of a file that `python -m makers.stretch` wrote; the one that comes with the library if None.

    Returns:
        `Stretch`.

    Raises:
        ValueError: the file is not such a file, or holds a run twice.

    >>> stretch = load_stretch()
    >>> median, least, most = stretch.accuracy("text", stretch.place("pi", 4))[:3]
    >>> f"{median:.0%} of text right at 4 times the trained length under PI, {least:.0%} to {most:.0%}"
    '22% of text right at 4 times the trained length under PI, 19% to 24%'

    Chapter 18.
    """
    return parse_stretch(read("stretch.json", path), str(path or "stretch.json"))


def load_stretch_predictions() -> dict[int, str]:
    r"""Return what was expected of the library's experiment before its runs were made: number -> sentences.

    >>> load_stretch_predictions()[5].split(":")[0]
    'No rule takes a model to 16×'

    Chapter 18.
    """
    return numbered(read("stretch_predictions.md"))


def parse_stretch(text: str, name: str = "stretch.json") -> Stretch:
    """Return the experiment that a JSON text holds, or raise ValueError."""
    content = parse(text, FORMAT, name)
    scores: dict[tuple[str, int], dict[Place, tuple[float, float]]] = {}
    for table in TABLES:
        seen = set()
        for n, run in enumerate(content[table]):
            key = run["task"], run["seed"]
            if key in seen:
                raise ValueError(f"{name} holds the run {key} twice in {table!r}")
            seen.add(key)
            found = _parse_scores(run["scores"], f"{name}, {table} {n}")
            if scores.setdefault(key, {}).keys() & found.keys():
                raise ValueError(f"{name}, {table} {n} scores a place twice")
            scores[key] |= found
    rates = {row["task"]: row["rates"] for row in content["rates"]}
    tuning = {row["task"]: {**row, "rates": rates.get(row["task"], {})} for row in content["tuning"]}
    return Stretch(content["meta"], tuning, scores)


def _parse_scores(rows: list[list], where: str) -> dict[Place, tuple[float, float]]:
    scores = {Place(*row[:4]): (float(row[4]), float(row[5])) for row in rows}
    if len(scores) < len(rows):
        raise ValueError(f"{where} scores a place twice")
    if not all(loss >= 0 and 0 <= accuracy <= 1 for loss, accuracy in scores.values()):
        raise ValueError(f"{where}: losses must be at least 0 and accuracies 0 to 1")
    return scores
