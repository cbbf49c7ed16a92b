r"""Which pairs a real head uses: SmolLM2's 270 heads on 768 tokens of three texts.

    PYTHONPATH=book python -m makers.real_heads --narrative genesis.txt             # a minute on one core

The texts are those of `makers.real_length`. For every head the file keeps, as means over the texts,

- `jobs`: the weight that it puts on the previous token, the first, the same token earlier (as in "same word"), the
  token after the same token ("after same": an induction head), and tokens at 128 or more without the first four
  ("far"), for each text;
- `share`: for every pair its share of the score's variance over keys, cov(cᵢ, s)/var(s), which sums to 1;
- `q`, `k`: the mean norm of q and k in every pair;
- `mean`: the mean score in octaves of distance, less its mean over them all;
- `turned`: the same of the mean q and the mean k, rotated, so that content and position have nothing in common.

`named` has the two best heads of each job, with the job that is left if pairs of this head alone are held still
(angle 0 for q and k) or removed (left out of the score); `each` removes one pair at a time.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

import rope_book
from makers.real_length import TRAINED, texts
from makers.runs import RunsFile, describe_machine
from rope_book.real import RealModel, load
from rope_book.results.real import FORMATS
from rope_edu.attention import split_heads
from rope_edu.attention.encoding import Rotary
from rope_edu.encodings import apply_rope, completes_turn, rope_angles, wavelength

DEFAULT_OUT = Path(rope_book.__file__).parent / "results" / "real_heads.json"
FORMAT = FORMATS["real_heads"]
TABLES = {"heads": ("layer", "head"), "named": ("name",)}
TOKENS, FAR, FIRST, FAST_TURN, BEST, OCTAVES = 768, 128, 4, 50, 2, 9
DOES = {
    "previous": "looks at the previous token",
    "first": "looks at the first token",
    "same": "looks at the same token where it came before",
    "after_same": "looks at the token that followed the same token before",
    "far": f"looks at tokens at {FAR} or more, the first {FIRST} left out",
}


def layers(model: RealModel, ids: list[int]) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield q `(heads, seq, head_dim)` and k, repeated for the heads that share it, not yet rotated, by layer."""
    tokens, encoding = torch.as_tensor(ids)[None], Rotary(model.spec)
    x = model.model.embedding(tokens)
    for block in model.model.blocks:
        layer, normed = block.attention, block.norm_1(x)
        k = split_heads(layer.w_k(normed), layer.n_kv_heads)[0]
        shared = layer.n_heads // layer.n_kv_heads
        yield split_heads(layer.w_q(normed), layer.n_heads)[0], k.repeat_interleave(shared, dim=0)
        x = block(x, encoding, range(len(ids)))


def turned(model: RealModel, x: Tensor, held: list[int]) -> Tensor:
    """Return q or k of a head, `(seq, head_dim)`, rotated, with some pairs held still."""
    angles = rope_angles(np.arange(len(x)), model.spec.inv_freq)
    angles[:, held] = 0.0
    return apply_rope(x, torch.from_numpy(angles), layout=model.spec.layout)


def score(model: RealModel, q: Tensor, k: Tensor, held: list[int]) -> Tensor:
    """Return a head's scaled scores, `(seq, seq)`, with some pairs held still."""
    return turned(model, q, held) @ turned(model, k, held).mT / q.shape[-1] ** 0.5


def without(model: RealModel, q: Tensor, k: Tensor, removed: list[int]) -> Tensor:
    """Return a head's scaled scores, `(seq, seq)`, without some pairs."""
    kept = torch.ones(q.shape[-1] // 2).index_fill(0, torch.tensor(removed), 0).repeat_interleave(2)
    return score(model, q * kept, k, [])


def weights(scores: Tensor) -> Tensor:
    """Return the causal weights of scores `(…, seq, seq)`."""
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -torch.inf).softmax(-1)


def targets(ids: list[int]) -> dict[str, Tensor]:
    """Return for every job the keys that count, bool `(seq, seq)`.

    >>> targets([5, 7, 5])["same"].int().tolist(), targets([5, 7, 5])["after_same"].int().tolist()
    ([[0, 0, 0], [0, 0, 0], [1, 0, 0]], [[0, 0, 0], [0, 0, 0], [0, 1, 0]])
    """
    tokens, at = torch.as_tensor(ids), torch.arange(len(ids))
    r = at[:, None] - at
    equal = tokens[:, None] == tokens
    after = torch.zeros_like(equal)
    after[:, 1:] = equal[:, :-1]
    return {
        "previous": r == 1,
        "first": (at == 0) & (r > 0),
        "same": equal & (r > 0),
        "after_same": after & (r > 0),
        "far": (r >= FAR) & (at >= FIRST),
    }


def done(mixed: Tensor, counts: Tensor) -> float:
    """Return the mean weight on the keys that count, over the queries that have one."""
    asked = counts.any(-1)
    return float((mixed * counts).sum(-1)[asked].mean())


def shares(q: Tensor, k: Tensor) -> Tensor:
    """Return every pair's share `(pairs,)` of the variance of the scores over the keys that a query sees.

    Rotated q and k `(seq, head_dim)` are interleaved, so neighbours are a pair.
    """
    scores, seen = q @ k.mT, torch.ones(len(q), len(q), dtype=torch.bool).tril()
    centred = (scores - (scores * seen).sum(-1, keepdim=True) / seen.sum(-1, keepdim=True)) * seen
    covariance = (q * (centred @ k)).sum(0).unflatten(-1, (-1, 2)).sum(-1)
    return covariance / covariance.sum()


def octaves(scores: Tensor) -> list[float]:
    """Return the mean score at distances 1, 2–3, 4–7, …, less the mean over these octaves."""
    diagonals = [float(scores.diagonal(-r).mean()) for r in range(1, 2**OCTAVES)]
    means = [np.mean(diagonals[2**n - 1 : 2 ** (n + 1) - 1]) for n in range(OCTAVES)]
    return [float(value) for value in np.array(means) - np.mean(means)]


def groups(model: RealModel) -> dict[str, list[int]]:
    """Return the fast, middle and slow pairs."""
    complete = completes_turn(model.spec.inv_freq, TRAINED)
    fast = wavelength(model.spec.inv_freq) <= FAST_TURN
    kinds = {"fast": fast, "middle": complete & ~fast, "slow": ~complete}
    return {name: np.flatnonzero(chosen).tolist() for name, chosen in kinds.items()}


def rounded(values: Tensor | np.ndarray | list[float], digits: int = 3) -> list[float]:
    """Return numbers with few digits."""
    return [round(float(value), digits) for value in values]


def look(model: RealModel, ids: list[int]) -> list[dict]:
    """Return one row for each head of one text, by layer and head."""
    rows, counts = [], targets(ids)
    for layer, (q, k) in enumerate(layers(model, ids)):
        norms = [x.unflatten(-1, (-1, 2)).norm(dim=-1).mean(-2) for x in (q, k)]
        for head in range(len(q)):
            scores = score(model, q[head], k[head], [])
            mixed = weights(scores)
            jobs = {job: done(mixed, keys) for job, keys in counts.items()}
            means = (x[head].mean(0).expand(2**OCTAVES, -1) for x in (q, k))
            numbers = {
                "share": shares(turned(model, q[head], []), turned(model, k[head], [])),
                "q": norms[0][head],
                "k": norms[1][head],
                "mean": octaves(scores),
                "turned": octaves(score(model, *means, [])),
            }
            rows.append({"layer": layer, "head": head, "jobs": jobs, **numbers})
    return rows


def averaged(rows: list[dict]) -> dict:
    """Return one row from those of the three texts."""
    jobs = {job: rounded([row["jobs"][job] for row in rows]) for job in DOES}
    digits = {"share": 3, "q": 1, "k": 1, "mean": 2, "turned": 2}
    numbers = {
        key: rounded(np.mean([np.asarray(row[key]) for row in rows], axis=0), many)
        for key, many in digits.items()
    }
    return {"layer": rows[0]["layer"], "head": rows[0]["head"], "jobs": jobs, **numbers}


def best_heads(rows: list[dict]) -> dict[str, tuple[str, int, int]]:
    """Return name -> (job, layer, head): the heads that do a job best on the text on which they do it worst."""
    named: dict[str, tuple[str, int, int]] = {}
    for job in DOES:
        ranked = sorted(rows, key=lambda row: -min(row["jobs"][job]))
        for n, row in enumerate(ranked[:BEST], 1):
            named[f"{job}_{n}"] = job, row["layer"], row["head"]
    return named


def ablate(model: RealModel, q: Tensor, k: Tensor, keys: Tensor) -> dict:
    """Return the job left to a head without some pairs, or with them held still."""
    left: dict[str, Callable[[list[int]], float]] = {
        "held": lambda pairs: done(weights(score(model, q, k, pairs)), keys),
        "removed": lambda pairs: done(weights(without(model, q, k, pairs)), keys),
    }
    result: dict = {
        way: {name: job(pairs) for name, pairs in groups(model).items()} for way, job in left.items()
    }
    return result | {"each": [left["removed"]([pair]) for pair in range(q.shape[-1] // 2)]}


@torch.inference_mode()
def main() -> None:
    """Look into all heads, then into the named ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--narrative", type=Path, required=True, help="Genesis and the beginning of Exodus")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model, started = load(), time.monotonic()
    ids = {kind: model.ids(text)[:TOKENS] for kind, text in texts(options.narrative).items()}
    digests = {kind: hashlib.sha256(str(row).encode()).hexdigest()[:16] for kind, row in ids.items()}
    settings = {"tokens": TOKENS, "texts": digests, "pairs": groups(model), "does": DOES}
    file = RunsFile(options.out, FORMAT, settings, describe_machine("cpu", 1), TABLES)
    if not file.rows["heads"]:
        looks = [look(model, row) for row in ids.values()]
        file.rows["heads"] = [averaged(list(rows)) for rows in zip(*looks, strict=True)]
    found = best_heads(file.rows["heads"])
    left: dict[str, list[dict]] = {name: [] for name in found}
    for row in ids.values():
        counts = targets(row)
        for layer, (q, k) in enumerate(layers(model, row)):
            for name, (job, chosen, head) in found.items():
                if chosen == layer:
                    left[name].append(ablate(model, q[head], k[head], counts[job]))
    file.rows["named"] = []
    for name, (job, layer, head) in found.items():
        each = rounded(np.mean([result["each"] for result in left[name]], axis=0))
        tables = {
            way: {group: rounded([result[way][group] for result in left[name]]) for group in groups(model)}
            for way in ("held", "removed")
        }
        row = {"name": name, "job": job, "layer": layer, "head": head, **tables, "each": each}
        file.add("named", row, time.monotonic() - started)
        started = time.monotonic()


if __name__ == "__main__":
    main()
