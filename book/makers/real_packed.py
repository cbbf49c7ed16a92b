r"""Two documents in one row of SmolLM2: does a mask or a restart of the positions keep the second as it is alone?

    PYTHONPATH=book python -m makers.real_packed                # half a minute on one core

Three documents of 256 tokens, this book's prose, Python's help and Python code, each follow another. The file keeps
the mean loss of each in nats, alone and in every combination of mask and restart, from its second token on.

Expected before the first run: with a mask the loss is that alone to 1e-4, with and without a restart. Without a
mask, run on, it lies within 0.2 nats of that alone; with a restart it is higher, on all three, since two tokens
then share each position. A restart alone never brings the loss within 0.01 of that alone.

Observed: all of this. A restart without a mask costs 1.5 to 2.4 nats, neither of the two at most 0.07.
"""

from __future__ import annotations

import argparse
import pydoc_data.topics
import textwrap
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import rope_book
from makers.runs import RunsFile, describe_machine
from rope_book.real import RealModel, load
from rope_book.results.real import FORMATS
from rope_edu.attention.encoding import Rotary
from rope_edu.encodings import RopeSpec

DEFAULT_OUT = Path(rope_book.__file__).parent / "results" / "real_packed.json"
FORMAT = FORMATS["real_packed"]
TABLES = {"losses": ("text", "way")}
TOKENS = 256
ALONE = "alone"


class Masked(Rotary):
    """RoPE in rows of two documents, which do not see each other."""

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__(spec)
        document = torch.arange(2 * TOKENS) // TOKENS
        self.between = torch.zeros(2 * TOKENS, 2 * TOKENS).masked_fill(
            document[:, None] != document, -torch.inf
        )

    def bias(self, q: Any, k_len: int) -> Tensor:
        return self.between


def documents() -> dict[str, str]:
    """Return the three texts by kind."""
    return {
        "prose": files("rope_book.training").joinpath("prose.txt").read_text("utf-8"),
        "technical": pydoc_data.topics.topics["assignment"],
        "code": Path(textwrap.__file__).read_text(encoding="utf-8"),
    }


def losses(model: RealModel, before: list[int], ids: list[int]) -> dict[str, float]:
    """Return the mean loss of a document in every way."""
    run_on = torch.arange(2 * TOKENS)
    found = {ALONE: model.losses(ids)}
    for mask, encoding in (("mask", Masked(model.spec)), ("no mask", Rotary(model.spec))):
        for count, positions in (("run on", run_on), ("restart", run_on % TOKENS)):
            found[f"{mask}, {count}"] = model.losses(before + ids, encoding, positions=positions)[TOKENS:]
    return {way: round(float(each.mean()), 5) for way, each in found.items()}


def main() -> None:
    """Run what is missing in the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = load()
    ids = {kind: model.ids(text)[:TOKENS] for kind, text in documents().items()}
    file = RunsFile(options.out, FORMAT, {"tokens": TOKENS}, describe_machine("cpu", 1), TABLES)
    for before, kind in zip(ids, [*ids][1:] + [*ids][:1], strict=True):
        if not file.has("losses", text=kind):
            started = time.monotonic()
            for way, loss in losses(model, ids[before], ids[kind]).items():
                file.add("losses", {"text": kind, "way": way, "loss": loss}, time.monotonic() - started)
                started = time.monotonic()


if __name__ == "__main__":
    main()
