"""Run the vectors on a function, module:function, or copy them into a folder: python -m rope_vectors --help."""

import argparse
import importlib
import shutil
import sys

from rope_vectors import HERE, cases, off, version


def main():
    """Print what failed; exit with 0 if all cases pass, 1 if one fails."""
    parser = argparse.ArgumentParser(
        "rope-vectors", description=f"Test vectors for RoPE, version {version()}"
    )
    parser.add_argument(
        "function",
        nargs="?",
        help="module:function (x, positions, *, layout, rotary_dim, base, attention_factor)",
    )
    parser.add_argument(
        "--width", default="float64", help="its number format: float64, float32, bfloat16, float16"
    )
    parser.add_argument("--numpy", action="store_true", help="pass NumPy arrays instead of lists")
    parser.add_argument("--copy", metavar="FOLDER", help="write the files and the runners into a folder")
    chosen = parser.parse_args()
    if chosen.copy:
        shutil.copytree(
            HERE, chosen.copy, ignore=shutil.ignore_patterns("*.py", "__pycache__"), dirs_exist_ok=True
        )
    if not chosen.function:
        sys.exit(0 if chosen.copy else parser.print_usage() or 2)
    sys.path.insert(0, "")
    module, _, name = chosen.function.partition(":")
    function = getattr(importlib.import_module(module), name)
    array = importlib.import_module("numpy").array if chosen.numpy else lambda value: value
    wrong = [(case, off(function, case, array)) for case in cases("rotate")]
    wrong = [(case, by) for case, by in wrong if not by <= case["tolerance"][chosen.width]]
    for case, by in wrong:
        print(
            f"FAILED {case['name']}: off by {by:.2g}, possible mistakes: {', '.join(case['catches']) or '-'}"
        )
    print(f"{len(cases('rotate')) - len(wrong)} of {len(cases('rotate'))} cases passed")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
