"""NumPy decoders for `rope-doctor decode`: one is right, one restarts its position count at every chunk."""

from __future__ import annotations

import numpy as np

from rope_doctor.probes import Specimen


class FromZero(Specimen):
    """A decoder that ignores the number of tokens in its cache."""

    def count(self, tokens: np.ndarray, positions: np.ndarray | None, seen: int) -> np.ndarray:
        """Return positions (batch, seq)."""
        return super().count(tokens, positions, 0)


right = Specimen().decoder()
wrong = FromZero().decoder()
