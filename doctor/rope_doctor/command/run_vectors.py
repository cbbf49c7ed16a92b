r"""Run the test vectors on a function: rope-doctor vectors module:function [--width float32] [--cases batch].

The function takes `(x, positions, *, layout, rotary_dim, base, attention_factor)`; it receives and returns NumPy
arrays. With --cases axes, it also takes `axes`, the coordinate that rotates each pair. With --cases shift, it takes
rotated keys and a `shift` instead of positions. The exit status is 0 if all cases pass, 1 if one fails, 2 if the
function has a different signature.
"""

import argparse
from dataclasses import asdict

from rope_doctor.command.importing import load_function
from rope_doctor.vectors.runner import run as run_cases


def run(chosen: argparse.Namespace) -> tuple[int, object, str]:
    """Run a file's cases on a function; exit status 0 if all of them pass, otherwise 1."""
    results = run_cases(load_function(chosen.function), width=chosen.width, cases=chosen.cases)
    failed = [result for result in results if not result.passed]
    if failed == results and len({result.seen for result in results}) == 1:
        lines = [f"FAILED every case in the same way: {results[0].seen}"]
    else:
        lines = [
            f"FAILED {result.name}: {result.seen}\n    possible mistakes: {', '.join(result.catches) or '-'}"
            for result in failed
        ]
    lines.append(f"{len(results) - len(failed)} of {len(results)} cases passed")
    return 1 if failed else 0, [asdict(result) for result in results], "\n".join(lines)
