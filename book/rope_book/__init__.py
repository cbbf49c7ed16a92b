"""What the notebooks and pages of the book *RoPE, Turn by Turn* import, beside the library and the doctor.

widgets/    live figures and questions: `from rope_book.widgets import RotatePair`
check/      judges of exercises and of parameters cells: `from rope_book.check import check`
plots/      figures and tables for matplotlib: take numbers and an `ax`, return the `ax`, compute nothing
results/    measurements of long runs, with seeds, versions and machine
training/   tiny models and their training: the runs behind the book's curves; needs torch
"""

__version__ = "0.1.0"
