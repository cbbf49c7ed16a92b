"""Exercise checkers: `check("4.1", answer)` prints whether the answer is right and, if not, the next hint.

`allow` checks the values that a reader types into a parameters cell; `scorecard` tests encodings.

Exercises whose answer is a row of numbers are defined in `in_page.toml`, which `rows.py` reads for both `check` and
the page. The others have a judge, marked `@judges("NN.n")`, in `chapter_NN.py`. Hints and lessons are in
`hints.toml`. `answers.py` accepts an answer in any valid form; a judge compares it with the right value and replies
to each known mistake with a sentence.
"""

from rope_book.check import allow
from rope_book.check.exercise import Checker, Exercise, close
from rope_book.check.five_wishes import scorecard

check = Checker()

__all__ = ["Checker", "Exercise", "allow", "check", "close", "scorecard"]
