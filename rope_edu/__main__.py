r"""The command `rope-edu`: find what is wrong with the positions of a model.

    rope-edu read FILE…                    what a config.json, a checkpoint's folder or a GGUF says of its rotation
    rope-edu compare A B                   whether two such files rotate alike, and what it costs if not
    rope-edu weights A B                   whether the rows of q and k in two checkpoints are in the order wanted
    rope-edu diagnose module:function      what a rotation does, called as a black box
    rope-edu model module:make             what a live torch model rotates, against its config
    rope-edu decode module:make            whether a decoder gives the same logits in every way of asking
    rope-edu vectors module:function       test vectors, run on a rotation
    rope-edu examples [DIR]                small files on which each of these can be tried

Each takes --json, and `rope-edu COMMAND --help` says more. The exit status is 0 for the same or right, 1 for not,
2 where it could not tell.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable

from rope_edu.clinic import __main__ as clinic
from rope_edu.command import check_live, compare_files, compare_rows, hand_out, read_files
from rope_edu.vectors import __main__ as vectors


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand and return the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    # these two have commands of their own rooms, which know their options
    if arguments[:1] == ["diagnose"]:
        return clinic.main(arguments[1:], "rope-edu diagnose")
    if arguments[:1] == ["vectors"]:
        return vectors.main(arguments[1:], "rope-edu vectors")
    chosen = _parser().parse_args(arguments)
    try:
        status, facts, words = RUN[chosen.command](chosen)
        print(json.dumps(facts, ensure_ascii=False, indent=1) if chosen.json else words)
        return status
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except (ValueError, OSError) as error:
        print(json.dumps({"could_not_tell": str(error)}) if chosen.json else f"Could not tell: {error}")
        return 2


RUN: dict[str, Callable[[argparse.Namespace], tuple[int, object, str]]] = {
    "read": lambda chosen: read_files.run(chosen.files),
    "compare": lambda chosen: compare_files.run(chosen.wanted, chosen.found),
    "weights": lambda chosen: compare_rows.run(chosen.wanted, chosen.found, chosen.head_dim),
    "model": lambda chosen: check_live.run_model(chosen.made, chosen.config),
    "decode": lambda chosen: check_live.run_decode(chosen.made),
    "examples": lambda chosen: hand_out.run(chosen.folder),
}


def _parser() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("rope-edu", description=__doc__, formatter_class=form)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", help="one of these")
    reading = commands.add_parser("read", description=read_files.__doc__)
    reading.add_argument("files", nargs="+", metavar="FILE", help="config.json, a folder with one, or a GGUF")
    comparing = commands.add_parser("compare", description=compare_files.__doc__)
    weighing = commands.add_parser("weights", description=compare_rows.__doc__)
    weighing.add_argument("--head-dim", type=int, help="width of a head, where neither file states it")
    for each in (comparing, weighing):
        each.add_argument("wanted", metavar="A", help="the one that is right")
        each.add_argument("found", metavar="B", help="the one that is held against it")
    live = check_live.__doc__
    probing = commands.add_parser("model", description=live, formatter_class=form)
    probing.add_argument("--config", help="a config.json or a preset's name; else the model's own config")
    decoding = commands.add_parser("decode", description=live, formatter_class=form)
    for each in (probing, decoding):
        each.add_argument("made", metavar="module:make", help="a model, or a function that makes one")
    handing = commands.add_parser("examples", description=hand_out.__doc__, formatter_class=form)
    handing.add_argument("folder", nargs="?", metavar="DIR", help="where to write them; else they are named")
    for each in (reading, comparing, weighing, probing, decoding, handing):
        each.add_argument("--json", action="store_true", help="print JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
