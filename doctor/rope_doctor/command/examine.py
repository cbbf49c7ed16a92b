r"""Diagnose a rotation by probing it as a black box, and report its layout, frequencies and mistakes.

    rope-doctor diagnose mymodel:rotate --head-dim 128
    rope-doctor diagnose mymodel:rotate --head-dim 128 --base 500000 --layout half_split
    rope-doctor diagnose mymodel:rotate --config config.json --takes "batch heads seq head_dim"

`mymodel:rotate` names a function `(x, positions) -> rotated x`, with x `(seq, head_dim)` and positions `(seq,)`, or
x with the axes given by --takes. It receives torch tensors with --torch, otherwise NumPy arrays. --base compares it
with plain RoPE at that base, and --config with the rotation in a config.json or GGUF. The exit status is 0 if no
mistake was found, 1 if there is one, 2 if the function could not be examined.
"""

import argparse
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from rope_doctor.clinic import diagnose
from rope_doctor.command.importing import load_function
from rope_doctor.config.files import rotation_of
from rope_edu.encodings.spec import RopeSpec, plain_rope


def run(chosen: argparse.Namespace) -> tuple[int, object, str]:
    """Diagnose a function; exit status 0 if no mistake is found, 1 if one is."""
    expected = _expected(chosen)
    head_dim = chosen.head_dim or (expected and expected.head_dim) or 0
    rotate = load_function(chosen.function)
    rotate = _with_tensors(rotate) if chosen.torch else rotate
    result = diagnose(rotate, head_dim, against=expected, takes=chosen.takes)
    return 1 if result.mistakes else 0, asdict(result) | {"text": str(result)}, str(result)


def _with_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    import torch

    def rotate(x: np.ndarray, positions: np.ndarray) -> Any:
        rotated = function(torch.tensor(x), torch.tensor(positions))
        return rotated.detach().cpu().double().numpy() if isinstance(rotated, torch.Tensor) else rotated

    return rotate


def _expected(chosen: argparse.Namespace) -> RopeSpec | None:
    """Return the rotation specified by the options, or None; ValueError if options are incompatible."""
    if chosen.config is not None:
        if chosen.base or chosen.rotary_dim or chosen.layout:
            raise ValueError("--config states base, width and layout: omit --base, --rotary-dim and --layout")
        return rotation_of(chosen.config, chosen.layer_type)
    if chosen.layer_type:
        raise ValueError("--layer-type needs --config")
    if chosen.head_dim is None:
        raise ValueError("--head-dim is missing: the width of x")
    if chosen.base is None:
        if chosen.rotary_dim or chosen.layout:
            raise ValueError("--rotary-dim and --layout need --base")
        return None
    layout = chosen.layout or "interleaved"
    return plain_rope(chosen.head_dim, chosen.base, rotary_dim=chosen.rotary_dim, layout=layout)
