r"""Run the vectors on a function: rope-edu vectors module:function [--width float32] [--cases batch].

The function takes `(x, positions, *, layout, rotary_dim, base, attention_factor)`, NumPy in and out; for --cases
axes also `axes`, the coordinate of each pair, and for --cases shift the rotated keys and a `shift` instead of
positions. The exit status is 0 if all cases pass, 1 if one fails, 2 if the function cannot be called in this way.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from rope_edu.clinic.__main__ import find
from rope_edu.vectors.runner import CALLS, WIDTHS, run


def main(arguments: list[str] | None = None, prog: str = "python -m rope_edu.vectors") -> int:
    """Run the cases on the function that the command line names, print the failures, return the exit status."""
    parser = argparse.ArgumentParser(
        prog,
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("function", help="module:function")
    parser.add_argument(
        "--width", choices=WIDTHS, default="float64", help="number format of the function (float64)"
    )
    parser.add_argument("--cases", choices=CALLS, default="rotate", help="the file of cases (rotate)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse_args(arguments)
    sys.path.insert(0, "")
    try:
        function = find(chosen.function, as_torch=False)
        results = run(function, width=chosen.width, cases=chosen.cases)
    except ValueError as error:
        parser.error(str(error))
    failed = [result for result in results if not result.passed]
    if chosen.json:
        print(json.dumps([asdict(result) for result in results], ensure_ascii=False, indent=1))
        return 1 if failed else 0
    if failed == results and len({result.seen for result in results}) == 1:
        print(f"FAILED every case in the same way: {results[0].seen}")
    else:
        for result in failed:
            print(f"FAILED {result.name}: {result.seen}\n    as would: {', '.join(result.catches) or '-'}")
    print(f"{len(results) - len(failed)} of {len(results)} cases passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
