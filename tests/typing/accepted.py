"""Calls that a type checker must accept: `mypy` checks this file with the packages."""

import numpy as np

from rope_edu import RopeSpec, Rotary, apply_rope, inv_freq, rope_angles
from rope_edu.fast import RotaryTable, rotate

x = np.ones((3, 4))
spec = RopeSpec([1.0, 0.01])
width: int = spec.head_dim
speeds: np.ndarray = spec.inv_freq
apply_rope(x, [[0.0, 1.0]])
apply_rope(x, rope_angles(range(3), inv_freq(4)), layout="half_split")
rotate(x, table=RotaryTable(spec), offset=3)
rotate(x, x, table=RotaryTable([1.0, 0.01]), positions=[0, 1, 2])
Rotary(RotaryTable(spec)).rotate_q(x, [0, 1, 2])
Rotary([1.0, 0.01]).rotate_k(x, range(3))
