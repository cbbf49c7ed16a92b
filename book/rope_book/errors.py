"""Show students an error or a warning as their line and a sentence, without the book's own code."""

import traceback
import warnings
from pathlib import Path
from typing import TypeVar

HOME = str(Path(__file__).parent)
INSTALLED = ("site-packages", "dist-packages")
LONGEST = 80  # characters of a value in a sentence
Raised = TypeVar("Raised", bound=Exception)


def short(error: Raised) -> Raised:
    """Return the error, modified so that IPython shows only the student's line and the message."""

    def rendered() -> list[str]:
        own = [at for at in traceback.extract_tb(error.__traceback__) if _is_students(at.filename)]
        lines = [f"line {own[-1].lineno}: {own[-1].line}", ""] if own and own[-1].line else []
        return [*lines, f"{type(error).__name__}: {error}"]

    error._render_traceback_ = rendered  # type: ignore[attr-defined]  # IPython looks for it
    return error


def warn(message: str) -> None:
    """Warn in one line, which has the number of the student's line instead of a path and the source."""
    lines = (at for frame, at in traceback.walk_stack(None) if _is_students(frame.f_code.co_filename))
    warnings.warn_explicit(message, UserWarning, "line", next(lines, 0))


def seen(value: object) -> str:
    """Return the repr of a value, cut to 80 characters."""
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _is_students(filename: str) -> bool:
    return not filename.startswith(HOME) and not any(folder in filename for folder in INSTALLED)
