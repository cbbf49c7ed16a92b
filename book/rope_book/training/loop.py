r"""Train a tiny transformer: one function, seeds that fix everything, checkpoints that survive a kill.

Batches and the learning rate are functions of the step, and nothing is drawn after the start, so a checkpoint
holds weights, the optimizer's state, the step and the curve; a run that was killed and resumed ends with the
same bits as one that was not (same machine, same number of threads, CPU).
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
TEST_SEED = 0  # every run is tested on the same texts
NOT_COMPARED = ("device", "checkpoint_every")  # a run may resume elsewhere and save at another rhythm


@dataclass(frozen=True)
class TrainingConfig:
    r"""Everything that a run depends on.

    Attributes:
        task: a name of `TASKS`.
        encoding: a name of `ENCODINGS`.
        seed: of weights and batches.
        steps, learning_rate, length: the task's own if None.
        batch_size: rows a step.
        warmup: steps until the learning rate is reached; then it falls along a cosine to a tenth.
        d_model, n_layers, n_heads, d_ff: sizes of the model.
        layout: which features the rotations pair.
        weight_decay, clip: AdamW's, and the largest norm of a gradient.
        own_rate: times the learning rate, for the encoding's own parameters: under Adam a parameter can move by
            little more than the sum of the learning rates, which for a table that starts small may be too little.
        evaluate_on: "test", or "tune" for runs that choose a learning rate: texts that are never reported.
        points: evaluations while training, one of them before the first step.
        rows, test_rows: texts in each of these, and in each test at the end.
        device: "auto" (CUDA when there is one), "cpu" or "cuda".
        checkpoint_every: steps between checkpoints.

    Raises:
        ValueError: a value is not allowed.

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
        """Return the same with the task's own values where None stood."""
        task = make_task(self.task)
        names = ("steps", "learning_rate", "length")
        return replace(self, **{name: getattr(task, name) for name in names if getattr(self, name) is None})


@dataclass(frozen=True)
class Point:
    """One evaluation: after which step, how well on unseen texts of the training length, and what it had cost."""

    step: int
    loss: float
    accuracy: float
    cpu_seconds: float  # of training, evaluations not counted
    wall_seconds: float


@dataclass(frozen=True)
class TrainingResult:
    """What a run leaves: the model, the curve, and loss and accuracy at the test lengths."""

    config: TrainingConfig
    model: TinyTransformer
    history: list[Point]
    tests: dict[int, tuple[float, float]]  # length -> (loss, accuracy); of longer texts at their new places
    seconds: float  # wall time of this call

    @property
    def parameters(self) -> int:
        """Return how many numbers were trained."""
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
        config: what to train.
        checkpoint: a file to write every `checkpoint_every` steps, and to go on from if it is there.
        model: one to go on training, in place, instead of a new one; its sizes and encoding are then its own.
        test_lengths: lengths at which to test at the end; the task's own if None.
        progress: whether to show a bar.

    Raises:
        ValueError: the checkpoint is damaged, or belongs to another configuration.

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
    r"""Return the learning rate of a step: up in a line, then down along a cosine to a tenth.

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
    """Return the device that "auto", "cpu" or "cuda" stands for here.

    >>> pick_device("cpu")
    device(type='cpu')
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError('device "cuda" was asked for, but torch sees no GPU; use "auto" or "cpu"')
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def make_model(config: TrainingConfig) -> TinyTransformer:
    """Build the model of a configuration, with the weights of its seed.

    Models of one seed that differ in the encoding alone share all other weights at the start.
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
    """Return the mean cross-entropy over the places that count, in nats."""
    loss = functional.cross_entropy(logits.flatten(0, -2), batch.targets.flatten(), reduction="none")
    return loss @ batch.weights.flatten() / batch.weights.sum()


def make_optimizer(model: TinyTransformer, config: TrainingConfig) -> torch.optim.AdamW:
    """Return AdamW with two rates: one for the encoding's own parameters, one for all others."""
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
    r"""Loss (nats) and share of right answers on unseen texts; of longer ones than trained, at their new places.

    Args:
        model: any.
        task: its `length` is the trained one; places that a text of it reaches are not new.
        length: of the texts, in the task's unit.
        rows: texts.
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
    """A run in progress: everything that a checkpoint must hold."""

    def __init__(self, config: TrainingConfig, model: TinyTransformer | None = None) -> None:
        self.config, self.task, self.device = config, _task(config), pick_device(config.device)
        self.model = (make_model(config) if model is None else model).to(self.device)
        self.optimizer = make_optimizer(self.model, config)
        self.step, self.cpu, self.wall = 0, 0.0, 0.0
        self.history: list[Point] = []
        self.evaluations = {round(n * config.steps / config.points) for n in range(config.points + 1)}

    def steps(self) -> Iterator[int]:
        """Take the remaining steps, one at a time; only their own time is counted."""
        if self.step == 0 and not self.history:
            self.evaluate()
        while self.step < self.config.steps:
            cpu, wall = time.process_time(), time.perf_counter()
            self._take_step()
            self.cpu += time.process_time() - cpu
            self.wall += time.perf_counter() - wall
            yield self.step

    def _take_step(self) -> None:
        of = self.config
        batch = _on(self.device, self.task.batch(of.seed, self.step, of.batch_size, of.length))
        self.step += 1
        for group in self.optimizer.param_groups:
            group["lr"] = group["rate"] * learning_rate(self.config, self.step)
        self.optimizer.zero_grad(set_to_none=True)
        answer_loss(self.model(batch.tokens), batch).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        self.optimizer.step()

    def evaluate(self) -> Point:
        """Measure on unseen texts of the training length and add a point to the curve."""
        loss, accuracy = self.test(self.config.rows, self.config.length)
        self.history.append(Point(self.step, loss, accuracy, round(self.cpu, 3), round(self.wall, 3)))
        return self.history[-1]

    def test(self, rows: int, length: int) -> tuple[float, float]:
        """Return `score` of the model on texts of the split that this run is judged by."""
        return score(self.model, self.task, length, rows, split=self.config.evaluate_on)

    def save(self, path: Path) -> None:
        """Write a checkpoint so that the file is the old one or the new one at every moment."""
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
        """Go on from a checkpoint."""
        state = _read_checkpoint(path)
        _check_same(path, state["config"], self.config)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, (self.cpu, self.wall) = state["step"], state["seconds"]
        self.history = [Point(*values) for values in state["history"]]


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file such that a reader, or a kill, finds either the old content or the new, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def _read_checkpoint(path: Path) -> dict:
    """Read a checkpoint without running any code in it; anything that is none is a ValueError."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds here, and all of them mean the same
        raise ValueError(
            f"checkpoint {path} is damaged or no checkpoint ({type(error).__name__}); delete it to start again"
        ) from error
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        found = state.get("format") if isinstance(state, dict) else type(state).__name__
        raise ValueError(f"checkpoint {path} must have the format {FORMAT!r}, got {found!r}")
    return state


def _check_same(path: Path, stored: dict, config: TrainingConfig) -> None:
    """Refuse a checkpoint of another run, and say what differs."""
    wanted = asdict(config)
    names = [field.name for field in fields(config) if field.name not in NOT_COMPARED]
    differ = [
        f"{name} is {stored.get(name)!r} there and {wanted[name]!r} here"
        for name in names
        if stored.get(name) != wanted[name]
    ]
    if differ:
        raise ValueError(f"checkpoint {path} belongs to another run: {'; '.join(differ)}")


def _task(config: TrainingConfig) -> Task:
    return make_task(config.task, length=config.length) if config.length else make_task(config.task)


def _bar(config: TrainingConfig, done: int, progress: bool):
    from tqdm.auto import tqdm  # only here: who trains without a bar needs it too, but not who reads results

    label = f"{config.task} · {config.encoding} · seed {config.seed}"
    return tqdm(total=config.steps, initial=done, desc=label, disable=not progress, leave=False)
