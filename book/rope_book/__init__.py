"""The code behind the notebooks and pages of *RoPE, Turn by Turn*, separate from the library and the doctor.

widgets/    live figures and questions: `from rope_book.widgets import RotatePair`
check/      checks for exercises and parameter cells: `from rope_book.check import check`
plots/      tables, and matplotlib figures as functions that draw on an `ax`
results/    measurements from long runs, with their seeds, versions and machine
real/       SmolLM2, a widely used model, rewritten to take positions as an argument; needs torch
errors.py   errors shown as a line of the student's and a sentence
training/   the tiny models behind the book's curves, and the code that trains them; needs torch
"""

__version__ = "0.1.0"
