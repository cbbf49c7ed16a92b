"""Calls that a type checker must reject: `mypy` reports each line whose ignored error does not occur."""

from typing import TYPE_CHECKING

import numpy as np

from rope_edu import RopeSpec, apply_rope, inv_freq
from rope_edu.fast import RotaryTable, rotate

if TYPE_CHECKING:
    x = np.ones((3, 4))
    apply_rope("nonsense", 3)  # type: ignore[arg-type]
    apply_rope(x, "nonsense")  # type: ignore[arg-type]
    apply_rope(x, [[0.0]], layout=3)  # type: ignore[arg-type]
    RopeSpec(None)  # type: ignore[arg-type]
    RopeSpec([1.0], head_dim="wide")  # type: ignore[arg-type]
    inv_freq("64")  # type: ignore[arg-type]
    rotate(x, table=[1.0])  # type: ignore[arg-type]
    rotate("nonsense", table=RotaryTable([1.0]))  # type: ignore[arg-type]
    rotate(x, table=RotaryTable([1.0]), offsett=3)  # type: ignore[call-arg]
