r"""Heads of SmolLM2 for the page, found by what they do: their queries and keys on three sentences, in 8 bits.

    PYTHONPATH=book python -m makers.page_heads --narrative ruth.txt        # two minutes on an idle core

`rope_book.widgets.maths.real_head.targets` says which keys each job is about. For every head and job we take the
mean weight on these keys over the first 512 tokens of the texts of `makers.real_mistakes`. A job's head is the
one with the largest weight on the text on which it does the job worst; no head has two jobs. The file keeps

- `best`: for each job its three best heads, as [layer, head, weight on each text];
- `sentences`: the tokens of three sentences of ours, 20 each;
- `heads`: each chosen head's q and k, before the rotation, on the three sentences: `(64, 60)`, a scale per feature.

Queries and keys are those of the right model, so a changed rotation in the figure acts in this one head alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np
import torch

import rope_book
from makers.real_mistakes import TOKENS, texts
from makers.runs import describe_machine
from rope_book.real import RealModel, load
from rope_book.results.page_heads import FORMAT
from rope_book.results.page_models import packed
from rope_book.training.loop import write_atomically
from rope_book.widgets.maths.real_head import JOBS, head_weights, job_done, targets
from rope_edu.attention.encoding import PositionEncoding, Rotary

DEFAULT_OUT = Path(rope_book.__file__).parent / "results" / "page_heads.json"
SENTENCES = (
    "The cat saw the dog, and the dog saw the cat. Then the cat saw the dog,",
    "Alice gave the red book to Bob. Later, when they met again, Bob gave the red book",
    "sum = start\nfor price in prices:\n    sum = sum + price\nprint(sum)",
)
KEPT = 3  # heads of each job in the table


class Recorded(PositionEncoding):
    """The right rotation; it keeps the queries and keys of every layer as they were before it."""

    def __init__(self, model: RealModel) -> None:
        self.right, self.queries, self.keys = Rotary(model.spec), [], []

    def rotate_q(self, q: torch.Tensor, positions: range) -> torch.Tensor:
        self.queries.append(q[0].double().numpy())
        return self.right.rotate_q(q, positions)

    def rotate_k(self, k: torch.Tensor, positions: range) -> torch.Tensor:
        self.keys.append(k[0].double().numpy())
        return self.right.rotate_k(k, positions)


Heads = dict[tuple[int, int], tuple[np.ndarray, np.ndarray]]


def heads_of(model: RealModel, ids: list[int]) -> Heads:
    """Return q and k of every head, `(seq, head_dim)` each, by layer and head."""
    seen = Recorded(model)
    model.losses(ids, seen)
    shared = model.model.sizes.n_heads // model.model.sizes.n_kv_heads
    return {
        (layer, head): (q[head], k[head // shared])
        for layer, (q, k) in enumerate(zip(seen.queries, seen.keys, strict=True))
        for head in range(len(q))
    }


def tokens_of(model: RealModel, ids: list[int]) -> list[str]:
    """Return the text of every token."""
    return [model.text([token]) for token in ids]


def measure(model: RealModel, ids: list[int]) -> dict[str, dict[tuple[int, int], float]]:
    """Return how well every head does every job on a text."""
    tokens = tokens_of(model, ids)
    counts = {job: targets(job, tokens) for job in JOBS}
    done: dict[str, dict[tuple[int, int], float]] = {job: {} for job in JOBS}
    for at, (q, k) in heads_of(model, ids).items():
        weights = head_weights(q, k, 0, model.spec)
        for job, keys in counts.items():
            done[job][at] = job_done(weights, keys)
    return done


def best_heads(measured: list[dict[str, dict[tuple[int, int], float]]]) -> dict[str, list[list[float]]]:
    """Return each job's best heads, by their worst text: [layer, head, weight on each text]."""
    best = {}
    for job in JOBS:
        rows = [[*at, *(round(text[job][at], 3) for text in measured)] for at in measured[0][job]]
        best[job] = sorted(rows, key=lambda row: -min(row[2:]))[:KEPT]
    return best


def chosen(best: dict[str, list[list[float]]]) -> dict[str, tuple[int, int]]:
    """Return job -> (layer, head), each head once."""
    taken: dict[str, tuple[int, int]] = {}
    for job, rows in best.items():
        free = [(int(row[0]), int(row[1])) for row in rows if (row[0], row[1]) not in taken.values()]
        taken[job] = free[0]
    return taken


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--narrative", type=Path, required=True, help="the book of Ruth")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = load()
    ids = {kind: model.ids(text)[:TOKENS] for kind, text in texts(options.narrative).items()}
    best = best_heads([measure(model, row) for row in ids.values()])
    sentences = [model.ids(text) for text in SENTENCES]
    seen = [heads_of(model, row) for row in sentences]
    heads = []
    for job, at in chosen(best).items():
        q, k = (np.concatenate([heads[at][n] for heads in seen]) for n in (0, 1))
        heads.append({"job": job, "layer": at[0], "head": at[1], "q": packed(q.T), "k": packed(k.T)})
    content = {
        "format": FORMAT,
        "meta": {
            "texts": {kind: hashlib.sha256(str(row).encode()).hexdigest()[:16] for kind, row in ids.items()},
            **describe_machine("cpu", 1),
        },
        "best": best,
        "sentences": [tokens_of(model, row) for row in sentences],
        "heads": heads,
    }
    write_atomically(options.out, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())


if __name__ == "__main__":
    main()
