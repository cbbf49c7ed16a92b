"""The subcommands of `rope-doctor`, as functions.

The `run` function of each subcommand's module takes the options and returns the exit status, the JSON result and
the text output.
"""

from rope_doctor.command.compare_files import Comparison, Difference, compare
from rope_doctor.command.compare_rows import Rows, compare_weights
from rope_doctor.command.read_files import described, in_words

__all__ = ["Comparison", "Difference", "Rows", "compare", "compare_weights", "described", "in_words"]
