"""Exercise checkers: `check("4.1", answer)` says whether the answer is right, and gives hints by stages.

`allow` does the same for what a reader types into a parameters cell, `scorecard` for encodings.

Exercises whose answer is a row of numbers are stated in `in_page.toml`, which `rows.py` reads for `check` and the
page. Others have a judge under `@judges("NN.n")` in `chapter_NN.py`. Hints and lessons are in `hints.toml`.
`answers.py` reads an answer in any right form; a judge has the right value, and a sentence for every known mistake.
"""

from rope_book.check import allow
from rope_book.check.exercise import Checker, Exercise, close
from rope_book.check.five_wishes import scorecard

check = Checker()

__all__ = ["Checker", "Exercise", "allow", "check", "close", "scorecard"]
