r"""Rotation at the speed of copying: a kept table of cos and sin, a kernel that writes each number once.

`apply_rope` is the form to read and to trust; this room is held equal to it by tests. Needs NumPy only: torch
is looked up when a tensor comes in, and numba, which makes the kernel, at the first rotation.
"""

from rope_edu.fast.rotate import rotate, rotate_
from rope_edu.fast.rows import CosSinRows, cos_sin_from_angles
from rope_edu.fast.table import RotaryTable

__all__ = ["CosSinRows", "RotaryTable", "cos_sin_from_angles", "rotate", "rotate_"]
