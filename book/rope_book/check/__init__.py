"""Exercise checkers: `check("4.1", answer)` says whether the answer is right, and gives hints by stages.

`allow` does the same for what a reader types into a parameters cell, `scorecard` for encodings.

The judges of a chapter's exercises are the functions under `@judges("NN.n")` in `chapter_NN.py`; hints, and what a
right answer shows, are in `hints.toml`. `answers.py` reads an answer in every form that is right; a judge adds what
the exercise asks, and a sentence for each mistake that is known.
"""

from rope_book.check import allow
from rope_book.check.exercise import Checker, Exercise, close
from rope_book.check.five_wishes import scorecard

check = Checker()

__all__ = ["Checker", "Exercise", "allow", "check", "close", "scorecard"]
