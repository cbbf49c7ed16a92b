r"""rope-doctor model module:make and rope-doctor decode module:make: a live model, and a decoder as a black box.

`module:make` names a model, or a function without arguments that returns one. `model` needs torch; `decode` takes a
causal model of transformers, or a function `(tokens, *, positions, mask, cache) -> (logits, cache)`, which may lack
some of the keywords.
"""

import argparse
from dataclasses import asdict

from rope_doctor.command.importing import load_model
from rope_doctor.probes import DecoderReport, ModelReport, check_decoder, check_model


def run(chosen: argparse.Namespace) -> tuple[int, object, str]:
    """Check a live model or a decoder; exit status 0 if it is right, 1 if not, 2 if the checks cannot tell."""
    model = load_model(chosen.made)
    report: ModelReport | DecoderReport
    if chosen.command == "decode":
        report = check_decoder(model)
    elif hasattr(model, "named_modules"):
        report = check_model(model, chosen.config)
    else:
        raise ValueError(f"{chosen.made} must be a torch module, got {type(model).__name__}")
    status = {True: 0, False: 1, None: 2}[report.right]
    return status, {"right": report.right, **asdict(report), "text": str(report)}, str(report)
