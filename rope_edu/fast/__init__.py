r"""Rotation at the speed of copying: a table of turns that is kept, and kernels that write each number once.

`apply_rope` is the form to read and to trust; this room is held equal to it by tests. Needs NumPy only: torch
is looked up when a tensor comes in, and numba, which makes the kernel, at the first rotation.
"""

from rope_edu.fast.rotate import rotate, rotate_
from rope_edu.fast.table import RotaryTable
from rope_edu.fast.turns import Turns, turns_from_angles

__all__ = ["RotaryTable", "Turns", "rotate", "rotate_", "turns_from_angles"]
