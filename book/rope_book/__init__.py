"""Code of the book *RoPE, Turn by Turn* for its notebooks and pages, beside the library and the doctor.

widgets/    live figures and questions: `from rope_book.widgets import RotatePair`
check/      checks of exercises and of parameter cells: `from rope_book.check import check`
plots/      matplotlib figures, as functions that draw numbers on an `ax`, and tables
results/    measurements of long runs, with seeds, versions and machine
training/   tiny models and their training, behind the book's curves; needs torch
"""

__version__ = "0.1.0"
