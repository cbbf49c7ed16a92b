"""Calls that a type checker must reject: each line ends in the kind of error that mypy has to report there."""

from typing import TYPE_CHECKING

import numpy as np

from rope_edu import RopeSpec, apply_rope, inv_freq
from rope_edu.fast import RotaryTable, rotate

if TYPE_CHECKING:
    x = np.ones((3, 4))
    apply_rope("nonsense", 3)  # arg-type
    apply_rope(x, "nonsense")  # arg-type
    apply_rope(x, [[0.0]], layout=3)  # arg-type
    RopeSpec(None)  # arg-type
    RopeSpec([1.0], head_dim="wide")  # arg-type
    inv_freq("64")  # arg-type
    rotate(x, table=[1.0])  # arg-type
    rotate("nonsense", table=RotaryTable([1.0]))  # arg-type
    rotate(x, table=RotaryTable([1.0]), offsett=3)  # call-arg
