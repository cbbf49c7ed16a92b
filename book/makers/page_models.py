r"""Train the models that run in the page, round them to 8 bits, and write them with their texts into one JSON file.

    PYTHONPATH=book python -m makers.page_models                      # both: about a minute on one core
    PYTHONPATH=book python -m makers.page_models text --out mine.json

A model in the file with the same configuration is kept, so the same command resumes after an interruption. Read the
file with `rope_book.results.load_page_models`, run a model with `rope_book.training.restore`.
"""

from __future__ import annotations

import argparse
import json
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

import rope_book
from rope_book.results.page_models import FORMAT, UNCOUNTED, packed, read_page_models, unpacked
from rope_book.training.loop import TEST_SEED, TrainingConfig, answer_loss, train, write_atomically
from rope_book.training.tasks import Batch, make_task
from rope_book.training.transformer import TinyTransformer

SHARED = {"n_heads": 2, "device": "cpu", "points": 1, "rows": 16, "test_rows": 16}
CONFIGS = (
    TrainingConfig("back", length=32, steps=1500, **SHARED),
    TrainingConfig("text", length=64, steps=600, **SHARED),
)
LETTERS = {"back": "abcdefghijklmnop"}  # easier to read than two-digit numbers
TEXTS = 4  # texts that the page tests
LONGEST = 16  # longest text, in trained lengths
REFERENCE = 256  # texts for the record "reached"
BASE = 10_000.0
DEFAULT_OUT = Path(rope_book.__file__).parent / "results" / "page_models.json"


def describe_model(config: TrainingConfig, trained: TinyTransformer) -> dict[str, Any]:
    r"""Return the record of a trained model: rounded weights, and their accuracy and loss."""
    task = make_task(config.task, length=config.length)
    weights = {name: packed(weight.numpy()) for name, weight in trained.state_dict().items()}
    trained.load_state_dict({name: torch.tensor(unpacked(stored)) for name, stored in weights.items()})
    alphabet = LETTERS[task.name] + "^" if task.name in LETTERS else task.spell(range(task.vocab_size))
    texts, answers = _texts(task.batch(TEST_SEED, 0, TEXTS, LONGEST * config.length, split="test"), alphabet)
    return {
        "task": task.name,
        "length": config.length,
        "n_heads": config.n_heads,
        "head_dim": config.d_model // config.n_heads,
        "base": BASE,
        "alphabet": alphabet,
        "config": asdict(config),
        "reached": _reached(trained, task.batch(TEST_SEED, 1, REFERENCE, config.length, split="test")),
        "texts": texts,
        "answers": answers,
        "weights": weights,
    }


def _texts(batch: Batch, alphabet: str) -> tuple[list[str], list[str]]:
    """Return tokens and answers as rows of characters."""
    answers = np.where(batch.weights.numpy() > 0, batch.targets.numpy(), -1)
    letters = alphabet + UNCOUNTED  # an uncounted answer has index −1
    return tuple(
        ["".join(letters[token] for token in row) for row in rows]
        for rows in (batch.tokens.tolist(), answers.tolist())
    )


@torch.no_grad()
def _reached(model: TinyTransformer, batch: Batch) -> dict[str, float]:
    """Return the share of right answers and the loss, rounded."""
    logits = model(batch.tokens)
    right = (logits.argmax(-1) == batch.targets) * batch.weights
    share = float(right.sum() / batch.weights.sum())
    return {"accuracy": round(share, 3), "loss": round(float(answer_loss(logits, batch)), 3)}


def write_models(tasks: list[str], out: Path) -> None:
    """Train the missing models, and write the file after each; raise ValueError if it has another format."""
    versions = {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__}
    models = read_page_models(out)["models"] if out.exists() else {}
    for config in CONFIGS:
        config = config.resolved()
        if config.task not in tasks or models.get(config.task, {}).get("config") == asdict(config):
            continue
        models[config.task] = describe_model(config, train(config).model) | {"versions": versions}
        stored = {
            "format": FORMAT,
            "models": {c.task: models[c.task] for c in CONFIGS if c.task in models},
        }
        text = json.dumps(stored, ensure_ascii=True, indent=1)
        write_atomically(out, (text + "\n").encode())
        print(f"{config.task}: {models[config.task]['reached']}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Train the models that run in the page.")
    names = [config.task for config in CONFIGS]
    parser.add_argument("tasks", nargs="*", help=f"of {', '.join(names)}; all if none is given")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="the file to write or to complete")
    options = parser.parse_args()
    if unknown := set(options.tasks) - set(names):
        parser.error(f"tasks must be of {', '.join(names)}, got {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)  # the same order of summation on every machine
    write_models(options.tasks or names, options.out)


if __name__ == "__main__":
    main()
