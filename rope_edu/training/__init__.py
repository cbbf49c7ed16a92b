"""The book's own training room: tasks, one training run, rules to beat, and the models of the page.

Needs ``pip install "rope-edu[torch]"``; the library does not import it.
"""

from rope_edu import nn as _nn  # noqa: F401  (says what to install where torch is missing)
from rope_edu.training.baselines import match_last, rule_accuracy
from rope_edu.training.loop import Point, TrainingConfig, TrainingResult, train
from rope_edu.training.restore import restore
from rope_edu.training.tasks import TASKS, Batch, Task, make_task

__all__ = [
    "TASKS",
    "Batch",
    "Point",
    "Task",
    "TrainingConfig",
    "TrainingResult",
    "make_task",
    "match_last",
    "restore",
    "rule_accuracy",
    "train",
]
