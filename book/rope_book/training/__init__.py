"""Tasks, training, baselines, attention variants for trained models, and the models that run in the page.

The package needs ``pip install torch tqdm``.
"""

from rope_book.training.baselines import chance, match_last, rule_accuracy
from rope_book.training.loop import Point, TrainingConfig, TrainingResult, train
from rope_book.training.restore import restore
from rope_book.training.tasks import TASKS, Batch, Task, make_task
from rope_book.training.variants import AttentionVariant, with_attention
from rope_edu import nn as _nn  # noqa: F401  (if torch is missing, this raises an error with install instructions)

__all__ = [
    "TASKS",
    "AttentionVariant",
    "Batch",
    "Point",
    "Task",
    "TrainingConfig",
    "TrainingResult",
    "chance",
    "make_task",
    "match_last",
    "restore",
    "rule_accuracy",
    "train",
    "with_attention",
]
