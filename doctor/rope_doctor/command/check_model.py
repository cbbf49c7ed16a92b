r"""rope-doctor model module:make: compare a live torch model with its config. Requires torch.

`module:make` names a model, or a function without arguments that returns one. The wrappers of torch.compile, PEFT
and parallel training are removed.

The checks are:

    frequencies       cosines and sines of the rotary modules, stored frequencies and tables
    queries and keys  as they reach attention in each layer, compared with the rotation of its kind; central
    layers            whether every attention layer was observed and its kind is known; central
    softmax scale     the factor on q·k; central if the config specifies one
    query scale       the growth of queries with position; central if the config specifies it
    longer texts      at the trained length and beyond, and after a longer text; central for dynamic and longrope
    coordinates       M-RoPE with different coordinates; central if the config has sections
    windows           the number of tokens that each layer sees; central if the config specifies a window of at most
                      4,197 tokens

The exit status is 0 only if every central check ran and nothing differs, 1 if something differs, and otherwise 2.
"""

import argparse
import contextlib
import sys
from dataclasses import asdict

from rope_doctor.command.importing import load_model
from rope_doctor.probes import ModelReport, check_model


def run(chosen: argparse.Namespace) -> tuple[int, object, str]:
    """Check a live model; exit status 0 if it is right, 1 if not, 2 if a central check did not run."""
    stdout = sys.stderr if chosen.json else sys.stdout  # keeps the model's output out of the JSON
    with contextlib.redirect_stdout(stdout):
        model = load_model(chosen.made)
        if not hasattr(model, "named_modules"):
            raise ValueError(f"{chosen.made} must be a torch module, got {type(model).__name__}")
        choice = {"only": chosen.only, "skip": chosen.skip, "require": chosen.require}
        report = check_model(model, chosen.config, **choice)
    return report.verdict.status, _facts(report), str(report)


def _facts(report: ModelReport) -> dict[str, object]:
    faults = [asdict(fault) | {"means": fault.means, "fix": fault.fix} for fault in report.faults]
    known = {"right": report.right, "status": report.verdict.status}
    return known | asdict(report) | {"faults": faults, "text": str(report)}
