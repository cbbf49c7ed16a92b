"""Judge challenges, which ask a student to put a figure into a certain state, by the figure's controls and
results."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from rope_book.check.answers import Reply

HERE = Path(__file__).parent


@cache
def challenges() -> dict[str, dict[str, Any]]:
    """Return the challenges by id, such as "18.c", from challenges.toml."""
    return tomllib.loads((HERE / "challenges.toml").read_text(encoding="utf-8"))


def reached(name: str, figure: Any) -> tuple[bool, str]:
    """Return whether a figure's current state meets a challenge, and a sentence for the student; reply to anything
    but the figure with a sentence."""
    asked = challenges()[name]
    wanted = asked["figure"]
    if type(figure).__name__ != wanted:
        raise Reply(f'Give check the figure itself, a {wanted}: check("{name}", figure).')
    seen = {each: getattr(figure, each) for each in (*figure.controls(), *figure.results())}
    for holds, sentence in asked["slips"]:
        if eval(holds, {"__builtins__": {}}, seen):  # formulas come only from challenges.toml
            return False, sentence.format(**seen)
    return True, asked["shows"].format(**seen)
