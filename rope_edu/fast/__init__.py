r"""Fast rotation: a cached table of cosines and sines, and a kernel that reads and writes each number once.

`apply_rope` is the reference, and tests check that this package agrees with it. Only NumPy is required: torch is
looked up when a tensor is passed, and numba, which compiles the kernel, at the first rotation.
"""

from rope_edu.fast.rotate import rotate, rotate_
from rope_edu.fast.rows import CosSinRows, cos_sin_from_angles
from rope_edu.fast.table import RotaryTable

__all__ = ["CosSinRows", "RotaryTable", "cos_sin_from_angles", "rotate", "rotate_"]
