r"""Diagnose a rotation: call it as a black box, and say what it does and what is wrong with it.

    rope-edu diagnose mymodel:rotate --head-dim 128
    rope-edu diagnose mymodel:rotate --head-dim 128 --base 500000 --layout half_split
    rope-edu diagnose mymodel:rotate --config config.json --takes "batch heads seq head_dim"

`mymodel:rotate` names a function `(x, positions) -> rotated x`, x `(seq, head_dim)` and positions `(seq,)`, or x
with the axes of --takes. It gets torch tensors with --torch, NumPy arrays otherwise. With --base it is held against
plain RoPE of that base, with --config against the rotation that a model's config.json or GGUF states. The exit
status is 0 if no mistake was found, 1 if one was, 2 if it could not be examined.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import reduce
from importlib import import_module
from typing import cast

import numpy as np

from rope_edu.clinic.broken import Rotation
from rope_edu.clinic.diagnosis import diagnose
from rope_edu.config.files import rotation_of
from rope_edu.encodings.layouts import LAYOUTS
from rope_edu.encodings.spec import RopeSpec, plain_rope


def find(name: str, as_torch: bool) -> Rotation:
    """The function that "module:function" names; ValueError if there is none."""
    module, colon, function = name.partition(":")
    if not colon or not module or not function:
        raise ValueError(f"the function must be written module:function, got {name!r}")
    try:
        found = reduce(getattr, function.split("."), import_module(module))
    except Exception as error:  # whatever a module of somebody's raises while it is imported
        raise ValueError(f"{name} is not found: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise ValueError(f"{name} must be a function, got {type(found).__name__}")
    return _with_tensors(found) if as_torch else found


def _with_tensors(function: Rotation) -> Rotation:
    import torch

    as_tensors = cast("Callable[[object, object], object]", function)

    def rotate(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        rotated: object = as_tensors(torch.tensor(x), torch.tensor(positions))
        if isinstance(rotated, torch.Tensor):
            return np.asarray(rotated.detach().cpu().double().numpy())
        return rotated  # type: ignore[return-value]  # anything: the probe says what is wrong with it

    return rotate


def _parser(prog: str) -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog, description=__doc__, formatter_class=form)
    parser.add_argument("function", help="module:function")
    parser.add_argument("--head-dim", type=int, help="width of x; with --config that of the file")
    parser.add_argument("--torch", action="store_true", help="pass and expect torch tensors")
    parser.add_argument("--base", type=float, help="compare with plain RoPE of this base")
    parser.add_argument("--rotary-dim", type=int, help="with --base: width that turns; else all features")
    parser.add_argument("--layout", choices=LAYOUTS, help="with --base: layout wanted; else interleaved")
    parser.add_argument("--config", help="compare with the rotation of this config.json or GGUF")
    axes = "axes of x, such as: batch heads seq head_dim"
    parser.add_argument("--takes", default="seq head_dim", help=axes)
    parser.add_argument("--layer-type", help="with --config: which layers, where they differ")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _wanted(chosen: argparse.Namespace) -> RopeSpec | None:
    """The rotation that the command line wants, or None; ValueError for options that do not go together."""
    if chosen.config is not None:
        if chosen.base or chosen.rotary_dim or chosen.layout:
            stated = "base, width and layout: leave --base, --rotary-dim, --layout out"
            raise ValueError(f"--config states {stated}")
        return rotation_of(chosen.config, chosen.layer_type)
    if chosen.layer_type:
        raise ValueError("--layer-type needs --config")
    if chosen.head_dim is None:
        raise ValueError("--head-dim is missing: the width of x")
    if chosen.base is None:
        if chosen.rotary_dim or chosen.layout:
            raise ValueError("--rotary-dim and --layout describe the rotation wanted: give its --base too")
        return None
    layout = chosen.layout or "interleaved"
    return plain_rope(chosen.head_dim, chosen.base, rotary_dim=chosen.rotary_dim, layout=layout)


def main(arguments: list[str] | None = None, prog: str = "python -m rope_edu.clinic") -> int:
    """Read the command line, print the diagnosis, and return the exit status."""
    parser = _parser(prog)
    chosen = parser.parse_args(arguments)
    sys.path.insert(0, "")
    try:
        wanted = _wanted(chosen)
        head_dim = chosen.head_dim or (wanted and wanted.head_dim) or 0
        found = diagnose(find(chosen.function, chosen.torch), head_dim, against=wanted, takes=chosen.takes)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    if chosen.json:
        facts = asdict(found) | {"text": str(found)}
        print(json.dumps(facts, ensure_ascii=False, indent=1, default=np.ndarray.tolist))
    else:
        print(found)
    return 1 if found.mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
