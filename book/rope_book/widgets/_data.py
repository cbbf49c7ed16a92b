"""Provide data for the figures' scripts: ``../data/<name>.js`` contains the entry ``<name>`` of ``DATA``.

Each data module exports one constant, named in capitals, as in ``import { GRID } from "../data/grid.js";``.
"""

import re
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from rope_book.results import MODELS, load_base_bound
from rope_book.results.page_heads import read_page_heads
from rope_book.results.page_models import read_page_models
from rope_doctor.config import PRESETS, RULES
from rope_doctor.config.gguf_rotation import ALSO_READ, FACTS, KEYS
from rope_doctor.precision import PIPELINES, SIGNIFICAND_BITS

from ._grid import grid_table
from ._questions import questions
from ._registry import FIGURES
from .maths import (
    damage,
    decoding,
    gained,
    length,
    order,
    page_training,
    patients,
    rail,
    stretch,
    two_layouts,
    words,
)


def _precision() -> dict:
    """Return the significand bits of number formats, and the named pipelines without their notes."""
    pipelines = {name: asdict(pipeline) for name, pipeline in PIPELINES.items()}
    for pipeline in pipelines.values():
        del pipeline["note"]
    return {"significandBits": SIGNIFICAND_BITS, "pipelines": pipelines}


def _bases() -> dict:
    """Return the first negative distance for each of many bases, and the numbers of well-known models."""
    bound = load_base_bound()
    return {
        "bases": bound.bases.tolist(),
        "firstNegative": {str(width): row.tolist() for width, row in bound.first_negative.items()},
        "models": [
            {"name": m.name, "base": m.base, "rotaryDim": m.rotary_dim, "context": m.context} for m in MODELS
        ],
    }


def _page_models() -> dict:
    """Return the trained models without their configurations and versions."""
    models = read_page_models()["models"]
    return {
        task: {k: v for k, v in model.items() if k not in ("config", "versions")}
        for task, model in models.items()
    }


def _page_heads() -> dict:
    """Return the sentences and SmolLM2's heads, without the rest of the file."""
    content = read_page_heads()
    return {name: content[name] for name in ("sentences", "heads")}


def _words() -> dict:
    """Return the constants of the small attention head in the figures with sentences."""
    seeds = {"query": words.MATRIX_SEEDS["w_q"], "key": words.MATRIX_SEEDS["w_k"], "shaw": words.SHAW_SEED}
    return {"width": words.D_MODEL, "seeds": seeds, "clip": words.SHAW_CLIP, "slope": words.ALIBI_SLOPE}


def _leads() -> dict[str, dict[str, Any]]:
    """Return the lead controls and the reduced options of each figure that declares lead controls."""
    return {
        name: {"lead": list(figure.lead), "few": {trait: list(few) for trait, few in figure.few.items()}}
        for name, figure in FIGURES.items()
        if figure.lead
    }


def _presets() -> list[dict[str, Any]]:
    """Return the presets, with Hugging Face URLs shortened to the model name, so that they fit on one line."""
    model = re.compile(r"https://huggingface\.co/(\S+)/blob/main/config\.json")
    return [
        {
            "name": preset.name,
            "config": preset.config,
            "source": model.sub(r"the config.json of \1 at Hugging Face", preset.source),
        }
        for preset in PRESETS
    ]


DATA: dict[str, Callable[[], Any]] = {
    "bases": _bases,
    "config_rules": lambda: RULES,
    "damage": damage.damage,
    "decoding": lambda: {
        "headDim": decoding.HEAD_DIM,
        "base": decoding.BASE,
        "trained": decoding.TRAINED,
        "factor": decoding.FACTOR,
        "number": decoding.NUMBER,
    },
    "gained": lambda: {"q": gained.Q, "k": gained.K},
    "gguf": lambda: {
        "facts": {name: fact for name, fact in FACTS.items() if name != "source"},
        "keys": KEYS,
        "also_read": ALSO_READ,
    },
    "grid": grid_table,
    "layouts": lambda: {
        "base": two_layouts.BASE,
        "distance": two_layouts.DISTANCE,
        "query": two_layouts.QUERY,
        "key": two_layouts.KEY,
        "runs": two_layouts.RUNS,
    },
    "leads": _leads,
    "length": length.costs,
    "order": lambda: {"query": order.W_Q, "key": order.W_K, "value": order.W_V, "seed": order.SEED},
    "page_heads": _page_heads,
    "page_models": _page_models,
    "patients": patients.patients,
    "precision": _precision,
    "presets": _presets,
    "rail": lambda: {
        "theta": rail.THETA,
        "places": rail.PLACES,
        "room": rail.ROOM,
        "before": rail.BEFORE,
        "arrows": rail.ARROWS,
    },
    "questions": questions,
    "record": lambda: page_training.RECORD,
    "prose": lambda: page_training.PROSE.read_text(encoding="ascii"),
    "rules": lambda: stretch.RULES,
    "words": _words,
}
