r"""rope-doctor model module:make: compare a live torch model with its config. It needs torch.

`module:make` names a model, or a function without arguments that returns one.
"""

import argparse
from dataclasses import asdict

from rope_doctor.command.importing import load_model
from rope_doctor.probes import check_model


def run(chosen: argparse.Namespace) -> tuple[int, object, str]:
    """Check a live model; exit status 0 if it is right, 1 if not, 2 if the checks cannot tell."""
    model = load_model(chosen.made)
    if not hasattr(model, "named_modules"):
        raise ValueError(f"{chosen.made} must be a torch module, got {type(model).__name__}")
    report = check_model(model, chosen.config)
    status = {True: 0, False: 1, None: 2}[report.right]
    return status, {"right": report.right, **asdict(report), "text": str(report)}, str(report)
