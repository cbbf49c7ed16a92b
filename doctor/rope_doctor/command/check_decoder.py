r"""rope-doctor decode module:make: check that a decoder gives the same logits however it is called.

`module:make` names a decoder, or a function that makes one. A decoder is a causal transformers model, with or
without a torch.compile, PEFT or parallel-training wrapper, or a function with some or all of these keywords:

    def decoder(tokens, *, positions=None, mask=None, cache=None):
        # tokens, positions (batch, seq); mask (batch, tokens so far), 0 for padding; cache: None, or yours
        cache = cache or new_cache()
        if positions is None:
            positions = cache.count + np.arange(tokens.shape[1])[None]
        logits = my_model(tokens, positions, mask, cache)
        return np.asarray(logits), cache  # (batch, seq, vocabulary)

The exit status is 0 only if every central check ran and nothing differs, 1 if something differs, and otherwise 2.
The central checks are state, chunks, reach, step by step, right padding, left padding, with and without positions,
and moved. A 16-bit model is compared twice: as it is, allowing for its rounding noise, and as a float32 copy, which
must fit in memory.
"""

import argparse
import contextlib
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np

from rope_doctor.command.importing import load_model
from rope_doctor.probes import check_decoder


def run(chosen: argparse.Namespace) -> tuple[int, object, str]:
    """Check a decoder; exit status 0 if it is right, 1 if not, 2 if a central check did not run."""
    stdout = sys.stderr if chosen.json else sys.stdout  # keeps the model's output out of the JSON
    with contextlib.redirect_stdout(stdout):
        report = check_decoder(
            load_model(chosen.made),
            length=chosen.length,
            chunk=chosen.chunk,
            window=chosen.window,
            text=None if chosen.text is None else _tokens(chosen.text),
            only=chosen.only,
            skip=chosen.skip,
            require=chosen.require,
        )
    status = report.verdict.status
    return (
        status,
        {"right": report.right, "status": status, **asdict(report), "text": str(report)},
        str(report),
    )


def _tokens(path: str) -> np.ndarray:
    """Read token ids, separated by spaces or newlines, from a text file."""
    words = Path(path).read_text(encoding="utf-8").split()
    wrong = next((word for word in words if not word.isdecimal()), None)
    if wrong is not None:
        raise ValueError(f"{path} must hold token ids separated by spaces, got {wrong[:40]!r}")
    return np.array(words, dtype=np.int64)
