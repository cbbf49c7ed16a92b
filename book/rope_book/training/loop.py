r"""Train a tiny transformer reproducibly from a seed, with checkpoints from which a killed run can resume.

Batches and the learning rate depend only on the step, and nothing is random after initialisation, so a checkpoint
needs only the weights, the optimizer's state, the step and the curve. On a CPU, a resumed run gives bit-identical
results to an uninterrupted run (on the same machine, with the same number of threads).
"""

import io
import math
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import torch
from torch.nn import functional

from rope_book.training.tasks import Batch, Task, longest, make_task
from rope_book.training.transformer import TinyTransformer
from rope_edu.encodings.validation import check_one_of, check_positive_int, check_positive_number
from rope_edu.nn.encodings import ENCODINGS, OPTIONS

FORMAT = "rope_edu.nn checkpoint 1"
TEST_SEED = 0  # the same for all runs, so that all use the same test texts
NOT_COMPARED = ("device", "checkpoint_every")  # settings that may differ when a run resumes


@dataclass(frozen=True)
class TrainingConfig:
    r"""All settings of a run.

    Attributes:
        task: a name in `TASKS`.
        encoding: a name in `ENCODINGS`, or "dynamic-ntk".
        seed: seed for weights and batches.
        steps, learning_rate, length: the task's defaults if None.
        batch_size: rows per step.
        warmup: number of linear warm-up steps before the cosine decay to a tenth.
        d_model, n_layers, n_heads, d_ff: model sizes.
        layout: layout of the rotations.
        weight_decay, clip: AdamW's weight decay, and the maximum gradient norm.
        own_rate: multiplier for the learning rate of the encoding's own parameters. With Adam, a parameter moves
            by little more than the sum of the learning rates, which can be too little for a table of small initial
            values.
        evaluate_on: "test", or "tune" to choose a learning rate on texts whose scores are never reported.
        points: number of evaluations during training, in addition to the evaluation before the first step.
        rows, test_rows: number of texts per evaluation, and per final test.
        device: "auto" (CUDA if available), "cpu" or "cuda".
        checkpoint_every: steps between checkpoints.

    Raises:
        ValueError: a value is invalid.

    >>> config = TrainingConfig(task="copy", encoding="rotary").resolved()
    >>> config.length
    16

    Chapter 13.
    """

    task: str
    encoding: str = "rotary"
    seed: int = 0
    steps: int | None = None
    learning_rate: float | None = None
    length: int | None = None
    batch_size: int = 32
    warmup: int = 40
    d_model: int = 64
    n_layers: int = 2
    n_heads: int = 4
    d_ff: int = 128
    layout: str = "half_split"
    weight_decay: float = 0.01
    clip: float = 1.0
    own_rate: float = 1.0
    evaluate_on: str = "test"
    points: int = 10
    rows: int = 64
    test_rows: int = 128
    device: str = "auto"
    checkpoint_every: int = 100

    def __post_init__(self) -> None:
        make_task(self.task)
        check_one_of("encoding", self.encoding, (*ENCODINGS, "dynamic-ntk"))
        check_one_of("device", self.device, ("auto", "cpu", "cuda"))
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise ValueError(f"seed must be a whole number from 0, got {self.seed!r}")
        for name in ("batch_size", "warmup", "points", "rows", "test_rows", "checkpoint_every"):
            check_positive_int(name, getattr(self, name))
        for name in ("steps", "length"):
            if getattr(self, name) is not None:
                check_positive_int(name, getattr(self, name))
        if self.learning_rate is not None:
            check_positive_number("learning_rate", self.learning_rate)
        check_positive_number("clip", self.clip)
        check_positive_number("own_rate", self.own_rate)
        check_one_of("evaluate_on", self.evaluate_on, ("test", "tune"))

    def resolved(self) -> "TrainingConfig":
        """Return a copy in which settings that are None are replaced with the task's defaults."""
        task = make_task(self.task)
        names = ("steps", "learning_rate", "length")
        return replace(self, **{name: getattr(task, name) for name in names if getattr(self, name) is None})


@dataclass(frozen=True)
class Point:
    """An evaluation after a step: scores on unseen texts of the training length, and the training time so far."""

    step: int
    loss: float
    accuracy: float
    cpu_seconds: float  # training only
    wall_seconds: float


@dataclass(frozen=True)
class TrainingResult:
    """A trained model, its learning curve, and its loss and accuracy at the test lengths."""

    config: TrainingConfig
    model: TinyTransformer
    history: list[Point]
    tests: dict[int, tuple[float, float]]  # length -> (loss, accuracy), see `score`
    seconds: float  # wall time of this call to `train`

    @property
    def parameters(self) -> int:
        """Return the number of trainable parameters."""
        return sum(weight.numel() for weight in self.model.parameters())


def train(
    config: TrainingConfig,
    checkpoint: str | Path | None = None,
    *,
    model: TinyTransformer | None = None,
    test_lengths: Iterable[int] | None = None,
    progress: bool = True,
) -> TrainingResult:
    r"""Train one model on one task, and test it.

    Args:
        config: all settings.
        checkpoint: file to write every `checkpoint_every` steps, and to resume from if it exists; None for no file.
        model: an existing model to train further, in place; the sizes and encoding in `config` are then ignored.
        test_lengths: text lengths for the final tests, or None for the task's test lengths.
        progress: whether to show a progress bar.

    Raises:
        ValueError: the checkpoint is damaged, or belongs to a different configuration.

    >>> config = TrainingConfig("back", "none", steps=2, d_model=8, n_heads=1, points=1, rows=2, test_rows=2)
    >>> result = train(config, progress=False)
    >>> [point.step for point in result.history], list(result.tests)
    ([0, 2], [32, 64, 128])

    Chapter 13.
    """
    began = time.perf_counter()
    config = config.resolved()
    run = _Run(config, model)
    if checkpoint is not None and Path(checkpoint).exists():
        run.load(Path(checkpoint))
    with _bar(config, run.step, progress) as bar:
        for step in run.steps():
            bar.update()
            if step in run.evaluations:
                point = run.evaluate()
                bar.set_postfix(loss=f"{point.loss:.3f}", accuracy=f"{point.accuracy:.3f}", refresh=False)
            if checkpoint is not None and (step % config.checkpoint_every == 0 or step == config.steps):
                run.save(Path(checkpoint))
    lengths = run.task.test_lengths if test_lengths is None else test_lengths
    tests = {length: run.test(config.test_rows, length) for length in lengths}
    return TrainingResult(config, run.model, run.history, tests, time.perf_counter() - began)


def learning_rate(config: TrainingConfig, step: int) -> float:
    r"""Return the learning rate at a step: linear warm-up, then cosine decay to a tenth.

        lr · min(step / warmup, 0.1 + 0.9 · (1 + cos π·t)/2),   t from 0 (end of the warm-up) to 1 (last step)

    >>> config = TrainingConfig("copy", steps=100, warmup=10, learning_rate=1.0)
    >>> [round(learning_rate(config, step), 3) for step in (1, 10, 55, 100)]
    [0.1, 1.0, 0.55, 0.1]

    Chapter 13.
    """
    if step <= config.warmup:
        return config.learning_rate * step / config.warmup
    t = (step - config.warmup) / max(1, config.steps - config.warmup)
    return config.learning_rate * (0.1 + 0.9 * (1 + math.cos(math.pi * t)) / 2)


def pick_device(name: str) -> torch.device:
    """Return the device for "auto", "cpu" or "cuda"; raise ValueError for "cuda" without a GPU.

    >>> pick_device("cpu")
    device(type='cpu')
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError('device "cuda" was asked for, but torch sees no GPU; use "auto" or "cpu"')
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def make_model(config: TrainingConfig) -> TinyTransformer:
    """Create the model for a configuration, with weights initialised from the seed.

    Models with the same seed but different encodings have the same initial weights outside the encoding.
    """
    task = _task(config)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        options = {"layout": config.layout} if "layout" in OPTIONS[config.encoding] else {}
        return TinyTransformer(
            task.vocab_size,
            encoding=config.encoding,
            d_model=config.d_model,
            n_layers=config.n_layers,
            n_heads=config.n_heads,
            d_ff=config.d_ff,
            max_len=longest(task),
            **options,
        )


def answer_loss(logits: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Return the mean cross-entropy, in nats, over the positions that count."""
    loss = functional.cross_entropy(logits.flatten(0, -2), batch.targets.flatten(), reduction="none")
    return loss @ batch.weights.flatten() / batch.weights.sum()


def make_optimizer(model: TinyTransformer, config: TrainingConfig) -> torch.optim.AdamW:
    """Return AdamW with separate learning rates for the encoding's own parameters and for all others."""
    own = list(model.encodings.parameters())
    others = [weight for name, weight in model.named_parameters() if not name.startswith("encodings.")]
    groups = [{"params": others, "rate": 1.0}, {"params": own, "rate": config.own_rate}]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=config.learning_rate,
        betas=(0.9, 0.98),
        weight_decay=config.weight_decay,
        fused=True,
    )


@torch.no_grad()
def score(
    model: TinyTransformer, task: Task, length: int, rows: int = 128, *, split: str = "test"
) -> tuple[float, float]:
    r"""Return the loss (nats) and the accuracy on unseen texts; on longer texts, only new positions count.

    Args:
        model: the model to score.
        task: a task whose `length` is the trained length; later positions are new.
        length: text length, in the task's unit.
        rows: number of texts.
        split: "test" or "tune".

    >>> task = make_task("back")
    >>> loss, accuracy = score(TinyTransformer(task.vocab_size, d_model=8), task, 64, rows=2)
    >>> loss > 1 and 0 <= accuracy < 0.5
    True

    Chapters 13 and 18.
    """
    device = next(model.parameters()).device
    loss = correct = total = 0.0
    for step, first in enumerate(range(0, rows, 64)):
        batch = _on(device, task.batch(TEST_SEED, step, min(64, rows - first), length, split=split))
        if length > task.length:
            batch.weights[:, : task.trained_places] = 0
        logits, count = model(batch.tokens), float(batch.weights.sum())
        loss += float(answer_loss(logits, batch)) * count
        correct += float(((logits.argmax(-1) == batch.targets) * batch.weights).sum())
        total += count
    return loss / total, correct / total


def _on(device: torch.device, batch: Batch) -> Batch:
    return Batch(*(part.to(device) for part in batch))


class _Run:
    """A training run in progress, which can be saved in a checkpoint."""

    def __init__(self, config: TrainingConfig, model: TinyTransformer | None = None) -> None:
        self.config, self.task, self.device = config, _task(config), pick_device(config.device)
        self.model = (make_model(config) if model is None else model).to(self.device)
        self.optimizer = make_optimizer(self.model, config)
        self.step, self.cpu, self.wall = 0, 0.0, 0.0
        self.history: list[Point] = []
        self.evaluations = {round(n * config.steps / config.points) for n in range(config.points + 1)}

    def steps(self) -> Iterator[int]:
        """Take the remaining steps, yielding after each; only the time of the steps themselves is counted."""
        if self.step == 0 and not self.history:
            self.evaluate()
        while self.step < self.config.steps:
            cpu, wall = time.process_time(), time.perf_counter()
            self._take_step()
            self.cpu += time.process_time() - cpu
            self.wall += time.perf_counter() - wall
            yield self.step

    def _take_step(self) -> None:
        config = self.config
        batch = self.task.batch(config.seed, self.step, config.batch_size, config.length)
        batch = _on(self.device, batch)
        self.step += 1
        for group in self.optimizer.param_groups:
            group["lr"] = group["rate"] * learning_rate(config, self.step)
        self.optimizer.zero_grad(set_to_none=True)
        answer_loss(self.model(batch.tokens), batch).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.clip)
        self.optimizer.step()

    def evaluate(self) -> Point:
        """Evaluate on unseen texts of the training length and add a point to the curve."""
        loss, accuracy = self.test(self.config.rows, self.config.length)
        self.history.append(Point(self.step, loss, accuracy, round(self.cpu, 3), round(self.wall, 3)))
        return self.history[-1]

    def test(self, rows: int, length: int) -> tuple[float, float]:
        """Return the model's `score` on the split `evaluate_on`."""
        return score(self.model, self.task, length, rows, split=self.config.evaluate_on)

    def save(self, path: Path) -> None:
        """Write a checkpoint atomically."""
        state = {
            "format": FORMAT,
            "config": asdict(self.config),
            "step": self.step,
            "seconds": [self.cpu, self.wall],
            "history": [list(asdict(point).values()) for point in self.history],
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        memory = io.BytesIO()
        torch.save(state, memory)
        write_atomically(path, memory.getvalue())

    def load(self, path: Path) -> None:
        """Resume from a checkpoint."""
        state = _read_checkpoint(path)
        _check_same(path, state["config"], self.config)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, (self.cpu, self.wall) = state["step"], state["seconds"]
        self.history = [Point(*values) for values in state["history"]]


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file such that, even if the process is killed, it has either its old or its new content."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def _read_checkpoint(path: Path) -> dict:
    """Read a checkpoint without running any code in it; raise ValueError if it is not a checkpoint."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many exception types for damaged files
        raise ValueError(
            f"{path} is damaged or is not a checkpoint ({type(error).__name__}); delete it to start again"
        ) from error
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        stated = state.get("format") if isinstance(state, dict) else type(state).__name__
        raise ValueError(f"checkpoint {path} must have the format {FORMAT!r}, got {stated!r}")
    return state


def _check_same(path: Path, stored: dict, config: TrainingConfig) -> None:
    """Raise ValueError, listing the differences, if a checkpoint belongs to a different run."""
    expected = asdict(config)
    names = [field.name for field in fields(config) if field.name not in NOT_COMPARED]
    differences = [
        f"{name} is {stored.get(name)!r} there and {expected[name]!r} here"
        for name in names
        if stored.get(name) != expected[name]
    ]
    if differences:
        raise ValueError(f"checkpoint {path} belongs to another run: {'; '.join(differences)}")


def _task(config: TrainingConfig) -> Task:
    return make_task(config.task, length=config.length) if config.length else make_task(config.task)


def _bar(config: TrainingConfig, done: int, progress: bool):
    from tqdm.auto import tqdm  # imported here, so that importing this module does not need tqdm

    label = f"{config.task} · {config.encoding} · seed {config.seed}"
    return tqdm(total=config.steps, initial=done, desc=label, disable=not progress, leave=False)
