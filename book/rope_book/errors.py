"""Show students an error as the line that caused it and a sentence, without the book's own code."""

import traceback
from pathlib import Path
from typing import TypeVar

HOME = str(Path(__file__).parent)
INSTALLED = ("site-packages", "dist-packages")
Raised = TypeVar("Raised", bound=Exception)


def short(error: Raised) -> Raised:
    """Return the error, modified so that IPython shows only the student's line and the message."""

    def rendered() -> list[str]:
        frames = traceback.extract_tb(error.__traceback__)
        own = [
            at
            for at in frames
            if not at.filename.startswith(HOME) and not any(x in at.filename for x in INSTALLED)
        ]
        lines = [f"line {own[-1].lineno}: {own[-1].line}", ""] if own and own[-1].line else []
        return [*lines, f"{type(error).__name__}: {error}"]

    error._render_traceback_ = rendered  # type: ignore[attr-defined]  # IPython looks for it
    return error
