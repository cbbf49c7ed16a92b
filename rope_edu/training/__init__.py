"""The book's own training: tasks, training, rules to beat, readings of trained models, models of the page.

Needs ``pip install "rope-edu[torch]"``; the library does not import it.
"""

from rope_edu import nn as _nn  # noqa: F401  (says what to install where torch is missing)
from rope_edu.training.baselines import chance, match_last, rule_accuracy
from rope_edu.training.loop import Point, TrainingConfig, TrainingResult, train
from rope_edu.training.reading import Reading, read_with
from rope_edu.training.restore import restore
from rope_edu.training.tasks import TASKS, Batch, Task, make_task

__all__ = [
    "TASKS",
    "Batch",
    "Point",
    "Reading",
    "Task",
    "TrainingConfig",
    "TrainingResult",
    "chance",
    "make_task",
    "match_last",
    "read_with",
    "restore",
    "rule_accuracy",
    "train",
]
