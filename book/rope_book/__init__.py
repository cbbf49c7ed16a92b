"""Code behind the notebooks and pages of *RoPE, Turn by Turn*, separate from the library and the doctor.

widgets/    live figures and questions: `from rope_book.widgets import RotatePair`
check/      checks for exercises and parameter cells: `from rope_book.check import check`
plots/      matplotlib figures, as functions that draw numbers on an `ax`; also tables
results/    measurements from long runs, with seeds, versions and machine
real/       SmolLM2, a model that people run, with its positions as an argument; needs torch
training/   tiny models and their training, behind the book's curves; needs torch
"""

__version__ = "0.1.0"
