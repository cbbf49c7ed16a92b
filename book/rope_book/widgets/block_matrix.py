"""Chapter 7: one head's rotation matrix, which is mostly zeros, and the two stripes that code stores."""

from rope_edu.encodings import inv_freq

from ._results import result
from ._rules import AtMost
from ._traits import Choice, Slider
from .base import LiveFigure


class BlockMatrix(LiveFigure):
    """Rotate a vector with the whole rotation matrix, or with the two stripes that code stores.

    ``position`` m turns pair i of a vector x of ``head_dim`` numbers by m · θ_i, where θ_i = ``base`` ** (−2i /
    head_dim). ``form`` "matrix" shows R and R x, with the cells that are always zero left blank; "elementwise"
    shows x ⊙ cos + (x, each pair turned by 90°) ⊙ sin. ``pairing`` is the layout: which two features form a
    pair. The picture follows ``row`` from x to the result; if the head has no such row, it follows the last.

    Its result is ``angle``, the angle of the pair in the selected row.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> BlockMatrix(form="elementwise", head_dim=16)
    BlockMatrix(form='elementwise', head_dim=16)

    Source: Su et al. 2021, arXiv 2104.09864, equations 15 and 34. Chapter 7.
    """

    lead = ("position", "form", "row")

    position = Slider(20, 0, 128, label="Position, m", unit="tokens")
    row = Slider(2, 0, 31, label="Row to follow, j").under(AtMost("head_dim", plus=-1))
    form = Choice(
        "matrix", {"matrix": "matrix: R x", "elementwise": "elementwise: cos and sin"}, label="Form"
    )
    head_dim = Choice(8, {d: str(d) for d in (4, 6, 8, 12, 16, 24, 32)}, label="Head width, d")
    pairing = Choice(
        "interleaved",
        {"interleaved": "interleaved: 2i with 2i + 1", "half_split": "half split: i with i + d/2"},
        label="Layout: which features pair",
    )
    base = Slider(10_000.0, 10.0, 1_000_000.0, log=True, label="Base, b")

    @result("rad")
    def angle(self):
        """Angle m · θ of the selected row's pair, including whole turns."""
        pairs = self.head_dim // 2
        pair = self.row // 2 if self.pairing == "interleaved" else self.row % pairs
        return float(self.position * inv_freq(self.head_dim, self.base)[pair])
