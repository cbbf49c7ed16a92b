"""What figures take from Python: each entry is written into a script that imports ``../data/<name>.js``.

The module exports one constant, the name in capitals: ``import { GRID } from "../data/grid.js";``.
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from rope_edu.encodings.precision import PIPELINES, SIGNIFICAND_BITS

from ._grid import grid_table
from .maths import decoding, order, patients, words


def _precision() -> dict:
    """Return the number formats and the named pipelines, without their notes."""
    pipelines = {name: asdict(pipeline) for name, pipeline in PIPELINES.items()}
    for pipeline in pipelines.values():
        del pipeline["note"]
    return {"significandBits": SIGNIFICAND_BITS, "pipelines": pipelines}


def _words() -> dict:
    """Return the constants of the small head that reads a sentence."""
    seeds = {"query": words.MATRIX_SEEDS["w_q"], "key": words.MATRIX_SEEDS["w_k"], "shaw": words.SHAW_SEED}
    return {"width": words.D_MODEL, "seeds": seeds, "clip": words.SHAW_CLIP, "slope": words.ALIBI_SLOPE}


DATA: dict[str, Callable[[], Any]] = {
    "decoding": lambda: {
        "headDim": decoding.HEAD_DIM,
        "base": decoding.BASE,
        "trained": decoding.TRAINED,
        "factor": decoding.FACTOR,
    },
    "grid": grid_table,
    "order": lambda: {"query": order.W_Q, "key": order.W_K, "value": order.W_V, "seed": order.SEED},
    "patients": patients.patients,
    "precision": _precision,
    "words": _words,
}
