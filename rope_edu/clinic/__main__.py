r"""Diagnose a rotation from the command line.

    python -m rope_edu.clinic mymodel:rotate --head-dim 128
    python -m rope_edu.clinic mymodel:rotate --head-dim 128 --base 500000 --layout half_split

`mymodel:rotate` names a function `(x, positions) -> rotated x`, x `(seq, head_dim)` and positions `(seq,)`; it gets
torch tensors with --torch, NumPy arrays otherwise. With --base it is held against plain RoPE of that base. The exit
status is 0 if no mistake was found, 1 if one was.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from rope_edu.clinic.broken import Rotation
from rope_edu.clinic.diagnosis import diagnose
from rope_edu.encodings.layouts import LAYOUTS
from rope_edu.encodings.spec import plain_rope


def find(name: str, as_torch: bool) -> Rotation:
    """Return the function that "module:function" names, or raise ValueError."""
    module, colon, function = name.partition(":")
    if not colon or not module or not function:
        raise ValueError(f"the function must be written module:function, got {name!r}")
    try:
        found = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{name} is not found: {error}") from None
    return _with_tensors(found) if as_torch else found


def _with_tensors(function: Rotation) -> Rotation:
    import torch

    return lambda x, positions: function(torch.tensor(x), torch.tensor(positions)).double().numpy()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m rope_edu.clinic",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("function", help="module:function")
    parser.add_argument("--head-dim", type=int, required=True)
    parser.add_argument("--torch", action="store_true", help="pass and expect torch tensors")
    parser.add_argument("--base", type=float, help="compare with plain RoPE of this base")
    parser.add_argument("--rotary-dim", type=int, help="of what is wanted; all features if not given")
    parser.add_argument("--layout", choices=LAYOUTS, default="interleaved", help="of what is wanted")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Read the command line, print the diagnosis, and return the exit status."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    sys.path.insert(0, "")
    try:
        wanted = None
        if chosen.base is not None:
            sizes = {"rotary_dim": chosen.rotary_dim, "layout": chosen.layout}
            wanted = plain_rope(chosen.head_dim, chosen.base, **sizes)
        found = diagnose(find(chosen.function, chosen.torch), chosen.head_dim, against=wanted)
    except ValueError as error:
        parser.error(str(error))
    print(found)
    return 1 if found.mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
