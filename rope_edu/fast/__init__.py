r"""Rotation at the speed of copying: a cached table of cos and sin, and a kernel that writes each number once.

`apply_rope` is the form to read and to trust, and tests hold this package equal to it. Needs NumPy only: torch is
looked up when a tensor comes in, and numba, which compiles the kernel, at the first rotation.
"""

from rope_edu.fast.rotate import rotate, rotate_
from rope_edu.fast.rows import CosSinRows, cos_sin_from_angles
from rope_edu.fast.table import RotaryTable

__all__ = ["CosSinRows", "RotaryTable", "cos_sin_from_angles", "rotate", "rotate_"]
