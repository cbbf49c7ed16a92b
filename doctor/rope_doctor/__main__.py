r"""The command `rope-doctor`: find what is wrong with the positions of a model.

    rope-doctor read FILE…                    what a config.json, a checkpoint's folder or a GGUF states
    rope-doctor compare A B                   whether two such files rotate alike, and what it costs if not
    rope-doctor weights A B                   whether the rows of q and k in two checkpoints are in the order wanted
    rope-doctor diagnose module:function      what a rotation does, called as a black box
    rope-doctor model module:make             what a live torch model rotates, against its config
    rope-doctor decode module:make            whether a decoder gives the same logits in every way of asking
    rope-doctor vectors module:function       test vectors, run on a rotation
    rope-doctor examples [DIR]                small files on which each of these can be tried

Each takes --json, and `rope-doctor COMMAND --help` says more. The exit status is 0 for the same or right, 1 for
not, 2 where it could not tell.
"""

import argparse
import json
import os
import sys
from typing import Any

import numpy as np

from rope_doctor.command import (
    check_live,
    compare_files,
    compare_rows,
    examine,
    hand_out,
    read_files,
    run_vectors,
)
from rope_doctor.vectors.runner import CALLS, WIDTHS
from rope_edu.encodings.layouts import LAYOUTS

COMMANDS = {  # each has `run`, and its docstring is the help
    "read": read_files,
    "compare": compare_files,
    "weights": compare_rows,
    "model": check_live,
    "decode": check_live,
    "diagnose": examine,
    "vectors": run_vectors,
    "examples": hand_out,
}
AXES, FORMAT = "axes of x, such as: batch heads seq head_dim", "number format of the function (float64)"
OPTIONS: tuple[tuple[str, str, dict[str, Any]], ...] = (  # whose it is, its name, and the rest for argparse
    ("read", "files", {"nargs": "+", "metavar": "FILE", "help": "config.json, a folder with one, or a GGUF"}),
    ("compare weights", "wanted", {"metavar": "A", "help": "the one that is right"}),
    ("compare weights", "found", {"metavar": "B", "help": "the one that is held against it"}),
    ("weights", "--head-dim", {"type": int, "help": "width of a head, where neither file states it"}),
    ("model decode", "made", {"metavar": "module:make", "help": "a model, or a function that makes one"}),
    ("model", "--config", {"help": "a config.json or a preset's name; else the model's own config"}),
    ("diagnose vectors", "function", {"help": "module:function"}),
    ("diagnose", "--head-dim", {"type": int, "help": "width of x; with --config that of the file"}),
    ("diagnose", "--torch", {"action": "store_true", "help": "pass and expect torch tensors"}),
    ("diagnose", "--base", {"type": float, "help": "compare with plain RoPE of this base"}),
    ("diagnose", "--rotary-dim", {"type": int, "help": "with --base: width that turns; else all features"}),
    ("diagnose", "--layout", {"choices": LAYOUTS, "help": "with --base: layout wanted; else interleaved"}),
    ("diagnose", "--config", {"help": "compare with the rotation of this config.json or GGUF"}),
    ("diagnose", "--takes", {"default": "seq head_dim", "help": AXES}),
    ("diagnose", "--layer-type", {"help": "with --config: which layers, where they differ"}),
    ("vectors", "--width", {"choices": WIDTHS, "default": "float64", "help": FORMAT}),
    ("vectors", "--cases", {"choices": CALLS, "default": "rotate", "help": "the file of cases (rotate)"}),
    (
        "examples",
        "folder",
        {"nargs": "?", "metavar": "DIR", "help": "where to write them; else they are named"},
    ),
    (" ".join(COMMANDS), "--json", {"action": "store_true", "help": "print JSON"}),
)


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand and return the exit status."""
    parsers = _parsers()
    chosen = parsers[""].parse_args(arguments)
    if sys.path[0]:  # somebody's module is in the current folder
        sys.path.insert(0, "")
    try:
        status, facts, words = COMMANDS[chosen.command].run(chosen)
        if chosen.json:
            words = json.dumps(facts, ensure_ascii=False, indent=1, default=np.ndarray.tolist)
        print(words)
        return status
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except (ValueError, OSError) as error:
        if chosen.command in ("diagnose", "vectors"):
            parsers[chosen.command].error(str(error))
        print(json.dumps({"could_not_tell": str(error)}) if chosen.json else f"Could not tell: {error}")
        return 2


def _parsers() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of the whole command line as "", and that of each subcommand by its name."""
    form = argparse.RawDescriptionHelpFormatter
    whole = argparse.ArgumentParser("rope-doctor", description=__doc__, formatter_class=form)
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND", help="one of these")
    parsers = {
        name: commands.add_parser(name, description=module.__doc__, formatter_class=form)
        for name, module in COMMANDS.items()
    }
    for names, option, facts in OPTIONS:
        for name in names.split():
            parsers[name].add_argument(option, **facts)
    return {"": whole, **parsers}


if __name__ == "__main__":
    sys.exit(main())
