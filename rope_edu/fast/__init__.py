r"""Fast rotation: a cached table of cosines and sines, and a kernel that makes a single pass over memory.

The tests compare this package with `apply_rope`, the reference. Only NumPy is required: torch is used only for
tensors, and numba, which compiles the kernel, is imported at the first rotation.
"""

from rope_edu.fast.rotate import rotate, rotate_
from rope_edu.fast.rows import CosSinRows, cos_sin_from_angles
from rope_edu.fast.table import RotaryTable

__all__ = ["CosSinRows", "RotaryTable", "cos_sin_from_angles", "rotate", "rotate_"]
