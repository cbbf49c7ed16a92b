r"""Load the measurements of real models, and of small models for comparison."""

from pathlib import Path
from typing import Any

from rope_book.results.files import load

FORMATS = {
    "causes": "rope_book causes 1",
    "real_finetune": "rope_book real finetune 1",
    "real_heads": "rope_book real heads 1",
    "real_length": "rope_book real length 1",
    "real_mistakes": "rope_book real mistakes 1",
    "real_needles": "rope_book real needles 1",
    "real_order": "rope_book real order 1",
    "real_packed": "rope_book real packed 1",
    "real_table": "rope_book real table 1",
}


def load_real(name: str, path: str | Path | None = None) -> dict[str, Any]:
    r"""Load a measurement; the module of the same name in `book/makers` documents the method.

    Args:
        name: "real_length", "real_finetune", "real_heads", "real_mistakes", "real_needles", "real_order" or
            "real_packed" for SmolLM2-135M; "real_table" for MiniLM's learned positions; "causes" for small models
            with fewer and fewer slow pairs.
        path: a different file in the same format, or None for the committed file.

    Returns:
        The content of the file: "format", "meta" (settings, machine, versions), and the tables.

    Raises:
        ValueError: `name` is not one of these, or the file has a different format.

    >>> load_real("real_table")["meta"]["shape"]
    [512, 384]

    Chapters 1, 2, 9, 18, 19, 22 and 23.
    """
    if name not in FORMATS:
        raise ValueError(f"name must be one of {', '.join(FORMATS)}, got {name!r}")
    return load(f"{name}.json", FORMATS[name], path)
