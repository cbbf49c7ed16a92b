r"""rope-doctor model module:make and rope-doctor decode module:make: a live model, and a decoder as a black box.

`module:make` names a model, or a function without arguments that returns one. `model` needs torch; `decode` takes a
causal model of transformers, or a function `(tokens, *, positions, mask, cache) -> (logits, cache)` with those
keywords that it has.
"""

import argparse
from dataclasses import asdict

from rope_doctor.command.somebodys import made
from rope_doctor.probes import DecoderReport, ModelReport, check_decoder, check_model


def run(chosen: argparse.Namespace) -> tuple[int, object, str]:
    """Check a live model or a decoder: 0 if it is right, 1 if not, 2 if that cannot be told."""
    thing = made(chosen.made)
    report: ModelReport | DecoderReport
    if chosen.command == "decode":
        report = check_decoder(thing)
    elif hasattr(thing, "named_modules"):
        report = check_model(thing, chosen.config)
    else:
        raise ValueError(f"{chosen.made} must be a torch module, got {type(thing).__name__}")
    status = {True: 0, False: 1, None: 2}[report.right]
    return status, {"right": report.right, **asdict(report), "text": str(report)}, str(report)
