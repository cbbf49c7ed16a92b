r"""rope-doctor reach MODEL --text FILE: find the token at which a model's loss leaves its level.

MODEL is module:make as for `decode`, or a GGUF, a checkpoint's folder or owner/name@revision, which
transformers loads. FILE is a text, or token ids separated by spaces; module:make needs ids. The text is read in
one context, in pieces of 512 tokens. `--losses FILE` takes the losses of somebody else's run in place of a
model: JSON, a list of nats, or an object with `losses` and `context`; `--save FILE` writes one.

A loss falls while there is little to read, keeps a level, and leaves it where the model can read no further.
The level is the mean loss after the first 256 tokens. The loss leaves it at the token from which every stretch
lies more than half a nat above it. The interval holds that token in 90 % of texts drawn again from the losses.
A part of the text that is harder than the rest looks the same, so a text should be of one kind, or several
texts should agree.

The claimed context is the config's, that of `--config`, or `--context`. The checks, both central, are `level`
and `claim`. The exit status is 0 if the loss keeps its level as far as the model claims, 1 if not, and 2 if the
text is too short to tell, no context is claimed, or the claim lies inside the interval.
"""

import argparse
import contextlib
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from rope_doctor.command.importing import load_model
from rope_doctor.command.judging import chosen_checks, in_json
from rope_doctor.command.losses import read_losses, write_losses
from rope_doctor.config.files import read_file
from rope_doctor.config.sources import on_disk
from rope_doctor.config.values import ConfigError
from rope_doctor.probes.reaching import reach_of, token_losses


def run(chosen: argparse.Namespace) -> tuple[int, object, str]:
    """Find a model's reach; exit status 0 if it is at least its claim, 1 if not, 2 if that cannot be told."""
    stdout = sys.stderr if chosen.json else sys.stdout  # a model may print, and JSON must be alone
    with contextlib.redirect_stdout(stdout):
        losses, stated = _losses(chosen)
    if chosen.context is not None:
        stated = chosen.context
    elif chosen.config is not None:
        stated = _longest(chosen.config)
    if chosen.save is not None:
        write_losses(chosen.save, losses, stated)
    found = reach_of(losses, stated)
    found = found.judged(chosen_checks(found.verdict, chosen))
    facts = {**asdict(found), "verdict": in_json(found.verdict), "text": str(found)}
    return found.verdict.status, facts, str(found)


def _losses(chosen: argparse.Namespace) -> tuple[np.ndarray, int | None]:
    """Return the losses of a file or of a model, and the context that goes with them."""
    if chosen.losses is not None:
        if chosen.made is not None or chosen.text is not None:
            raise ValueError("give a model and --text, or --losses, not both")
        return read_losses(chosen.losses)
    if chosen.made is None or chosen.text is None:
        raise ValueError("give a model and --text FILE, or --losses FILE")
    words = Path(chosen.text).read_text(encoding="utf-8")
    if _is_module(chosen.made):
        return token_losses(load_model(chosen.made), _ids(words, chosen.text)), None
    path = on_disk(chosen.made, weights=True)
    model, split = _of_transformers(path)
    return token_losses(model, split(words)), _longest(path)


def _is_module(name: str) -> bool:
    return ":" in name and not Path(name).exists()


def _longest(path: str | Path) -> int | None:
    """Return the longest context that a file claims; None if it does not say."""
    try:
        lengths = [reading.longest for reading in read_file(path).readings]
    except ConfigError:
        return None
    return max((length for length in lengths if length), default=None)


def _ids(words: str, name: str) -> np.ndarray:
    ids = words.split()
    if len(ids) < 2 or not all(word.isdecimal() for word in ids):
        raise ValueError(
            f"{name} must hold token ids separated by spaces, since module:make has no tokenizer"
        )
    return np.array(ids, dtype=np.int64)


def _of_transformers(path: Path) -> tuple[Any, Any]:
    """Return a model on disk, and a function from a text to its token ids."""
    try:
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError:
        raise ValueError("loading a model from a file needs transformers: pip install transformers") from None
    folder, options = (path, {}) if path.is_dir() else (path.parent, {"gguf_file": path.name})
    try:
        model: Any = AutoModelForCausalLM.from_pretrained(folder, **options)
        tokenizer = AutoTokenizer.from_pretrained(folder, **options)
    except Exception as error:  # transformers may raise any exception
        raise ValueError(f"transformers cannot load {path}: {type(error).__name__}: {error}") from error
    return model.eval(), lambda words: np.array(tokenizer(words, verbose=False)["input_ids"], dtype=np.int64)
