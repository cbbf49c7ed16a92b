"""PyTorch modules over the library's functions: encodings, a tiny transformer, tasks, training (needs torch)."""

from rope_edu.nn.encodings import ENCODINGS, Encoding, make_encoding
from rope_edu.nn.tasks import TASKS, Batch, Task, make_task
from rope_edu.nn.training import Point, TrainingConfig, TrainingResult, train
from rope_edu.nn.transformer import Attention, TinyTransformer

__all__ = [
    "ENCODINGS",
    "TASKS",
    "Attention",
    "Batch",
    "Encoding",
    "Point",
    "Task",
    "TinyTransformer",
    "TrainingConfig",
    "TrainingResult",
    "make_encoding",
    "make_task",
    "train",
]
