"""NumPy decoders for `rope-doctor decode`: a correct one, and one that counts positions from 0 in every chunk."""

from __future__ import annotations

import numpy as np

from rope_doctor.probes import Specimen


class FromZero(Specimen):
    """A buggy decoder that ignores the number of tokens in its cache."""

    def count(self, tokens: np.ndarray, positions: np.ndarray | None, seen: int) -> np.ndarray:
        """Return positions (batch, seq), counted from 0 in every call."""
        return super().count(tokens, positions, 0)


right = Specimen().decoder()
wrong = FromZero().decoder()
