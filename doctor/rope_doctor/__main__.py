r"""The command `rope-doctor`: find out what is wrong with the positions of a model.

    rope-doctor read FILE…                 print the rotation of a config.json, a checkpoint's folder or a GGUF
    rope-doctor compare A B                compare the rotations of two such files
    rope-doctor weights A B                compare the order of the rows of q and k in two checkpoints
    rope-doctor diagnose module:function   call a rotation as a black box, and name its mistakes
    rope-doctor model module:make          compare a live torch model with its config
    rope-doctor decode module:make         check that a decoder gives the same logits however it is called
    rope-doctor vectors module:function    run test vectors on a rotation
    rope-doctor examples [DIR]             write small files on which to try these commands

All of them take --json; `rope-doctor COMMAND --help` says more. The exit status is 0 if the result is the same or
right, 1 if not, 2 if the command could not tell.
"""

import argparse
import json
import os
import sys
from typing import Any

import numpy as np

from rope_doctor.command import (
    check_decoder,
    check_model,
    compare_files,
    compare_rows,
    examine,
    hand_out,
    read_files,
    run_vectors,
)
from rope_doctor.vectors.runner import CALLS, WIDTHS
from rope_edu.encodings.layouts import LAYOUTS

COMMANDS = {  # their `run` is called; their docstring is the help
    "read": read_files,
    "compare": compare_files,
    "weights": compare_rows,
    "model": check_model,
    "decode": check_decoder,
    "diagnose": examine,
    "vectors": run_vectors,
    "examples": hand_out,
}
AXES, FORMAT = "axes of x, such as: batch heads seq head_dim", "number format of the function (float64)"
REPEATED: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME"}
OPTIONS: tuple[tuple[str, str, dict[str, Any]], ...] = (  # (commands, name, arguments of add_argument)
    ("read", "files", {"nargs": "+", "metavar": "FILE", "help": "config.json, a folder with one, or a GGUF"}),
    ("compare weights", "wanted", {"metavar": "A", "help": "the correct one"}),
    ("compare weights", "found", {"metavar": "B", "help": "the one to compare with it"}),
    ("weights", "--head-dim", {"type": int, "help": "width of a head, if neither file states it"}),
    ("model decode", "made", {"metavar": "module:make", "help": "a model, or a function that makes one"}),
    ("decode", "--length", {"type": int, "help": "tokens of the long text (past every window and switch)"}),
    ("decode", "--chunk", {"type": int, "default": 512, "help": "tokens of a chunk of a long text (512)"}),
    ("decode", "--window", {"type": int, "help": "width of a window that the decoder does not state"}),
    ("decode", "--text", {"metavar": "FILE", "help": "token ids, separated by spaces (else random ones)"}),
    ("model decode", "--only", {**REPEATED, "help": "run this check"}),
    ("model decode", "--skip", {**REPEATED, "help": "do not run it"}),
    ("model decode", "--require", {**REPEATED, "help": "take it for central"}),
    ("model", "--config", {"help": "a config.json or a preset's name (default: the model's config)"}),
    ("diagnose vectors", "function", {"help": "module:function"}),
    ("diagnose", "--head-dim", {"type": int, "help": "width of x (with --config: from the file)"}),
    ("diagnose", "--torch", {"action": "store_true", "help": "pass and expect torch tensors"}),
    ("diagnose", "--base", {"type": float, "help": "compare with plain RoPE of this base"}),
    ("diagnose", "--rotary-dim", {"type": int, "help": "with --base: rotated width (all features)"}),
    ("diagnose", "--layout", {"choices": LAYOUTS, "help": "with --base: expected layout (interleaved)"}),
    ("diagnose", "--config", {"help": "compare with the rotation of this config.json or GGUF"}),
    ("diagnose", "--takes", {"default": "seq head_dim", "help": AXES}),
    ("diagnose", "--layer-type", {"help": "with --config: the layers, if they differ"}),
    ("vectors", "--width", {"choices": WIDTHS, "default": "float64", "help": FORMAT}),
    ("vectors", "--cases", {"choices": CALLS, "default": "rotate", "help": "the file of cases (rotate)"}),
    ("examples", "folder", {"nargs": "?", "metavar": "DIR", "help": "where to write them (else list them)"}),
    (" ".join(COMMANDS), "--json", {"action": "store_true", "help": "print JSON"}),
)


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand and return the exit status."""
    parsers = _parsers()
    chosen = parsers[""].parse_args(arguments)
    if sys.path[0]:
        sys.path.insert(0, "")  # find the user's module in the current folder
    try:
        status, facts, words = COMMANDS[chosen.command].run(chosen)
        if chosen.json:
            words = json.dumps(facts, ensure_ascii=False, indent=1, default=np.ndarray.tolist)
        print(words)
        return status
    except BrokenPipeError:  # the reader stopped early, as in `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except (ValueError, OSError) as error:
        if chosen.command in ("diagnose", "vectors"):
            parsers[chosen.command].error(str(error))
        print(json.dumps({"could_not_tell": str(error)}) if chosen.json else f"Could not tell: {error}")
        return 2


def _parsers() -> dict[str, argparse.ArgumentParser]:
    """Return the subcommands' parsers by name, and the whole command line's under ""."""
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
