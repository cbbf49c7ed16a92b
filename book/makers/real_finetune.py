r"""A short fine-tune of SmolLM2 to twice its length under PI, NTK-aware scaling and YaRN, by skipped positions.

    PYTHONPATH=book python -m makers.real_finetune --narrative genesis.txt --training later.txt --keep FOLDER

A step reads one window of 2,048 tokens whose positions reach up to 16,384 (PoSE): from a random token on, all
positions are moved by the same skip, and the skips of all steps spread evenly. The text itself is contiguous, and
neither a mask nor a document boundary marks the skip. All rules see the same windows and skips, in rounds of five
steps, so that they stay together: AdamW after a short warm-up, no weight decay, all weights. The rate is the best
of 2e-5, 1e-4 and 3e-4 for PI, in a pilot on other windows.

Windows come in turn from three kinds, none twice and none from the texts that are read:

- narrative: `bible -l66 'exo15:1-rev22:21'` of Debian's bible-kjv 4.38; read: its beginning, to exo14:1;
- technical: the docstrings of Python's standard library without `argparse`; read: the topics of `help()`;
- code: the modules of the standard library without `argparse`; read: `argparse.py`.

Before and after, every rule reads the first 2,048 tokens of the three and of Python's licence, a kind that the
training lacks, and then 16,384 of the three. "plain" is the model as it is; "late" never leaves its trained length,
as in `real_length.py`; "pi-2-lost" has the weights that were tuned under PI and reads without it, as when a file
loses its rule. The results file keeps each window's loss before its step, and mean losses in nats by sixteenth of a
text.

Stop it at any time; the same command resumes from FOLDER (1.6 GB for each rule), which it never deletes. A step
takes some 25 seconds on one core, a pass over 16,384 tokens three minutes.

Source: Zhu 2023, arXiv 2309.10400 (PoSE); Chen 2023, arXiv 2306.15595 (PI, whose betas and decay are used).
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

import rope_book
from makers.real_length import LATE, READINGS, TRAINED, by_place, losses_of, texts
from makers.runs import RunsFile, describe_machine
from rope_book.real import RealModel, load
from rope_book.results.real import FORMATS
from rope_edu.attention.encoding import Rotary

DEFAULT_OUT = Path(rope_book.__file__).parent / "results" / "real_finetune.json"
FORMAT = FORMATS["real_finetune"]
TABLES = {"training": ("name", "step"), "passes": ("text", "tokens", "name", "steps")}
RULES = ("pi-2", "ntk-aware-2", "yarn-2")
REACH, WINDOW, SHORT, ROUND, SEED = 2 * TRAINED, 2048, 2048, 5, 20261127
GOLDEN = (5**0.5 - 1) / 2  # its multiples, modulo 1, spread evenly, however many there are
RATE, BETAS, WARM_UP = 1e-4, (0.9, 0.95), 5
LIBRARY = Path(sysconfig.get_path("stdlib"))
LONG = ("narrative", "technical", "code")


def training_texts(narrative: Path) -> dict[str, str]:
    """Return the training texts by kind."""
    modules = [
        path.read_text(encoding="utf-8") for path in sorted(LIBRARY.glob("*.py")) if path.stem != "argparse"
    ]
    return {
        "narrative": narrative.read_text(encoding="utf-8"),
        "technical": "\n\n".join(text for module in modules for text in docstrings(module)),
        "code": "\n\n".join(modules),
    }


def docstrings(module: str) -> Iterator[str]:
    """Yield the docstrings of a module's source."""
    for node in ast.walk(ast.parse(module)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from filter(None, [ast.get_docstring(node)])


def window_at(step: int, kinds: list[list[int]]) -> Tensor:
    """Return the ids of a step's window, `(WINDOW + 1,)`: kinds in turn, and no window of a kind twice."""
    turn, which = divmod(step, len(kinds))
    ids = kinds[which]
    order = np.random.default_rng([SEED, which]).permutation((len(ids) - 1) // WINDOW)
    start = WINDOW * order[turn]
    return torch.tensor(ids[start : start + WINDOW + 1])


def positions_at(step: int) -> Tensor:
    """Return a step's positions, `(WINDOW,)`: two runs, and between them a skip that stays within REACH."""
    split = np.random.default_rng([SEED, 1000 + step]).integers(1, WINDOW)
    positions = torch.arange(WINDOW)
    positions[split:] += int((step + 1) * GOLDEN % 1 * (REACH - WINDOW + 1))
    return positions


class Tuned:
    """A model under one rule, with its optimizer and a file that holds both."""

    def __init__(self, name: str, folder: Path, rate: float = RATE) -> None:
        self.real, self.path, self.rate, self.step = load(), folder / f"{name}.pt", rate, 0
        self.encoding = Rotary(READINGS[name](self.real.spec).rope)
        self.real.model.requires_grad_(True)
        self.optimizer = torch.optim.AdamW(
            self.real.model.parameters(), rate, BETAS, weight_decay=0, fused=True
        )
        if self.path.exists():
            state = torch.load(self.path, mmap=True)
            self.step = state["step"]
            self.real.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])

    def train(self, kinds: list[list[int]]) -> float:
        """Take a step, and return the loss of its window before it."""
        ids, model = window_at(self.step, kinds), self.real.model
        vectors = model(ids[None, :-1], self.encoding, positions_at(self.step))
        loss = functional.cross_entropy(model.head(vectors)[0], ids[1:])
        loss.backward()
        self.optimizer.param_groups[0]["lr"] = self.rate * min(1, (self.step + 1) / WARM_UP)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.step += 1
        return loss.item()

    def save(self) -> None:
        """Replace the file."""
        state = {
            "step": self.step,
            "model": self.real.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        torch.save(state, self.path.with_suffix(".new"))
        self.path.with_suffix(".new").replace(self.path)


def train_round(file: RunsFile, name: str, folder: Path, steps: int, kinds: list[list[int]]) -> None:
    """Train one rule up to a number of steps."""
    tuned, started = Tuned(name, folder), time.monotonic()
    rows = [
        {"name": name, "step": tuned.step, "loss": round(tuned.train(kinds), 4)}
        for _ in range(tuned.step, steps)
    ]
    tuned.save()
    for row in rows:
        file.add("training", row, (time.monotonic() - started) / len(rows))


class Measure:
    """Reads the texts under a name, unless the file has them."""

    def __init__(self, file: RunsFile, texts: dict[str, list[int]]) -> None:
        self.file, self.texts = file, texts

    def short(self, model: RealModel, name: str, steps: int, *, reading: str) -> None:
        """Read the first tokens of every text."""
        for text in self.texts:
            self._add(model, text, SHORT, name, steps, reading)

    def long(self, model: RealModel, name: str, steps: int, text: str) -> None:
        """Read a text to twice the trained length."""
        self._add(model, text, REACH, name, steps, name)

    def _add(self, model: RealModel, text: str, tokens: int, name: str, steps: int, reading: str) -> None:
        key, started = {"text": text, "tokens": tokens, "name": name, "steps": steps}, time.monotonic()
        if not self.file.has("passes", **key):
            row = key | by_place(losses_of(model, self.texts[text][:tokens], reading))
            self.file.add("passes", row, time.monotonic() - started)


def main() -> None:
    """Run what is missing in the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--narrative", type=Path, required=True, help="Genesis and the beginning of Exodus")
    parser.add_argument("--training", type=Path, required=True, help="the rest of the Bible")
    parser.add_argument("--keep", type=Path, required=True, help="a folder for models and optimizers")
    parser.add_argument("--steps", type=int, default=30, help="steps for each rule (30); 0 only reads")
    parser.add_argument("--long", nargs="*", default=LONG, metavar="TEXT", help="texts to read to 16,384")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = load()
    read = {kind: model.ids(text) for kind, text in texts(options.narrative).items()}
    read["law"] = model.ids((LIBRARY / "LICENSE.txt").read_text(encoding="utf-8"))
    kinds = [model.ids(text) for text in training_texts(options.training).values()]
    digest = hashlib.sha256(str([ids[:REACH] for ids in read.values()] + kinds).encode()).hexdigest()[:16]
    settings = {
        "rate": RATE,
        "betas": list(BETAS),
        "warm_up": WARM_UP,
        "window": WINDOW,
        "reach": REACH,
        "seed": SEED,
        "texts": digest,
    }
    file = RunsFile(options.out, FORMAT, settings, describe_machine("cpu", 1), TABLES)
    for steps in range(ROUND, options.steps + 1, ROUND):
        for name in RULES:
            if not file.has("training", name=name, step=steps - 1):
                train_round(file, name, options.keep, steps, kinds)
    measure = Measure(file, read)
    tuned = {name: Tuned(name, options.keep).real for name in RULES if options.steps}
    for name, changed in tuned.items():
        measure.short(changed, name, options.steps, reading=name)
        measure.short(changed, f"{name}-lost", options.steps, reading="plain")
    for name in ("plain", *RULES):
        measure.short(model, name, 0, reading=name)
    for text in options.long:
        for name, changed in tuned.items():
            measure.long(changed, name, options.steps, text)
    for text in options.long:
        for name in (LATE, "plain", *RULES):
            measure.long(model, name, 0, text)


if __name__ == "__main__":
    main()
