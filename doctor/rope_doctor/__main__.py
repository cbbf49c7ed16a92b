r"""The command `rope-doctor`: find out what is wrong with a model's positions.

    rope-doctor read FILE…                 print the rotation in a config.json, a checkpoint folder or a GGUF
    rope-doctor compare A B                compare the rotations in two such files
    rope-doctor weights A B                compare the row order of q and k in two checkpoints
    rope-doctor diagnose module:function   probe a rotation as a black box and name its mistakes
    rope-doctor model module:make          compare a live torch model with its config
    rope-doctor decode module:make         check that a decoder gives the same logits however it is called
    rope-doctor ask URL --model NAME       check that a server's log probabilities do not depend on the request
    rope-doctor reach MODEL --text FILE    find the token at which a model's loss rises above its level
    rope-doctor vectors module:function    run test vectors on a rotation
    rope-doctor examples [DIR]             write small files for trying out these commands

A file may also be "-", a pipe, or owner/name@revision on the Hugging Face Hub. All commands take --json and
--format; `rope-doctor COMMAND --help` gives the details. The exit status is 0 if every central check ran and
nothing is wrong, 1 if something is wrong, and 2 if the command could not tell.
"""

import argparse
import contextlib
import importlib.metadata
import io
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from rope_doctor.command import (
    ask_server,
    check_decoder,
    check_model,
    compare_files,
    compare_rows,
    examine,
    hand_out,
    reach_text,
    read_files,
    run_vectors,
)
from rope_doctor.config.values import CONTROL, visible
from rope_doctor.probes.served import LENGTH
from rope_doctor.vectors.runner import CALLS, WIDTHS
from rope_edu.encodings.layouts import LAYOUTS

COMMANDS = {  # each module has a `run` function, and its docstring is the command's help
    "read": read_files,
    "compare": compare_files,
    "weights": compare_rows,
    "model": check_model,
    "decode": check_decoder,
    "ask": ask_server,
    "reach": reach_text,
    "diagnose": examine,
    "vectors": run_vectors,
    "examples": hand_out,
}
KEY = "ROPE_DOCTOR_KEY"  # environment variable
FORMATS = ("text", "json", "github")
FILES = "config.json, a checkpoint or a folder with one, a GGUF, -, or owner/name@revision"
NAMES = {"action": "append", "metavar": "NAME"}
AXES, FORMAT = "axes of x, such as: batch heads seq head_dim", "number format of the function (float64)"
REPEATED: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME"}
OPTIONS: tuple[tuple[str, str, dict[str, Any]], ...] = (  # (commands, name, arguments of add_argument)
    ("read", "files", {"nargs": "+", "metavar": "FILE", "help": FILES}),
    ("compare weights", "wanted", {"metavar": "A", "help": "the correct file"}),
    ("compare weights", "found", {"metavar": "B", "help": "the file to compare with it"}),
    ("weights", "--head-dim", {"type": int, "help": "width of a head, if neither file states it"}),
    ("model decode", "made", {"metavar": "module:make", "help": "a model, or a function that makes one"}),
    (
        "decode",
        "--length",
        {"type": int, "help": "length of the long text in tokens (past every window and switch)"},
    ),
    ("decode", "--chunk", {"type": int, "default": 512, "help": "tokens per chunk of the long text (512)"}),
    ("decode", "--window", {"type": int, "help": "width of a window that the decoder does not state"}),
    ("decode", "--text", {"metavar": "FILE", "help": "token ids, separated by spaces (default: random ids)"}),
    ("ask", "url", {"metavar": "URL", "help": "the server's address, such as http://localhost:8000"}),
    ("ask", "--model", {"required": True, "metavar": "NAME", "help": "the model's name on the server"}),
    ("ask", "--length", {"type": int, "default": LENGTH, "help": f"tokens of the long text ({LENGTH:,})"}),
    (
        "ask",
        "--seconds",
        {"type": float, "default": 900.0, "help": "limit on the time of all requests (900)"},
    ),
    ("ask", "--key", {"default": KEY, "metavar": "VARIABLE", "help": f"variable with the key ({KEY})"}),
    ("ask", "--seed", {"type": int, "help": "of the texts (else others each time)"}),
    ("ask", "--dry-run", {"action": "store_true", "help": "print the requests and ask nothing"}),
    (
        "reach",
        "made",
        {"nargs": "?", "metavar": "MODEL", "help": "module:make, a GGUF, a folder or a hub's name"},
    ),
    ("ask reach", "--text", {"metavar": "FILE", "help": "a text (for module:make: token ids)"}),
    ("ask reach", "--losses", {"metavar": "FILE", "help": "losses of another run, as --save writes them"}),
    ("reach", "--save", {"metavar": "FILE", "help": "write the losses there"}),
    ("ask reach", "--config", {"help": "the config.json or GGUF that states the context"}),
    ("ask reach", "--context", {"type": int, "help": "the claimed context in tokens"}),
    ("model decode ask reach", "--only", {**REPEATED, "help": "run only this check"}),
    ("model decode ask reach", "--skip", {**REPEATED, "help": "do not run this check"}),
    ("model decode ask reach", "--require", {**REPEATED, "help": "make this check central"}),
    ("model", "--config", {"help": "a config.json or a preset's name (default: the model's config)"}),
    ("diagnose vectors", "function", {"help": "module:function"}),
    ("diagnose", "--head-dim", {"type": int, "help": "width of x (with --config: from the file)"}),
    ("diagnose", "--torch", {"action": "store_true", "help": "pass and expect torch tensors"}),
    ("diagnose", "--base", {"type": float, "help": "compare with plain RoPE of this base"}),
    ("diagnose", "--rotary-dim", {"type": int, "help": "with --base: rotated width (all features)"}),
    ("diagnose", "--layout", {"choices": LAYOUTS, "help": "with --base: expected layout (interleaved)"}),
    ("diagnose", "--config", {"help": "compare with the rotation of this config.json or GGUF"}),
    ("diagnose", "--takes", {"default": "seq head_dim", "help": AXES}),
    ("diagnose", "--layer-type", {"help": "with --config: the kind of layers, if kinds rotate differently"}),
    ("vectors", "--width", {"choices": WIDTHS, "default": "float64", "help": FORMAT}),
    ("vectors", "--cases", {"choices": CALLS, "default": "rotate", "help": "the file of cases (rotate)"}),
    (
        "examples",
        "folder",
        {"nargs": "?", "metavar": "DIR", "help": "folder for the files (default: only list them)"},
    ),
    ("compare weights", "--only", NAMES | {"help": "judge only these checks; the others count as not run"}),
    (
        "compare weights",
        "--skip",
        NAMES | {"help": "do not judge a check; without a central one the status is 2"},
    ),
    ("compare weights", "--require", NAMES | {"help": "make a check central"}),
    (" ".join(COMMANDS), "--json", {"action": "store_true", "help": "print JSON"}),
    (" ".join(COMMANDS), "--format", {"choices": FORMATS, "help": "text, json, or annotations for GitHub"}),
)


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand and return the exit status."""
    chosen = _parser().parse_args(arguments)
    form = chosen.format or ("json" if chosen.json else "text")
    if sys.path[0]:
        sys.path.insert(0, "")  # to import the user's module from the current folder
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for terminals that cannot print some characters
    try:
        with _stdout_kept_clean():
            status, facts, words = COMMANDS[chosen.command].run(chosen)
        print(_formatted(form, chosen, status, facts, words))
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the other end of the pipe has closed, as in `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except (ValueError, OSError) as error:
        words = f"Could not tell: {visible(str(error))}"
        print(_formatted(form, chosen, 2, {"could_not_tell": str(error)}, words))
        return 2


@contextlib.contextmanager
def _stdout_kept_clean() -> Iterator[None]:
    """Redirect a model's own output, from Python or from C, to stderr, so that stdout holds only the report."""
    sys.stdout.flush()
    try:
        kept = os.dup(1)
        os.dup2(2, 1)
    except OSError:  # the process lacks these file descriptors
        kept = -1
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        if kept >= 0:
            os.dup2(kept, 1)
            os.close(kept)


def _formatted(form: str, chosen: argparse.Namespace, status: int, facts: object, words: str) -> str:
    """Return a report in the chosen format."""
    if form == "json":
        lines = json.dumps(facts, ensure_ascii=False, indent=1, default=np.ndarray.tolist).split("\n")
        return "\n".join(CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", line) for line in lines)
    words = "\n".join(map(visible, words.split("\n")))
    if form == "text":
        return words
    kind = {0: "notice", 1: "error"}.get(status, "warning")
    file = getattr(chosen, "found", None)
    place = f",file={_escaped(file, ':,')}" if file else ""
    return f"::{kind} title=rope-doctor {chosen.command}{place}::{_escaped(words)}"


def _escaped(text: str, more: str = "") -> str:
    """Escape text for a GitHub workflow command."""
    return "".join(f"%{ord(each):02X}" if each in "%\r\n" + more else each for each in text)


def _version() -> str:
    try:
        return f"rope-doctor {importlib.metadata.version('rope-doctor')}"
    except importlib.metadata.PackageNotFoundError:
        return "rope-doctor (not installed)"


def _parser() -> argparse.ArgumentParser:
    """Return the command's parser, with its subcommands."""
    form = argparse.RawDescriptionHelpFormatter
    whole = argparse.ArgumentParser("rope-doctor", description=__doc__, formatter_class=form)
    whole.add_argument("--version", action="version", version=_version())
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND", help="one of these")
    parsers = {
        name: commands.add_parser(name, description=module.__doc__, formatter_class=form)
        for name, module in COMMANDS.items()
    }
    for names, option, facts in OPTIONS:
        for name in names.split():
            parsers[name].add_argument(option, **facts)
    return whole


if __name__ == "__main__":
    sys.exit(main())
