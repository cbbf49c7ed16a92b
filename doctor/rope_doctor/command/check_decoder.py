r"""rope-doctor decode module:make: check that a decoder gives the same logits however it is called.

`module:make` names a decoder, or a function without arguments that returns one: a causal model of transformers, or a
function `(tokens, *, positions, mask, cache) -> (logits, cache)`, which may lack some of the keywords.
"""

import argparse
from dataclasses import asdict

from rope_doctor.command.importing import load_model
from rope_doctor.probes import check_decoder


def run(chosen: argparse.Namespace) -> tuple[int, object, str]:
    """Check a decoder; exit status 0 if it is right, 1 if not, 2 if the checks cannot tell."""
    report = check_decoder(load_model(chosen.made))
    status = {True: 0, False: 1, None: 2}[report.right]
    return status, {"right": report.right, **asdict(report), "text": str(report)}, str(report)
