r"""rope-doctor reach MODEL --text FILE: find the token at which a model's loss rises above its level.

MODEL is module:make as for `decode`, or a GGUF, a checkpoint folder or owner/name@revision, which transformers
loads. FILE is a text, or token ids separated by spaces; module:make requires ids. The text is read in a single
context, in chunks of 512 tokens. `--losses FILE` uses the losses of another run instead of a model. The file is
JSON, either a list in nats or an object with `losses` and `context`; `--save FILE` writes such a file.

The loss falls while there is little context, then stays level, and rises when the text becomes too long for the
model. The level is the mean loss after the first 256 tokens. The loss leaves this level at a token if every stretch
that begins there has a mean more than half a nat higher. The interval contains that token in 90 % of texts
resampled from the losses. A difficult passage has the same effect, so use a uniform text, or check that several
texts agree.

The claimed context comes from the model's config, `--config` or `--context`. The checks, both central, are `level`
and `claim`. The exit status is 0 if the loss stays level as far as the model claims, 1 if not, and 2 if the text is
too short to tell, no context is claimed, or the claim is inside the interval.
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
    """Find a model's reach; exit status 0 if it is at least the claim, 1 if not, 2 if it is inconclusive."""
    stdout = sys.stderr if chosen.json else sys.stdout  # keeps the model's output out of the JSON
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
    """Return the losses from a file or a model, and the claimed context."""
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
    """Return the longest context that a file claims, or None if it claims none."""
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
    """Return a model loaded from disk, and a function that maps a text to its token ids."""
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
