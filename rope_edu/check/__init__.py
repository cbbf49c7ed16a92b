"""Exercise checkers: `check("4.1", answer)` says whether the answer is right, and gives hints by stages.

`allow` does the same for what a reader types into a parameters cell.

A chapter's exercises live in `chapter_NN.py` beside this file, in a tuple named EXERCISES; they are
found by that name, so that a new chapter only adds a file. `answers.py` reads what a reader may type, in every
form that is right; a judge adds what the exercise asks, and a sentence for each mistake that is known.
"""

from rope_edu.check import allow
from rope_edu.check.exercise import Checker, Exercise, close

check = Checker()

__all__ = ["Checker", "Exercise", "allow", "check", "close"]
