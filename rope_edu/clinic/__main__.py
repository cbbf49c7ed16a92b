r"""Diagnose a rotation from the command line.

    python -m rope_edu.clinic mymodel:rotate --head-dim 128
    python -m rope_edu.clinic mymodel:rotate --head-dim 128 --base 500000 --layout half_split
    python -m rope_edu.clinic mymodel:rotate --config config.json

`mymodel:rotate` names a function `(x, positions) -> rotated x`, x `(seq, head_dim)` and positions `(seq,)`; it gets
torch tensors with --torch, NumPy arrays otherwise. With --base it is held against plain RoPE of that base, with
--config against the rotation that a model's config.json states. The exit status is 0 if no mistake was found, 1 if
one was, 2 if it could not be examined.
"""

from __future__ import annotations

import argparse
import sys
from functools import reduce
from importlib import import_module

from rope_edu.clinic.broken import Rotation
from rope_edu.clinic.diagnosis import diagnose
from rope_edu.config import rope_from_config
from rope_edu.encodings.layouts import LAYOUTS
from rope_edu.encodings.spec import RopeSpec, plain_rope


def find(name: str, as_torch: bool) -> Rotation:
    """Return the function that "module:function" names, or raise ValueError."""
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

    def rotate(x, positions):
        turned = function(torch.tensor(x), torch.tensor(positions))
        return turned.detach().cpu().double().numpy() if isinstance(turned, torch.Tensor) else turned

    return rotate


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m rope_edu.clinic",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("function", help="module:function")
    parser.add_argument("--head-dim", type=int, help="width of x; with --config that of the file")
    parser.add_argument("--torch", action="store_true", help="pass and expect torch tensors")
    parser.add_argument("--base", type=float, help="compare with plain RoPE of this base")
    parser.add_argument("--rotary-dim", type=int, help="with --base: of what is wanted; else all features")
    parser.add_argument("--layout", choices=LAYOUTS, help="with --base: of what is wanted; else interleaved")
    parser.add_argument("--config", help="compare with what this config.json states")
    parser.add_argument("--layer-type", help="with --config: which layers, where they differ")
    return parser


def _wanted(chosen: argparse.Namespace) -> RopeSpec | None:
    """Return what the command line wants, or None; raise ValueError for options that do not go together."""
    if chosen.config is not None:
        if chosen.base or chosen.rotary_dim or chosen.layout:
            raise ValueError(
                "--config states base, width and layout: leave --base, --rotary-dim, --layout out"
            )
        return rope_from_config(chosen.config, layer_type=chosen.layer_type)
    if chosen.layer_type:
        raise ValueError("--layer-type needs --config")
    if chosen.head_dim is None:
        raise ValueError("--head-dim is missing: the width of x")
    if chosen.base is None:
        if chosen.rotary_dim or chosen.layout:
            raise ValueError("--rotary-dim and --layout say what is wanted: give its --base too")
        return None
    layout = chosen.layout or "interleaved"
    return plain_rope(chosen.head_dim, chosen.base, rotary_dim=chosen.rotary_dim, layout=layout)


def main(arguments: list[str] | None = None) -> int:
    """Read the command line, print the diagnosis, and return the exit status."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    sys.path.insert(0, "")
    try:
        wanted = _wanted(chosen)
        head_dim = wanted.head_dim if chosen.head_dim is None else chosen.head_dim
        found = diagnose(find(chosen.function, chosen.torch), head_dim, against=wanted)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    print(found)
    return 1 if found.mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
