"""The book's own training: tasks, training, rules to beat, readings of trained models, models of the page.

Needs ``pip install torch tqdm``.
"""

from rope_book.training.baselines import chance, match_last, rule_accuracy
from rope_book.training.loop import Point, TrainingConfig, TrainingResult, train
from rope_book.training.reading import Reading, read_with
from rope_book.training.restore import restore
from rope_book.training.tasks import TASKS, Batch, Task, make_task
from rope_edu import nn as _nn  # noqa: F401  (says what to install where torch is missing)

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
